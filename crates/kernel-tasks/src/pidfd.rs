//! Descriptors that name processes.

use std::any::Any;
use std::rc::{Rc, Weak};

use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_files::{FileOps, OpenFile};
use linux_abi::files::OpenFlags;

use crate::Process;

/// A process, as a file: readable when it has ended. It names the process for ever, also after
/// its number has gone to another one.
pub struct Pidfd {
    process: Rc<Process>,
}

impl Pidfd {
    /// A new open file that names `process`.
    pub fn open(process: &Rc<Process>, flags: OpenFlags) -> Rc<OpenFile> {
        OpenFile::new(Rc::new(Self { process: Rc::clone(process) }), flags | OpenFlags::RDWR)
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
        if self.process.is_dead() { PollEvents::READABLE } else { PollEvents::empty() }
    }

    fn queue(&self) -> Option<WaitQueue> {
        Some(self.process.ended().clone())
    }

    fn describe(&self) -> String {
        String::from("anon_inode:[pidfd]")
    }

    fn fdinfo(&self) -> String {
        let ids = &self.process.kernel().ids;
        let is_known =
            ids.process(self.process.pid).is_some_and(|it| Rc::ptr_eq(&it, &self.process));
        let pid = if is_known { self.process.pid.0.to_string() } else { String::from("-1") };
        format!("Pid:\t{pid}\nNSpid:\t{pid}\n")
    }
}
