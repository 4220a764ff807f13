//! Descriptors that the sandbox inherited from whoever started it: standard input and output.
//!
//! They are shared with processes of the host, so their flags are never changed. A pipe is opened
//! once more for writing, with flags of its own, so that as much is written as it has room for; one
//! that cannot be is asked for readiness before each small write. A pipe that is used much is lent
//! to the guest process, unless what is written has to be counted. A regular file
//! keeps its position on the host, where the shell that started us will go on writing. Terminals
//! are not for this module: `kernel-terminals` drives them.

use std::any::Any;
use std::cell::Cell;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use host_sys::{errno_of, open_again, rustix};
use kernel_core::host_events::{self, HostEvents, Watch};
use kernel_core::io::{Sink, Source};
use kernel_core::wait::{PollEvents, WaitQueue};
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, SysResult};
use rustix::fs::{FileType, OFlags};
use rustix::net::{RecvFlags, SendFlags};

use crate::lending::{self, Loan};
use crate::metadata::{DeviceNumber, FileKind, Metadata};
use crate::open_file::{FileOps, Ioctl, OpenFile, SeekTo};

/// What a pipe that says it is writable takes without making the writer wait (`PIPE_BUF`).
const PIPE_BUF: usize = 4096;

/// How much is moved at a time: what a pipe usually holds.
const PIECE: usize = 64 << 10;

/// Guests that want one of these get it from the kernel.
const NEVER_LENT: OpenFlags = OpenFlags::NONBLOCK.union(OpenFlags::DIRECT).union(OpenFlags::ASYNC);

/// `FIONREAD`.
const FIONREAD: u32 = 0x541b;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Never makes anybody wait, and has a position.
    Regular,
    Socket,
    /// Pipes, and devices of which we know nothing.
    Pipe,
    /// `/dev/null`.
    Null,
}

/// The numbers of `/dev/null`.
const NULL: DeviceNumber = DeviceNumber { major: 1, minor: 3 };

/// How much may be written to streams of the host, all that share it together.
pub struct OutputBudget {
    left: Cell<u64>,
    when_exceeded: Box<dyn Fn()>,
}

impl OutputBudget {
    /// So many bytes. The first attempt to write more calls `when_exceeded`, in the middle of the
    /// guest's call.
    pub fn new(bytes: u64, when_exceeded: impl Fn() + 'static) -> Rc<Self> {
        Rc::new(Self { left: Cell::new(bytes), when_exceeded: Box::new(when_exceeded) })
    }

    /// How much of a next write is let through.
    fn next(&self) -> SysResult<usize> {
        let left = self.left.get();
        if left == 0 {
            (self.when_exceeded)();
            return Err(Errno::EIO);
        }
        Ok(usize::try_from(left).unwrap_or(usize::MAX))
    }

    fn spend(&self, written: usize) {
        self.left.set(self.left.get().saturating_sub(written as u64));
    }
}

/// An inherited host descriptor.
pub struct HostStream {
    /// Dropped before the descriptor, as it must be.
    _watch: Option<Watch>,
    host: Rc<OwnedFd>,
    kind: Kind,
    /// `None` if the host says that it is always ready.
    queue: Option<WaitQueue>,
    budget: Option<Rc<OutputBudget>>,
    /// Another open file of a pipe, for writing, which never waits.
    pipe: Option<Rc<OwnedFd>>,
    /// What is known of lending it.
    lending: Cell<Lending>,
}

/// Whether a stream is one that can be lent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lending {
    /// Not, or not again.
    Never,
    /// It was not tried yet.
    Possible,
    /// Guests may have it.
    Lent,
}

impl HostStream {
    /// An open file around a descriptor of the host. Its access mode is the host's. Writes count
    /// against `budget`.
    pub fn open(
        host: OwnedFd,
        events: &HostEvents,
        budget: Option<Rc<OutputBudget>>,
    ) -> SysResult<Rc<OpenFile>> {
        let host_flags = rustix::fs::fcntl_getfl(&host).map_err(errno_of)?;
        let mut flags = OpenFlags::LARGEFILE;
        if host_flags.contains(OFlags::RDWR) {
            flags |= OpenFlags::RDWR;
        } else if host_flags.contains(OFlags::WRONLY) {
            flags |= OpenFlags::WRONLY;
        }
        if host_flags.contains(OFlags::APPEND) {
            flags |= OpenFlags::APPEND;
        }
        Ok(OpenFile::new(Rc::new(Self { budget, ..Self::new(host, events)? }), flags))
    }

    fn new(host: OwnedFd, events: &HostEvents) -> SysResult<Self> {
        let stat = rustix::fs::fstat(&host).map_err(errno_of)?;
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile | FileType::Directory | FileType::BlockDevice => Kind::Regular,
            FileType::Socket => Kind::Socket,
            FileType::CharacterDevice if DeviceNumber::decode(stat.st_rdev) == NULL => Kind::Null,
            _ => Kind::Pipe,
        };
        let is_fifo = FileType::from_raw_mode(stat.st_mode) == FileType::Fifo;
        let flags = rustix::fs::fcntl_getfl(&host).map_err(errno_of)?;
        let writes = flags.contains(OFlags::WRONLY);
        // Whoever may not open it, or has nobody who reads it, writes in small pieces.
        let pipe = (is_fifo && writes)
            .then(|| open_again(&host, OFlags::WRONLY | OFlags::NONBLOCK).ok())
            .flatten();
        let is_lendable = kind == Kind::Null || is_fifo && !flags.contains(OFlags::RDWR);
        let lending = if is_lendable { Lending::Possible } else { Lending::Never };
        let queue = WaitQueue::new();
        let (watch, queue) = match events.watch(host.as_fd(), queue.clone()) {
            Ok(watch) => (Some(watch), Some(queue)),
            // The host knows no readiness of it: it is always ready.
            Err(Errno::EPERM) => (None, None),
            Err(errno) => return Err(errno),
        };
        let host = Rc::new(host);
        let (pipe, lending) = (pipe.map(Rc::new), Cell::new(lending));
        Ok(Self { _watch: watch, host, kind, queue, budget: None, pipe, lending })
    }

    /// What a guest process can use without asking, in the place of the stream. Nothing if that
    /// cannot be, or if what is written is counted.
    pub fn loan(&self, file: &OpenFile) -> Option<Loan> {
        let is_possible = self.lending.get() != Lending::Never && self.budget.is_none();
        if !is_possible || file.flags().intersects(NEVER_LENT) {
            return None;
        }
        if self.kind == Kind::Null {
            return Some(Loan::Null);
        }
        let access = if file.flags().can_write() { OFlags::WRONLY } else { OFlags::RDONLY };
        // A FIFO that has nobody at its other side would make us wait.
        let loan = open_again(&*self.host, access | OFlags::NONBLOCK)
            .and_then(|side| rustix::fs::fcntl_setfl(&side, OFlags::empty()).map(|()| side));
        self.lending.set(if loan.is_ok() { Lending::Lent } else { Lending::Never });
        loan.ok().map(|side| Loan::Pipe(Rc::new(side)))
    }

    fn readiness(&self) -> PollEvents {
        if self.queue.is_none() {
            return PollEvents::READABLE | PollEvents::WRITABLE;
        }
        host_events::readiness(self.host.as_fd())
    }

    fn require(&self, events: PollEvents) -> SysResult<()> {
        let is_ready = self.readiness().intersects(events | PollEvents::ALWAYS);
        if is_ready { Ok(()) } else { Err(Errno::EAGAIN) }
    }

    fn read_some(&self, sink: &mut dyn Sink) -> SysResult<usize> {
        match self.kind {
            Kind::Regular => sink.put_from_host(self.host.as_fd(), None, usize::MAX),
            Kind::Pipe | Kind::Null => {
                self.require(PollEvents::READABLE)?;
                sink.put_from_host(self.host.as_fd(), None, PIECE)
            }
            Kind::Socket => {
                let mut bytes = vec![0; sink.remaining().min(PIECE)];
                let (n, _) = rustix::net::recv(&*self.host, &mut *bytes, RecvFlags::DONTWAIT)
                    .map_err(errno_of)?;
                sink.put(bytes.get(..n).unwrap_or_default())
            }
        }
    }

    /// Writes within the budget: `write` gets the most bytes that it may take.
    fn within_budget(
        &self,
        source: &mut dyn Source,
        write: impl FnOnce(&mut dyn Source, usize) -> SysResult<usize>,
    ) -> SysResult<usize> {
        let Some(budget) = self.budget.as_ref().filter(|_| source.remaining() > 0) else {
            return write(source, usize::MAX);
        };
        let n = write(source, budget.next()?)?;
        budget.spend(n);
        Ok(n)
    }

    fn write_some(&self, source: &mut dyn Source) -> SysResult<usize> {
        self.within_budget(source, |source, most| self.write_at_most(source, most))
    }

    fn write_at_most(&self, source: &mut dyn Source, most: usize) -> SysResult<usize> {
        match self.kind {
            Kind::Regular => source.take_to_host(self.host.as_fd(), None, most),
            Kind::Pipe | Kind::Null => match &self.pipe {
                Some(pipe) => source.take_to_host(pipe.as_fd(), None, PIECE.min(most)),
                // A device that is always ready.
                None if self.queue.is_none() => {
                    source.take_to_host(self.host.as_fd(), None, PIECE.min(most))
                }
                None => {
                    self.require(PollEvents::WRITABLE)?;
                    source.take_to_host(self.host.as_fd(), None, PIPE_BUF.min(most))
                }
            },
            Kind::Socket => {
                self.require(PollEvents::WRITABLE)?;
                let mut bytes = vec![0; source.remaining().min(PIECE).min(most)];
                let n = source.take(&mut bytes)?;
                let bytes = bytes.get(..n).unwrap_or_default();
                let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                rustix::net::send(&*self.host, bytes, flags).map_err(errno_of)
            }
        }
    }
}

impl FileOps for HostStream {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn metadata(&self) -> Metadata {
        let Ok(stat) = rustix::fs::fstat(&*self.host) else {
            return Metadata::anonymous(FileKind::Fifo, 0);
        };
        let mut metadata = Metadata::anonymous(FileKind::of_mode(stat.st_mode), stat.st_ino);
        metadata.mode = stat.st_mode;
        metadata.size = u64::try_from(stat.st_size).unwrap_or(0);
        metadata.n_blocks = u64::try_from(stat.st_blocks).unwrap_or(0);
        metadata.special = DeviceNumber::decode(stat.st_rdev);
        metadata
    }

    fn is_seekable(&self) -> bool {
        self.kind == Kind::Regular
    }

    fn is_stream(&self) -> bool {
        self.kind != Kind::Regular
    }

    fn read(&self, _file: &OpenFile, sink: &mut dyn Sink, offset: u64) -> SysResult<usize> {
        match self.kind {
            Kind::Regular => sink.put_from_host(self.host.as_fd(), Some(offset), usize::MAX),
            _ => self.read_some(sink),
        }
    }

    fn write(&self, _file: &OpenFile, source: &mut dyn Source, offset: u64) -> SysResult<usize> {
        match self.kind {
            Kind::Regular => self.within_budget(source, |source, most| {
                source.take_to_host(self.host.as_fd(), Some(offset), most)
            }),
            _ => self.write_some(source),
        }
    }

    fn read_next(&self, _file: &OpenFile, sink: &mut dyn Sink) -> SysResult<usize> {
        self.read_some(sink)
    }

    fn write_next(&self, _file: &OpenFile, source: &mut dyn Source) -> SysResult<usize> {
        let mut n_written = self.write_some(source)?;
        // A full disk shows at the next attempt; until then regular files take everything.
        while self.kind == Kind::Regular && source.remaining() > 0 {
            match self.write_some(source) {
                Ok(0) | Err(_) => break,
                Ok(n) => n_written += n,
            }
        }
        Ok(n_written)
    }

    fn seek(&self, _file: &OpenFile, to: SeekTo) -> SysResult<u64> {
        if self.kind != Kind::Regular {
            return Err(Errno::ESPIPE);
        }
        let to = match to {
            SeekTo::Start(offset) => {
                rustix::fs::SeekFrom::Start(u64::try_from(offset).map_err(|_| Errno::EINVAL)?)
            }
            SeekTo::Current(change) => rustix::fs::SeekFrom::Current(change),
            SeekTo::End(change) => rustix::fs::SeekFrom::End(change),
            SeekTo::Extent(crate::inode::Extent::Data, offset) => {
                rustix::fs::SeekFrom::Data(u64::try_from(offset).map_err(|_| Errno::ENXIO)?)
            }
            SeekTo::Extent(crate::inode::Extent::Hole, offset) => {
                rustix::fs::SeekFrom::Hole(u64::try_from(offset).map_err(|_| Errno::ENXIO)?)
            }
        };
        rustix::fs::seek(&*self.host, to).map_err(errno_of)
    }

    fn check_flags(&self, flags: OpenFlags) -> SysResult<()> {
        if flags.intersects(NEVER_LENT) && self.lending.get() == Lending::Lent {
            lending::take_all_back();
        }
        Ok(())
    }

    fn poll(&self, _file: &OpenFile) -> PollEvents {
        self.readiness()
    }

    fn queue(&self) -> Option<WaitQueue> {
        self.queue.clone()
    }

    fn ioctl(&self, _file: &OpenFile, ioctl: &Ioctl<'_>) -> SysResult<u64> {
        if ioctl.command == FIONREAD {
            let n = rustix::io::ioctl_fionread(&*self.host).map_err(errno_of)?;
            let n = i32::try_from(n).unwrap_or(i32::MAX);
            ioctl.memory.write(ioctl.argument, &n.to_le_bytes())?;
            return Ok(0);
        }
        Err(Errno::ENOTTY)
    }

    fn reopen(&self, _flags: OpenFlags) -> SysResult<Rc<dyn FileOps>> {
        // As `/dev/stdout` does: the same stream, with what readiness the host tells.
        Ok(Rc::new(Self {
            _watch: None,
            host: Rc::clone(&self.host),
            kind: self.kind,
            queue: self.queue.clone(),
            budget: self.budget.clone(),
            pipe: self.pipe.clone(),
            lending: self.lending.clone(),
        }))
    }

    fn describe(&self) -> String {
        match self.kind {
            Kind::Regular => String::from("/dev/host-file"),
            Kind::Socket => String::from("socket:[1]"),
            Kind::Pipe => String::from("pipe:[1]"),
            Kind::Null => String::from("/dev/null"),
        }
    }
}
