//! Pipes and FIFOs.
//!
//! [`Pipe`] is the buffer with its two sides, [`PipeEnd`] is what an open file of it can do,
//! [`Fifo`] is a pipe that has a name and is opened. See pipe(7).
//!
//! The bytes are in a ring of the kernel's own, or, for a pipe that is used much, in a pipe of the
//! host's, of which guest processes are lent both ends ([`PipeEnd::loan`]).
//!
//! A write to a pipe that nobody reads is `EPIPE`; whoever makes the call for a guest sends
//! `SIGPIPE` along with it.

mod end;
mod fifo;
mod host;
mod ring;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use kernel_core::host_events::HostEvents;
use kernel_core::io::{Sink, SliceSource, Source, VecSink};
use kernel_core::ledger;
use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_files::attachments::Attachments;
use kernel_files::{FileKind, Metadata, OpenFile, lending};
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, SysResult};

pub use end::PipeEnd;
pub use fifo::Fifo;
use host::HostPipe;
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

/// Where the bytes of a pipe are.
enum Store {
    Ring(Ring),
    Host(HostPipe),
}

/// The buffer of a pipe, and who has it open.
pub struct Pipe {
    store: RefCell<Store>,
    n_readers: Cell<usize>,
    n_writers: Cell<usize>,
    /// How often the pipe was opened for reading and for writing. A FIFO's `open` waits for a change.
    reader_opens: Cell<u64>,
    writer_opens: Cell<u64>,
    /// Somebody polled: from then on every write is an event, not only the first into an empty
    /// pipe. Edge-triggered readers of `epoll` rely on it.
    is_polled: Cell<bool>,
    /// How often it was worth to lend an end.
    worth: Cell<u32>,
    /// The kernel has to see every use: nothing of it is lent.
    is_kept: Cell<bool>,
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
            store: RefCell::new(Store::Ring(Ring::new(DEFAULT_PAGES))),
            n_readers: Cell::new(0),
            n_writers: Cell::new(0),
            reader_opens: Cell::new(0),
            writer_opens: Cell::new(0),
            is_polled: Cell::new(false),
            worth: Cell::new(0),
            is_kept: Cell::new(false),
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
        match &*self.store.borrow() {
            Store::Ring(ring) => ring.n_pages() * PAGE_SIZE,
            Store::Host(host) => host.size(),
        }
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
        // As where a user has reached `fs.pipe-user-pages-soft`.
        let more = size.saturating_sub(self.size()) as u64;
        if grows && ledger::room_for(more) < more {
            return Err(Errno::EPERM);
        }
        match &mut *self.store.borrow_mut() {
            Store::Ring(ring) => ring.resize(size / PAGE_SIZE)?,
            Store::Host(host) => host.resize(size)?,
        }
        self.wake_writers(PollEvents::WRITABLE);
        Ok(size)
    }

    /// How many bytes there are to read.
    pub fn len(&self) -> usize {
        match &*self.store.borrow() {
            Store::Ring(ring) => ring.len(),
            Store::Host(host) => host.len(),
        }
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        match &*self.store.borrow() {
            Store::Ring(ring) => ring.is_empty(),
            Store::Host(host) => host.len() == 0,
        }
    }

    /// Whether nobody has the writing side open.
    pub fn has_no_writers(&self) -> bool {
        self.n_writers.get() == 0
    }

    /// Copies what is in the pipe to `sink` and keeps it (`tee`). `EAGAIN` as for a read.
    pub fn peek(&self, sink: &mut dyn Sink) -> SysResult<usize> {
        // What was looked at shall still be there when the caller takes it.
        self.keep();
        let n = match &*self.store.borrow() {
            Store::Ring(ring) => ring.peek(sink)?,
            Store::Host(host) => host.peek(sink)?,
        };
        match n {
            0 if sink.remaining() > 0 && !self.has_no_writers() => Err(Errno::EAGAIN),
            n => Ok(n),
        }
    }

    fn read(&self, sink: &mut dyn Sink) -> SysResult<usize> {
        if sink.remaining() == 0 {
            return Ok(0);
        }
        let (result, has_room_again) = match &mut *self.store.borrow_mut() {
            Store::Ring(ring) => {
                let was_full = ring.is_full();
                let result = match ring.drain(sink) {
                    Err(Errno::EAGAIN) if self.has_no_writers() => Ok(0),
                    result => result,
                };
                (result, was_full && !ring.is_full())
            }
            Store::Host(host) => {
                let result = host.read(sink);
                (result, result != Err(Errno::EAGAIN))
            }
        };
        if has_room_again {
            self.wake_writers(PollEvents::WRITABLE);
        }
        result
    }

    fn write(&self, source: &mut dyn Source, in_packets: bool) -> SysResult<usize> {
        if source.remaining() == 0 {
            return Ok(0);
        }
        if self.n_readers.get() == 0 {
            return Err(Errno::EPIPE);
        }
        let (result, was_empty) = match &mut *self.store.borrow_mut() {
            Store::Ring(ring) => {
                let was_empty = ring.is_empty();
                // Packets that are in a ring cannot be moved.
                self.is_kept.set(self.is_kept.get() || in_packets);
                (ring.fill(source, in_packets), was_empty)
            }
            Store::Host(host) => (host.write(source, in_packets), true),
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

/// Pipes of the host's.
impl Pipe {
    /// From now on the kernel sees every use of this pipe.
    pub fn keep(&self) {
        if !self.is_kept.replace(true) && matches!(&*self.store.borrow(), Store::Host(_)) {
            lending::take_all_back();
        }
    }

    /// Moves what is in the ring to a pipe of the host's.
    fn move_to_host(&self, events: &HostEvents) -> SysResult<()> {
        let store = &mut *self.store.borrow_mut();
        let Store::Ring(ring) = store else { return Ok(()) };
        let mut content = VecSink::new(ring.len());
        ring.peek(&mut content)?;
        let size = ring.n_pages() * PAGE_SIZE;
        let queues = [&self.readable, &self.writable];
        let mut host = HostPipe::new(size, &content.bytes, events, queues)?;
        if self.has_no_writers() {
            host.close_writer();
        }
        // For those who wait already.
        host.wake_once(true);
        host.wake_once(false);
        *store = Store::Host(host);
        Ok(())
    }

    /// Moves what is left in a pipe of the host's back to a ring. The host then tells those who write
    /// to it by themselves that nobody reads.
    fn return_to_ring(&self) {
        let store = &mut *self.store.borrow_mut();
        let Store::Host(host) = store else { return };
        let size = host.size().max(PAGE_SIZE);
        let mut content = VecSink::new(size);
        // Whatever the host says then, there is nothing more to be had.
        let _ = host.read(&mut content);
        let mut ring = Ring::new(size / PAGE_SIZE);
        let _ = ring.fill(&mut SliceSource::new(&content.bytes), false);
        *store = Store::Ring(ring);
    }

    /// Nobody writes any more.
    fn writers_are_gone(&self) {
        if let Store::Host(host) = &mut *self.store.borrow_mut() {
            host.close_writer();
        }
    }

    /// A side is opened once more, as by `/proc/self/fd`.
    fn is_opened_again(&self) {
        let is_at_end = match &*self.store.borrow() {
            Store::Host(host) => host.has_no_writer(),
            Store::Ring(_) => false,
        };
        if is_at_end {
            lending::take_all_back();
            self.return_to_ring();
        }
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
