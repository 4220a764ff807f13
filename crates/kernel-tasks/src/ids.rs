//! Which thread, process, process group and session each number names.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use linux_abi::{Errno, Pid, SysResult};

use crate::{Process, ProcessGroup, Session, Thread};

/// Ids are below this number (Linux: `kernel.pid_max`).
pub const PID_MAX: u32 = 1 << 22;

/// After the numbers have been used up once, the search for a free one starts here.
const RESERVED: u32 = 300;

/// What one number names. As on Linux, a number stays taken while any of the four uses it.
#[derive(Default)]
struct Names {
    thread: Weak<Thread>,
    /// Alive, or dead and not yet waited for.
    process: Option<Rc<Process>>,
    group: Weak<ProcessGroup>,
    session: Weak<Session>,
}

impl Names {
    fn is_unused(&self) -> bool {
        self.process.is_none()
            && self.thread.strong_count() == 0
            && self.group.strong_count() == 0
            && self.session.strong_count() == 0
    }
}

#[derive(Default)]
struct Inner {
    names: RefCell<BTreeMap<u32, Names>>,
    last: Cell<u32>,
}

/// The table of ids. Cloning makes another handle to the same table.
#[derive(Clone, Default)]
pub struct IdTable {
    inner: Rc<Inner>,
}

impl IdTable {
    /// Takes a free number. It is given back when nothing that it names is left; a caller that
    /// fails before it names anything calls [`tidy`](Self::tidy).
    pub fn allocate(&self) -> SysResult<Pid> {
        let mut names = self.inner.names.borrow_mut();
        let mut number = self.inner.last.get();
        for _ in 0..PID_MAX {
            number = if number + 1 >= PID_MAX { RESERVED } else { number + 1 };
            if let std::collections::btree_map::Entry::Vacant(entry) = names.entry(number) {
                entry.insert(Names::default());
                self.inner.last.set(number);
                return Ok(Pid(number));
            }
        }
        Err(Errno::EAGAIN)
    }

    /// Takes this very number (`clone3` with `set_tid`); `EEXIST` if it is in use.
    pub fn allocate_this(&self, id: Pid) -> SysResult<Pid> {
        if id.0 == 0 || id.0 >= PID_MAX {
            return Err(Errno::EINVAL);
        }
        let mut names = self.inner.names.borrow_mut();
        if names.contains_key(&id.0) {
            return Err(Errno::EEXIST);
        }
        names.insert(id.0, Names::default());
        Ok(id)
    }

    /// The last number that was given out, for `/proc/loadavg`.
    pub fn last(&self) -> Pid {
        Pid(self.inner.last.get())
    }

    /// The living thread with this id.
    pub fn thread(&self, tid: Pid) -> Option<Rc<Thread>> {
        self.inner.names.borrow().get(&tid.0)?.thread.upgrade()
    }

    /// The process with this id, alive or not yet waited for.
    pub fn process(&self, pid: Pid) -> Option<Rc<Process>> {
        self.inner.names.borrow().get(&pid.0)?.process.clone()
    }

    /// The process group with this id, if anybody is in it.
    pub fn group(&self, pgid: Pid) -> Option<Rc<ProcessGroup>> {
        let group = self.inner.names.borrow().get(&pgid.0)?.group.upgrade();
        // A dead process that somebody holds by a pidfd keeps its group, but is not in it.
        group.filter(|group| !group.is_empty())
    }

    /// The session with this id.
    pub fn session(&self, sid: Pid) -> Option<Rc<Session>> {
        self.inner.names.borrow().get(&sid.0)?.session.upgrade()
    }

    /// The first process whose id is `from` or higher. With it one walks over all of them without
    /// holding the table, as a listing of `/proc` does.
    pub fn next_process(&self, from: Pid) -> Option<Rc<Process>> {
        self.inner.names.borrow().range(from.0..).find_map(|(_, names)| names.process.clone())
    }

    /// Every process, in order of id.
    pub fn processes(&self) -> Vec<Rc<Process>> {
        self.inner.names.borrow().values().filter_map(|names| names.process.clone()).collect()
    }

    pub(crate) fn name_thread(&self, tid: Pid, thread: &Rc<Thread>) {
        self.edit(tid, |names| names.thread = Rc::downgrade(thread));
    }

    pub(crate) fn name_process(&self, pid: Pid, process: &Rc<Process>) {
        self.edit(pid, |names| names.process = Some(Rc::clone(process)));
    }

    pub(crate) fn name_group(&self, pgid: Pid, group: &Rc<ProcessGroup>) {
        self.edit(pgid, |names| names.group = Rc::downgrade(group));
    }

    pub(crate) fn name_session(&self, sid: Pid, session: &Rc<Session>) {
        self.edit(sid, |names| names.session = Rc::downgrade(session));
    }

    /// The thread has ended, though others may still hold it.
    pub(crate) fn forget_thread(&self, tid: Pid) {
        self.edit(tid, |names| names.thread = Weak::new());
        self.tidy(tid);
    }

    /// The process was waited for.
    pub(crate) fn forget_process(&self, pid: Pid) {
        let mut process = None;
        self.edit(pid, |names| process = names.process.take());
        self.tidy(pid);
        // Dropped outside of the borrow: this may be the last handle, and end its group.
        drop(process);
    }

    /// Gives the number back if it names nothing any more.
    pub fn tidy(&self, id: Pid) {
        let mut names = self.inner.names.borrow_mut();
        if names.get(&id.0).is_some_and(Names::is_unused) {
            names.remove(&id.0);
        }
    }

    fn edit(&self, id: Pid, change: impl FnOnce(&mut Names)) {
        change(self.inner.names.borrow_mut().entry(id.0).or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_grow_and_are_not_reused_at_once() {
        let ids = IdTable::default();
        let first = ids.allocate().unwrap();
        ids.tidy(first);
        assert_ne!(ids.allocate().unwrap(), first);
    }

    #[test]
    fn a_taken_number_is_refused() {
        let ids = IdTable::default();
        let id = ids.allocate_this(Pid(77)).unwrap();
        assert_eq!(ids.allocate_this(id), Err(Errno::EEXIST));
        ids.tidy(id);
        assert_eq!(ids.allocate_this(id), Ok(id));
    }
}
