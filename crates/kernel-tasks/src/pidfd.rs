//! Descriptors that name processes.

use std::any::Any;
use std::rc::{Rc, Weak};

use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_files::{FileOps, OpenFile};
use linux_abi::Pid;
use linux_abi::files::OpenFlags;

use crate::{Process, Thread};

/// A process, as a file: readable when it has ended, and hung up when it has been reaped. It names the process for ever, also after
/// its number has gone to another one.
pub struct Pidfd {
    process: Rc<Process>,
    /// One of its threads, not the first, and the id that it had: what is named then.
    thread: Option<(Rc<Thread>, Pid)>,
}

impl Pidfd {
    /// A new open file that names `process`.
    pub fn open(process: &Rc<Process>, flags: OpenFlags) -> Rc<OpenFile> {
        let named = Self { process: Rc::clone(process), thread: None };
        OpenFile::new(Rc::new(named), flags | OpenFlags::RDWR)
    }

    /// A new open file that names `thread` (`PIDFD_THREAD`). The first thread stands for its
    /// process.
    pub fn open_thread(thread: &Rc<Thread>, flags: OpenFlags) -> Rc<OpenFile> {
        let process = thread.process();
        if thread.tid() == process.pid {
            return Self::open(process, flags);
        }
        let thread = Some((Rc::clone(thread), thread.tid()));
        let named = Self { process: Rc::clone(process), thread };
        OpenFile::new(Rc::new(named), flags | OpenFlags::RDWR)
    }

    /// The thread, if one is named that lives.
    pub fn thread(&self) -> Option<&Rc<Thread>> {
        let (thread, tid) = self.thread.as_ref()?;
        (!thread.has_exited() && thread.tid() == *tid).then_some(thread)
    }

    /// Whether a thread is named, not a process.
    pub fn names_thread(&self) -> bool {
        self.thread.is_some()
    }

    /// Whether the process has not been reaped yet.
    fn is_known(&self) -> bool {
        let ids = &self.process.kernel().ids;
        ids.process(self.process.pid).is_some_and(|it| Rc::ptr_eq(&it, &self.process))
    }

    /// The process.
    pub fn process(&self) -> &Rc<Process> {
        &self.process
    }
}

/// Hangs on the inode of `/proc/<pid>`: an open one can stand for a pidfd.
pub struct NamedProcess(pub Weak<Process>);

impl NamedProcess {
    /// The process that an open `/proc/<pid>` names, if `file` is one and the process is there.
    pub fn of(file: &OpenFile) -> Option<Rc<Process>> {
        let named = file.location()?.inode().ok()?.attachments().get::<Self>()?;
        named.0.upgrade()
    }
}

impl FileOps for Pidfd {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn poll(&self, _file: &OpenFile) -> PollEvents {
        let over_and_forgotten = PollEvents::READABLE | PollEvents::HUP;
        match (self.names_thread(), self.thread(), self.process.is_dead()) {
            (true, Some(_), _) | (false, _, false) => PollEvents::empty(),
            (true, None, _) => over_and_forgotten,
            (false, _, true) if self.is_known() => PollEvents::READABLE,
            (false, _, true) => over_and_forgotten,
        }
    }

    fn queue(&self) -> Option<WaitQueue> {
        if self.names_thread() {
            return Some(self.process.thread_ended.clone());
        }
        Some(self.process.ended().clone())
    }

    fn describe(&self) -> String {
        String::from("anon_inode:[pidfd]")
    }

    fn fdinfo(&self) -> String {
        let pid = if self.is_known() { self.process.pid.0.to_string() } else { String::from("-1") };
        format!("Pid:\t{pid}\nNSpid:\t{pid}\n")
    }
}
