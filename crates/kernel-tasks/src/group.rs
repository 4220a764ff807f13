//! Process groups and sessions.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use kernel_terminals::Terminal;
use linux_abi::Pid;

use crate::Process;
use crate::ids::IdTable;
use crate::process::Flags;

/// A session: process groups that share a controlling terminal.
pub struct Session {
    /// The session's id, which is the pid of the process that made it.
    pub sid: Pid,
    ids: IdTable,
    /// The controlling terminal.
    terminal: RefCell<Option<Rc<Terminal>>>,
}

impl Session {
    pub(crate) fn new(sid: Pid, ids: &IdTable) -> Rc<Self> {
        let session = Rc::new(Self { sid, ids: ids.clone(), terminal: RefCell::new(None) });
        ids.name_session(sid, &session);
        session
    }

    /// The controlling terminal, if there is one.
    pub fn terminal(&self) -> Option<Rc<Terminal>> {
        self.terminal.borrow().clone()
    }

    /// Sets or takes away the controlling terminal.
    pub fn set_terminal(&self, terminal: Option<Rc<Terminal>>) {
        let old = std::mem::replace(&mut *self.terminal.borrow_mut(), terminal);
        drop(old);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.ids.tidy(self.sid);
    }
}

/// A process group: the processes of one job.
pub struct ProcessGroup {
    /// The group's id, which is the pid of the process that made it.
    pub pgid: Pid,
    session: Rc<Session>,
    ids: IdTable,
    members: RefCell<BTreeMap<Pid, Weak<Process>>>,
}

impl ProcessGroup {
    pub(crate) fn new(pgid: Pid, session: Rc<Session>, ids: &IdTable) -> Rc<Self> {
        let members = RefCell::default();
        let group = Rc::new(Self { pgid, session, ids: ids.clone(), members });
        ids.name_group(pgid, &group);
        group
    }

    /// The session it belongs to.
    pub fn session(&self) -> &Rc<Session> {
        &self.session
    }

    /// Its processes, in order of id, dead ones that were not waited for included.
    pub fn members(&self) -> Vec<Rc<Process>> {
        self.members.borrow().values().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.borrow().is_empty()
    }

    pub(crate) fn add(&self, process: &Rc<Process>) {
        self.members.borrow_mut().insert(process.pid, Rc::downgrade(process));
    }

    pub(crate) fn remove(&self, pid: Pid) {
        self.members.borrow_mut().remove(&pid);
    }

    /// Whether nobody outside of the group, but in its session, is the parent of a member: then
    /// nobody is left who could continue a stopped member.
    pub fn is_orphaned(&self) -> bool {
        self.is_orphaned_without(None)
    }

    /// Like [`is_orphaned`](Self::is_orphaned), with one member left out because it is about to
    /// end or to move.
    pub(crate) fn is_orphaned_without(&self, leaving: Option<Pid>) -> bool {
        !self.members().iter().any(|member| {
            if Some(member.pid) == leaving || member.is_dead() {
                return false;
            }
            member.parent().is_some_and(|parent| {
                // Process 1 takes orphans up, but it does not look after their jobs. For the first
                // program it stands in for the shell that started the sandbox.
                if parent.has_flag(Flags::INIT) && !member.is_first() {
                    return false;
                }
                let group = parent.group();
                group.pgid != self.pgid && group.session.sid == self.session.sid
            })
        })
    }

    pub(crate) fn has_stopped_member(&self) -> bool {
        self.members().iter().any(|member| member.is_stopped())
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.ids.tidy(self.pgid);
    }
}
