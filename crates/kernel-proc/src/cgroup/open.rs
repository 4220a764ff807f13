//! An open file of a group.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use kernel_core::credentials::Credentials;
use kernel_core::io::{Sink, Source};
use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_files::inode::OpenRequest;
use kernel_files::{FileOps, Intent, OpenFile};
use kernel_tasks::cgroup::Cgroup;
use kernel_tasks::{Process, Thread};
use linux_abi::{Errno, SysResult, WaitResult};

use super::files::ControlFile;
use crate::Sources;

/// The longest text that one write may hand over.
const MAX_WRITE: usize = 4096;

/// What a file of a group needs to read and write it.
pub(super) struct OpenControl {
    pub(super) sources: Sources,
    pub(super) group: Rc<Cgroup>,
    file: &'static ControlFile,
    /// Who opened it: rights are judged by that, not by who writes.
    pub(super) opener: Rc<Credentials>,
    /// The group that the opener saw as the root.
    pub(super) seen_root: Rc<Cgroup>,
    /// Who makes the call that is under way.
    writer: RefCell<Weak<Process>>,
    text: RefCell<Option<Vec<u8>>>,
    /// How many changes a reader has seen; none at first.
    n_seen: Cell<Option<u64>>,
}

impl OpenControl {
    pub(super) fn new(
        sources: &Sources,
        group: &Rc<Cgroup>,
        file: &'static ControlFile,
        request: &OpenRequest<'_>,
    ) -> SysResult<Self> {
        let seen_root = match Thread::of_caller(request.caller) {
            Ok(thread) => Rc::clone(&thread.namespaces().cgroup.root),
            Err(_) => Rc::clone(&sources.kernel.cgroups.root),
        };
        Ok(Self {
            sources: sources.clone(),
            group: Rc::clone(group),
            file,
            opener: Rc::new(request.credentials.clone()),
            seen_root,
            writer: RefCell::default(),
            text: RefCell::default(),
            n_seen: Cell::default(),
        })
    }

    /// The process that writes.
    pub(super) fn writer(&self) -> SysResult<Rc<Process>> {
        self.writer.borrow().upgrade().ok_or(Errno::ESRCH)
    }

    /// `ENODEV` if the group, or the controller of this file, is gone.
    fn check_alive(&self) -> SysResult<()> {
        if self.group.is_removed() || !self.file.is_in(&self.group) {
            return Err(Errno::ENODEV);
        }
        Ok(())
    }

    fn n_changes(&self) -> Option<u64> {
        self.file.event.map(|event| self.group.changes(event).count())
    }
}

impl FileOps for OpenControl {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn admit(&self, _file: &OpenFile, caller: &dyn Any, _intent: Intent) -> WaitResult {
        let process = Thread::of_caller(caller).map(|thread| Rc::downgrade(thread.process()));
        *self.writer.borrow_mut() = process.unwrap_or_default();
        Ok(())
    }

    fn read(&self, _file: &OpenFile, sink: &mut dyn Sink, offset: u64) -> SysResult<usize> {
        self.check_alive()?;
        if offset == 0 || self.text.borrow().is_none() {
            let read = self.file.read.ok_or(Errno::EINVAL)?;
            self.n_seen.set(self.n_changes());
            *self.text.borrow_mut() = Some(read(self)?.into_bytes());
        }
        let text = self.text.borrow();
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        match text.as_ref().and_then(|text| text.get(start..)) {
            Some(rest) if !rest.is_empty() => sink.put(rest),
            _ => Ok(0),
        }
    }

    fn write(&self, _file: &OpenFile, source: &mut dyn Source, _offset: u64) -> SysResult<usize> {
        self.check_alive()?;
        let write = self.file.write.ok_or(Errno::EINVAL)?;
        // Within a namespace, what its root may do is for those outside to say.
        let is_border = self.sources.kernel.cgroups.delegates.get()
            && !self.seen_root.is_root()
            && Rc::ptr_eq(&self.seen_root, &self.group);
        if is_border && !self.file.is_delegated {
            return Err(Errno::EPERM);
        }
        let mut text = vec![0; source.remaining().min(MAX_WRITE)];
        let n = source.take(&mut text)?;
        let text = std::str::from_utf8(text.get(..n).unwrap_or_default());
        write(self, text.map_err(|_| Errno::EINVAL)?.trim())?;
        Ok(n)
    }

    fn poll(&self, _file: &OpenFile) -> PollEvents {
        let usual = PollEvents::READABLE | PollEvents::WRITABLE;
        let is_news = self.n_changes().is_some_and(|n| self.n_seen.get() != Some(n));
        if is_news { usual | PollEvents::PRI | PollEvents::ERR } else { usual }
    }

    fn queue(&self) -> Option<WaitQueue> {
        self.file.event.map(|event| self.group.changes(event).queue().clone())
    }

    fn is_seekable(&self) -> bool {
        true
    }
}
