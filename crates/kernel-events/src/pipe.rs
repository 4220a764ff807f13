//! Pipes and FIFOs.
//!
//! [`Pipe`] is the buffer with its two sides, [`PipeEnd`] is what an open file of it can do,
//! [`Fifo`] is a pipe that has a name and is opened. See pipe(7).
//!
//! A write to a pipe that nobody reads is `EPIPE`; whoever makes the call for a guest sends
//! `SIGPIPE` along with it.

mod fifo;
mod ring;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use kernel_core::io::{Sink, Source};
use kernel_core::memory::UserPtr;
use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_files::attachments::Attachments;
use kernel_files::metadata::AttributeChange;
use kernel_files::{FileKind, FileOps, Ioctl, Metadata, OpenFile};
use linux_abi::events::FIONREAD;
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, SysResult};

pub use fifo::Fifo;
pub use ring::PAGE_SIZE;
use ring::Ring;

/// How many pages a new pipe has.
const DEFAULT_PAGES: usize = 16;

/// How large a pipe may be made by anybody (Linux: `fs.pipe-max-size`).
pub const MAX_SIZE: usize = 1 << 20;

/// How large a pipe may be made by the privileged. Linux has no such limit below 2 GiB.
const MAX_SIZE_PRIVILEGED: usize = 64 << 20;

/// Who made a pipe, as `fstat` shows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Owner {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

/// The buffer of a pipe, and who has it open.
pub struct Pipe {
    ring: RefCell<Ring>,
    n_readers: Cell<usize>,
    n_writers: Cell<usize>,
    /// How often the pipe was opened for reading and for writing. A FIFO's `open` waits for a change.
    reader_opens: Cell<u64>,
    writer_opens: Cell<u64>,
    /// Somebody polled: from then on every write is an event, not only the first into an empty
    /// pipe. Edge-triggered readers of `epoll` rely on it.
    is_polled: Cell<bool>,
    readable: WaitQueue,
    writable: WaitQueue,
    /// For ends that read and write.
    either: WaitQueue,
    metadata: Cell<Metadata>,
    attachments: Attachments,
}

impl Pipe {
    fn new(owner: Owner) -> Rc<Self> {
        thread_local!(static NEXT: Cell<u64> = const { Cell::new(1) });
        let id = NEXT.get();
        NEXT.set(id + 1);
        Rc::new(Self {
            ring: RefCell::new(Ring::new(DEFAULT_PAGES)),
            n_readers: Cell::new(0),
            n_writers: Cell::new(0),
            reader_opens: Cell::new(0),
            writer_opens: Cell::new(0),
            is_polled: Cell::new(false),
            readable: WaitQueue::new(),
            writable: WaitQueue::new(),
            either: WaitQueue::new(),
            metadata: Cell::new(Metadata {
                uid: owner.uid,
                gid: owner.gid,
                ..Metadata::anonymous(FileKind::Fifo, id)
            }),
            attachments: Attachments::default(),
        })
    }

    /// A number that no other pipe has, as `/proc/self/fd` shows it.
    pub fn id(&self) -> u64 {
        self.metadata.get().inode
    }

    /// The size in bytes (`F_GETPIPE_SZ`).
    pub fn size(&self) -> usize {
        self.ring.borrow().n_pages() * PAGE_SIZE
    }

    /// Changes the size (`F_SETPIPE_SZ`) to `wanted` or more. Returns the new size.
    pub fn set_size(&self, wanted: u32, is_privileged: bool) -> SysResult<usize> {
        let wanted = usize::try_from(wanted).map_err(|_| Errno::EINVAL)?;
        if wanted > 1 << 31 {
            return Err(Errno::EINVAL);
        }
        let size = wanted.max(PAGE_SIZE).next_power_of_two();
        let grows = size > self.size();
        if grows && size > MAX_SIZE && !is_privileged {
            return Err(Errno::EPERM);
        }
        if grows && size > MAX_SIZE_PRIVILEGED {
            return Err(Errno::ENOMEM);
        }
        self.ring.borrow_mut().resize(size / PAGE_SIZE)?;
        self.wake_writers(PollEvents::WRITABLE);
        Ok(size)
    }

    /// How many bytes there are to read.
    pub fn len(&self) -> usize {
        self.ring.borrow().len()
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.ring.borrow().is_empty()
    }

    /// Whether nobody has the writing side open.
    pub fn has_no_writers(&self) -> bool {
        self.n_writers.get() == 0
    }

    /// Copies what is in the pipe to `sink` and keeps it (`tee`). `EAGAIN` as for a read.
    pub fn peek(&self, sink: &mut dyn Sink) -> SysResult<usize> {
        match self.ring.borrow().peek(sink)? {
            0 if sink.remaining() > 0 && !self.has_no_writers() => Err(Errno::EAGAIN),
            n => Ok(n),
        }
    }

    fn read(&self, sink: &mut dyn Sink) -> SysResult<usize> {
        if sink.remaining() == 0 {
            return Ok(0);
        }
        let (result, has_room_again) = {
            let mut ring = self.ring.borrow_mut();
            let was_full = ring.is_full();
            let result = ring.drain(sink);
            (result, was_full && !ring.is_full())
        };
        if has_room_again {
            self.wake_writers(PollEvents::WRITABLE);
        }
        match result {
            Err(Errno::EAGAIN) if self.has_no_writers() => Ok(0),
            result => result,
        }
    }

    fn write(&self, source: &mut dyn Source, in_packets: bool) -> SysResult<usize> {
        if source.remaining() == 0 {
            return Ok(0);
        }
        if self.n_readers.get() == 0 {
            return Err(Errno::EPIPE);
        }
        let (result, was_empty) = {
            let mut ring = self.ring.borrow_mut();
            let was_empty = ring.is_empty();
            (ring.fill(source, in_packets), was_empty)
        };
        if result.is_ok() && (was_empty || self.is_polled.get()) {
            self.wake_readers(PollEvents::READABLE);
        }
        result
    }

    fn wake_readers(&self, events: PollEvents) {
        self.readable.wake(events);
        self.either.wake(events);
    }

    fn wake_writers(&self, events: PollEvents) {
        self.writable.wake(events);
        self.either.wake(events);
    }
}

/// One side of a pipe, or both for a FIFO that is open for reading and writing.
pub struct PipeEnd {
    pipe: Rc<Pipe>,
    reads: bool,
    writes: bool,
    /// For a FIFO that was opened while nobody wrote: that is no hang-up until a writer has come
    /// and gone. Holds the number of writers' opens at that time.
    unwritten_at: Option<u64>,
}

impl PipeEnd {
    fn new(pipe: &Rc<Pipe>, reads: bool, writes: bool) -> Self {
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
            (0, 0) => pipe.ring.borrow_mut().clear(),
            (0, _) | (_, 0) => {
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
        Ok(Rc::new(Self::new(&self.pipe, flags.can_read(), flags.can_write())))
    }

    fn poll(&self, _file: &OpenFile) -> PollEvents {
        let pipe = &self.pipe;
        pipe.is_polled.set(true);
        let ring = pipe.ring.borrow();
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

    fn queue(&self) -> Option<WaitQueue> {
        Some(match (self.reads, self.writes) {
            (true, true) => self.pipe.either.clone(),
            (true, false) => self.pipe.readable.clone(),
            (false, _) => self.pipe.writable.clone(),
        })
    }

    fn is_moved_by_calls(&self) -> bool {
        // One that is polled is not lent.
        true
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

/// A new pipe: the side to read from and the side to write to. `flags` may have `O_NONBLOCK` and
/// `O_DIRECT`.
pub fn pipe(flags: OpenFlags, owner: Owner) -> (Rc<OpenFile>, Rc<OpenFile>) {
    let pipe = Pipe::new(owner);
    let reader = PipeEnd::new(&pipe, true, false);
    let writer = PipeEnd::new(&pipe, false, true);
    let flags = flags & (OpenFlags::NONBLOCK | OpenFlags::DIRECT);
    (
        OpenFile::new(Rc::new(reader), flags & OpenFlags::NONBLOCK),
        OpenFile::new(Rc::new(writer), flags | OpenFlags::WRONLY),
    )
}
