//! A pipe of the host's, in the place of a ring.
//!
//! A pipe that is used much gets one, so that both its ends can be lent to guest processes, which
//! then read and write without asking (ADR 11). The kernel keeps a descriptor of each side for
//! itself: for calls that still come here, and because the host tells readers and writers of the
//! end when the last descriptor of the other side is gone.

use std::cell::Cell;
use std::os::fd::{AsFd, OwnedFd};

use host_sys::{errno_of, open_again, rustix};
use kernel_core::host_events::{self, HostEvents, Watch};
use kernel_core::io::{Sink, Source};
use kernel_core::ledger::{Charge, Kind};
use kernel_core::wait::{PollEvents, WaitQueue};
use linux_abi::{Errno, SysResult};
use rustix::fs::OFlags;
use rustix::pipe::{PipeFlags, SpliceFlags};

/// How much is moved at a time.
const PIECE: usize = 64 << 10;

/// One side of the host's pipe. No operation on it waits.
struct Side {
    /// Dropped before the descriptor, as it must be.
    watch: Watch,
    /// Those who wait are to be woken by the host.
    is_awaited: Cell<bool>,
    file: OwnedFd,
}

impl Side {
    fn new(file: OwnedFd, events: &HostEvents, queue: &WaitQueue) -> SysResult<Self> {
        let watch = events.watch_on_demand(file.as_fd(), queue.clone())?;
        Ok(Self { watch, is_awaited: Cell::new(false), file })
    }

    fn wake_once(&self) {
        self.is_awaited.set(true);
        self.watch.wake_once();
    }

    /// Those who wait are about to be woken by the kernel, which is enough.
    fn do_not_wake(&self) {
        if self.is_awaited.replace(false) {
            self.watch.do_not_wake();
        }
    }

    /// Another open file of the same side, which waits as pipes do.
    fn open_again(&self, access: OFlags) -> SysResult<OwnedFd> {
        open_again(&self.file, access).map_err(errno_of)
    }
}

/// A pipe of the host's.
pub struct HostPipe {
    reader: Side,
    /// `None` once nobody can write.
    writer: Option<Side>,
    /// The kernel's own descriptor makes a packet of each write.
    in_packets: Cell<bool>,
    /// There may be packets in it, each of which is a read of its own.
    had_packets: Cell<bool>,
    /// For all that guests can put into it without asking.
    charge: Charge,
}

/// The two sides of a new pipe, which never wait. An error if the host does not give one that
/// large.
fn new_pipe(size: usize) -> SysResult<(OwnedFd, OwnedFd)> {
    let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
    let (reader, writer) = rustix::pipe::pipe_with(flags).map_err(errno_of)?;
    if rustix::pipe::fcntl_getpipe_size(&reader).map_err(errno_of)? != size {
        resize(&reader, size)?;
    }
    Ok((reader, writer))
}

fn resize(side: &OwnedFd, size: usize) -> SysResult<()> {
    let new = rustix::pipe::fcntl_setpipe_size(side, size).map_err(errno_of)?;
    if new == size { Ok(()) } else { Err(Errno::EPERM) }
}

impl HostPipe {
    /// A pipe of `size` bytes that has `content` in it. Those who wait for it do so on `readable`
    /// and `writable`.
    pub fn new(
        size: usize,
        content: &[u8],
        events: &HostEvents,
        [readable, writable]: [&WaitQueue; 2],
    ) -> SysResult<Self> {
        let charge = Charge::new(Kind::HostPipes, size as u64).map_err(|_| Errno::ENOMEM)?;
        let (reader, writer) = new_pipe(size)?;
        if !content.is_empty() {
            let n = rustix::io::write(&writer, content).map_err(errno_of)?;
            if n != content.len() {
                return Err(Errno::ENOBUFS);
            }
        }
        let writer = Side::new(writer, events, writable)?;
        let reader = Side::new(reader, events, readable)?;
        let (in_packets, had_packets) = <(Cell<bool>, Cell<bool>)>::default();
        Ok(Self { reader, writer: Some(writer), in_packets, had_packets, charge })
    }

    /// Another descriptor of one side, for a guest process.
    pub fn lend(&self, reads: bool) -> SysResult<OwnedFd> {
        match (&self.writer, reads) {
            (_, true) => self.reader.open_again(OFlags::RDONLY),
            (Some(writer), false) => writer.open_again(OFlags::WRONLY),
            (None, false) => Err(Errno::EPIPE),
        }
    }

    /// The size in bytes; 0 if the host does not tell.
    pub fn size(&self) -> usize {
        rustix::pipe::fcntl_getpipe_size(&self.reader.file).unwrap_or(0)
    }

    /// Changes the size. `EBUSY` if there is more in it; `EPERM` for more than the host allows.
    pub fn resize(&mut self, size: usize) -> SysResult<()> {
        let before = self.charge.bytes();
        self.charge.resize(size as u64).map_err(|_| Errno::EPERM)?;
        resize(&self.reader.file, size).inspect_err(|_| self.charge.force(before))
    }

    /// How many bytes there are to read.
    pub fn len(&self) -> usize {
        let n = rustix::io::ioctl_fionread(&self.reader.file).unwrap_or(0);
        usize::try_from(n).unwrap_or(usize::MAX)
    }

    /// Whether nobody can write any more.
    pub fn has_no_writer(&self) -> bool {
        self.writer.is_none()
    }

    /// Nobody writes any more: readers find the end once guests have closed what they were lent.
    pub fn close_writer(&mut self) {
        self.writer = None;
    }

    /// Reads as much as `sink` wants; 0 is the end, `EAGAIN` if there is nothing: then the host wakes
    /// those who wait. The caller wakes writers.
    pub fn read(&self, sink: &mut dyn Sink) -> SysResult<usize> {
        let result = if self.had_packets.get() {
            sink.put_from_host(self.reader.file.as_fd(), None, PIECE)
        } else {
            read_all(&self.reader.file, sink)
        };
        match (&result, &self.writer) {
            (Err(Errno::EAGAIN), _) => self.reader.wake_once(),
            (Ok(_), Some(writer)) => writer.do_not_wake(),
            _ => {}
        }
        result
    }

    /// Writes as much of `source` as there is room for; `EAGAIN` if there is no room: then the host
    /// wakes those who wait. The caller wakes readers.
    pub fn write(&self, source: &mut dyn Source, in_packets: bool) -> SysResult<usize> {
        let writer = self.writer.as_ref().ok_or(Errno::EPIPE)?;
        if in_packets != self.in_packets.get() {
            let mode = if in_packets { OFlags::DIRECT } else { OFlags::empty() };
            let flags = OFlags::NONBLOCK | mode;
            rustix::fs::fcntl_setfl(&writer.file, flags).map_err(errno_of)?;
            self.in_packets.set(in_packets);
            self.had_packets.set(true);
        }
        let result = source.take_to_host(writer.file.as_fd(), None, PIECE);
        match result {
            Err(Errno::EAGAIN) => writer.wake_once(),
            Ok(_) => self.reader.do_not_wake(),
            Err(_) => {}
        }
        result
    }

    /// Hands what is in the pipe to `sink` and keeps it.
    pub fn peek(&self, sink: &mut dyn Sink) -> SysResult<usize> {
        let wanted = sink.remaining().min(self.size());
        let (copy, writer) = new_pipe(self.size())?;
        match rustix::pipe::tee(&self.reader.file, &writer, wanted, SpliceFlags::NONBLOCK) {
            // The caller tells an empty pipe from one that is at its end.
            Ok(0) => Ok(0),
            Err(rustix::io::Errno::AGAIN) => {
                self.reader.wake_once();
                Ok(0)
            }
            Ok(_) => read_all(&copy, sink),
            Err(errno) => Err(errno_of(errno)),
        }
    }

    /// What is ready on one side.
    pub fn poll(&self, reads: bool) -> PollEvents {
        match (&self.writer, reads) {
            (_, true) => host_events::readiness(self.reader.file.as_fd()),
            (Some(writer), false) => host_events::readiness(writer.file.as_fd()),
            (None, false) => PollEvents::empty(),
        }
    }

    /// Has those who wait for a side woken once, when it is ready.
    pub fn wake_once(&self, reads: bool) {
        let side = if reads { Some(&self.reader) } else { self.writer.as_ref() };
        if let Some(side) = side {
            side.wake_once();
        }
    }
}

fn read_all(reader: &OwnedFd, sink: &mut dyn Sink) -> SysResult<usize> {
    let mut total = 0;
    while sink.remaining() > 0 {
        match sink.put_from_host(reader.as_fd(), None, PIECE) {
            Ok(0) => break,
            Ok(n) => total += n,
            Err(_) if total > 0 => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(total)
}
