//! What an open file of a pipe can do.

use std::any::Any;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use kernel_core::host_events::HostEvents;
use kernel_core::io::{Sink, Source};
use kernel_core::memory::UserPtr;
use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_files::attachments::Attachments;
use kernel_files::metadata::AttributeChange;
use kernel_files::{FileOps, Ioctl, Metadata, OpenFile, lending};
use linux_abi::events::FIONREAD;
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, SysResult};

use super::ring::Ring;
use super::{DEFAULT_PAGES, Pipe, Store};

/// How often it must have been worth to lend an end before the pipe becomes one of the host's. Pipes
/// that carry the output of a short program stay here.
const WORTH: u32 = 8;

/// The kernel does the calls on open files that have one of these.
const NEVER_LENT: OpenFlags = OpenFlags::NONBLOCK.union(OpenFlags::DIRECT).union(OpenFlags::ASYNC);

/// One side of a pipe, or both for a FIFO that is open for reading and writing.
pub struct PipeEnd {
    pipe: Rc<Pipe>,
    reads: bool,
    writes: bool,
    /// For a FIFO that was opened while nobody wrote: that is no hang-up until a writer has come
    /// and gone. Holds the number of writers' opens at that time.
    pub(super) unwritten_at: Option<u64>,
}

impl PipeEnd {
    pub(super) fn new(pipe: &Rc<Pipe>, reads: bool, writes: bool) -> Self {
        if reads {
            pipe.n_readers.set(pipe.n_readers.get() + 1);
            pipe.reader_opens.set(pipe.reader_opens.get() + 1);
        }
        if writes {
            pipe.n_writers.set(pipe.n_writers.get() + 1);
            pipe.writer_opens.set(pipe.writer_opens.get() + 1);
        }
        Self { pipe: Rc::clone(pipe), reads, writes, unwritten_at: None }
    }

    /// The pipe behind it.
    pub fn pipe(&self) -> &Rc<Pipe> {
        &self.pipe
    }

    /// Whether it is a reading side.
    pub fn reads(&self) -> bool {
        self.reads
    }

    /// Whether it is a writing side.
    pub fn writes(&self) -> bool {
        self.writes
    }

    fn poll_ring(&self, ring: &Ring) -> PollEvents {
        let pipe = &self.pipe;
        let mut events = PollEvents::empty();
        if self.reads {
            if !ring.is_empty() {
                events |= PollEvents::READABLE;
            }
            if pipe.has_no_writers() && self.unwritten_at != Some(pipe.writer_opens.get()) {
                events |= PollEvents::HUP;
            }
        }
        if self.writes {
            if !ring.is_full() {
                events |= PollEvents::WRITABLE;
            }
            if pipe.n_readers.get() == 0 {
                events |= PollEvents::ERR;
            }
        }
        events
    }

    /// A descriptor by which a guest process can use this side without asking, if the pipe is used
    /// so much that it is worth it.
    pub fn loan(&self, file: &OpenFile, events: &HostEvents) -> Option<OwnedFd> {
        let pipe = &self.pipe;
        let is_named = file.location().is_some(); // it may be opened once more at any time
        if pipe.is_kept.get() || is_named || file.flags().intersects(NEVER_LENT) {
            return None;
        }
        if pipe.n_readers.get() == 0 {
            return None; // the kernel tells that nobody reads
        }
        let worth = pipe.worth.get() + 1;
        if worth < WORTH {
            pipe.worth.set(worth);
            return None;
        }
        let attempt = || match &*pipe.store.borrow() {
            Store::Host(host) => host.lend(self.reads),
            Store::Ring(_) => Err(Errno::EAGAIN),
        };
        let loan = pipe.move_to_host(events).and_then(|()| attempt());
        if loan.is_err() {
            // The host has no more to give, so it is not asked for each call.
            pipe.worth.set(0);
        }
        loan.ok()
    }
}

impl Drop for PipeEnd {
    fn drop(&mut self) {
        let pipe = &self.pipe;
        if self.reads {
            pipe.n_readers.set(pipe.n_readers.get() - 1);
        }
        if self.writes {
            pipe.n_writers.set(pipe.n_writers.get() - 1);
        }
        match (pipe.n_readers.get(), pipe.n_writers.get()) {
            // Nothing is kept in a FIFO that nobody has open.
            (0, 0) => {
                let mut store = pipe.store.borrow_mut();
                match &mut *store {
                    Store::Ring(ring) => ring.clear(),
                    Store::Host(_) => *store = Store::Ring(Ring::new(DEFAULT_PAGES)),
                }
            }
            (n_readers @ 0, _) | (n_readers, 0) => {
                if n_readers == 0 {
                    pipe.return_to_ring();
                } else {
                    pipe.writers_are_gone();
                }
                pipe.wake_readers(PollEvents::READABLE | PollEvents::ALWAYS);
                pipe.wake_writers(PollEvents::WRITABLE | PollEvents::ALWAYS);
            }
            _ => {}
        }
    }
}

impl FileOps for PipeEnd {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn read(&self, _file: &OpenFile, sink: &mut dyn Sink, _offset: u64) -> SysResult<usize> {
        self.pipe.read(sink)
    }

    fn write(&self, file: &OpenFile, source: &mut dyn Source, _offset: u64) -> SysResult<usize> {
        self.pipe.write(source, file.flags().contains(OpenFlags::DIRECT))
    }

    fn is_stream(&self) -> bool {
        true
    }

    fn metadata(&self) -> Metadata {
        self.pipe.metadata.get()
    }

    fn set_attributes(&self, change: &AttributeChange) -> SysResult<()> {
        self.pipe.metadata.set(self.pipe.metadata.get().changed_by(change));
        Ok(())
    }

    fn attachments(&self) -> Option<&Attachments> {
        Some(&self.pipe.attachments)
    }

    fn reopen(&self, flags: OpenFlags) -> SysResult<Rc<dyn FileOps>> {
        self.pipe.is_opened_again();
        Ok(Rc::new(Self::new(&self.pipe, flags.can_read(), flags.can_write())))
    }

    fn check_flags(&self, flags: OpenFlags) -> SysResult<()> {
        let is_host = matches!(&*self.pipe.store.borrow(), Store::Host(_));
        if flags.contains(OpenFlags::ASYNC) {
            self.pipe.keep();
        } else if flags.intersects(NEVER_LENT) && is_host {
            lending::take_all_back();
        }
        Ok(())
    }

    fn poll(&self, _file: &OpenFile) -> PollEvents {
        let pipe = &self.pipe;
        pipe.is_polled.set(true);
        pipe.keep();
        match &*pipe.store.borrow() {
            Store::Ring(ring) => self.poll_ring(ring),
            Store::Host(host) => {
                let events = host.poll(self.reads);
                if events.is_empty() {
                    host.wake_once(self.reads);
                }
                events
            }
        }
    }

    fn queue(&self) -> Option<WaitQueue> {
        if let Store::Host(host) = &*self.pipe.store.borrow()
            && host.poll(self.reads).is_empty()
        {
            host.wake_once(self.reads);
        }
        Some(match (self.reads, self.writes) {
            (true, true) => self.pipe.either.clone(),
            (true, false) => self.pipe.readable.clone(),
            (false, _) => self.pipe.writable.clone(),
        })
    }

    fn is_moved_by_calls(&self) -> bool {
        // One that is polled is not lent; one that was lent may still be in use without a call.
        matches!(&*self.pipe.store.borrow(), Store::Ring(_))
    }

    fn ioctl(&self, _file: &OpenFile, ioctl: &Ioctl<'_>) -> SysResult<u64> {
        match ioctl.command {
            FIONREAD => {
                let n = i32::try_from(self.pipe.len()).unwrap_or(i32::MAX);
                UserPtr::new(ioctl.argument).write(ioctl.memory, &n)?;
                Ok(0)
            }
            _ => Err(Errno::ENOTTY),
        }
    }

    fn describe(&self) -> String {
        format!("pipe:[{}]", self.pipe.id())
    }
}
