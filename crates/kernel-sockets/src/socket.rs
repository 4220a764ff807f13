//! Sockets as open files.

use std::any::Any;
use std::rc::Rc;

use kernel_core::io::{Sink, Source};
use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_files::metadata::AttributeChange;
use kernel_files::{FileKind, FileOps, Intent, Ioctl, Metadata, OpenFile};
use linux_abi::files::OpenFlags;
use linux_abi::sockets::MessageFlags;
use linux_abi::{Errno, SysResult, WaitResult};

use crate::common::Shutdown;
use crate::{Caller, Common, Incoming, Outgoing, OutgoingControl, RawName, Received};

/// Whether a call may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// It may.
    Waits,
    /// It must not: the socket is non-blocking.
    Never,
}

/// What a family of sockets gives. The defaults are what Linux says of sockets that cannot.
///
/// As with files, nothing here waits: what would have to is `EAGAIN`, and the queue of
/// [`common`](Self::common) is what to wait on.
pub trait SocketOps: Any {
    /// This object as its own type.
    fn as_any(&self) -> &dyn Any;

    /// What all families have.
    fn common(&self) -> &Common;

    /// Gives the socket a name.
    fn bind(&self, caller: &dyn Caller, name: &[u8]) -> SysResult<()>;

    /// Lets others connect; `backlog` of them may wait.
    fn listen(&self, caller: &dyn Caller, backlog: u32) -> SysResult<()> {
        let _ = (caller, backlog);
        Err(Errno::EOPNOTSUPP)
    }

    /// The next connection that somebody made.
    fn accept(&self) -> SysResult<Rc<dyn SocketOps>> {
        Err(Errno::EOPNOTSUPP)
    }

    /// Connects to `name`. A connection that is not made yet is `EINPROGRESS`, or `EALREADY` if it
    /// was begun before, or `EAGAIN` if it could not even be begun; a caller that may wait then
    /// tries again after the queue said that the socket is writable.
    fn connect(&self, caller: &dyn Caller, name: &[u8], patience: Patience) -> SysResult<()>;

    /// The socket's own name.
    fn local_name(&self) -> SysResult<RawName>;

    /// The name at the other end.
    fn peer_name(&self) -> SysResult<RawName>;

    /// The name at the other end of a connection that has just been accepted, also if it has been
    /// broken meanwhile.
    fn accepted_name(&self) -> SysResult<RawName> {
        self.peer_name()
    }

    /// Sends a message, or as much of a stream as there is room for.
    fn send(&self, message: &mut Outgoing<'_>) -> SysResult<usize>;

    /// Receives a message, or what there is of a stream.
    fn receive(&self, wanted: &mut Incoming<'_>) -> SysResult<Received>;

    /// Ends one half or both.
    fn shutdown(&self, how: Shutdown) -> SysResult<()>;

    /// What is ready now.
    fn poll(&self) -> PollEvents;

    /// Whether that changes by system calls alone, and not when the host has news.
    fn is_moved_by_calls(&self) -> bool {
        false
    }

    /// Reads an option.
    fn get_option(&self, level: i32, name: i32) -> SysResult<Vec<u8>>;

    /// Sets an option.
    fn set_option(&self, caller: &dyn Caller, level: i32, name: i32, value: &[u8])
    -> SysResult<()>;

    /// Answers an `ioctl` that is special to the family.
    fn ioctl(&self, ioctl: &Ioctl<'_>) -> SysResult<u64>;

    /// The last descriptor is gone.
    fn release(&self);

    /// Whether data has no borders, so that a blocking send goes on until all is sent.
    fn is_stream(&self) -> bool;

    /// Whether a failed send raises `SIGPIPE`: that of streams does, if it is `EPIPE`.
    fn raises_sigpipe(&self) -> bool {
        self.is_stream()
    }

    /// Somebody is about to `write`, which does not say who it is.
    fn note_writer(&self, caller: &dyn Any) {
        let _ = caller;
    }
}

/// The open file of a socket.
pub struct Socket {
    ops: Rc<dyn SocketOps>,
}

impl Socket {
    /// What an open file of this socket can do.
    pub fn new(ops: Rc<dyn SocketOps>) -> Rc<Self> {
        Rc::new(Self { ops })
    }

    /// Opens a socket: read and write, and `extra` flags.
    pub fn open(ops: Rc<dyn SocketOps>, extra: OpenFlags) -> Rc<OpenFile> {
        OpenFile::new(Self::new(ops), OpenFlags::RDWR | extra)
    }

    /// What the family gives.
    pub fn ops(&self) -> &Rc<dyn SocketOps> {
        &self.ops
    }

    /// What the family gives, for the open file of a socket; `ENOTSOCK` for other files.
    pub fn of(file: &OpenFile) -> SysResult<&Rc<dyn SocketOps>> {
        file.ops_as::<Self>().map(Self::ops).ok_or(Errno::ENOTSOCK)
    }
}

impl FileOps for Socket {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn admit(&self, _file: &OpenFile, caller: &dyn Any, intent: Intent) -> WaitResult {
        if intent == Intent::Write {
            self.ops.note_writer(caller);
        }
        Ok(())
    }

    fn metadata(&self) -> Metadata {
        let mut metadata = Metadata::anonymous(FileKind::Socket, self.ops.common().inode);
        metadata.mode |= 0o777;
        (metadata.uid, metadata.gid) = self.ops.common().owner.get();
        metadata
    }

    fn set_attributes(&self, change: &AttributeChange) -> SysResult<()> {
        let owner = &self.ops.common().owner;
        let (uid, gid) = owner.get();
        owner.set((change.uid.unwrap_or(uid), change.gid.unwrap_or(gid)));
        Ok(())
    }

    fn read(&self, file: &OpenFile, sink: &mut dyn Sink, _offset: u64) -> SysResult<usize> {
        // Linux does not ask the socket at all for a read of nothing.
        if sink.remaining() == 0 {
            return Ok(0);
        }
        let mut flags = MessageFlags::empty();
        flags.set(MessageFlags::DONTWAIT, file.is_nonblocking());
        let mut wanted = Incoming { sink, flags };
        Ok(self.ops.receive(&mut wanted)?.n_bytes)
    }

    fn write(&self, _file: &OpenFile, source: &mut dyn Source, _offset: u64) -> SysResult<usize> {
        self.ops.send(&mut Outgoing {
            source,
            flags: MessageFlags::empty(),
            name: None,
            control: &mut OutgoingControl::default(),
            caller: None,
        })
    }

    fn is_stream(&self) -> bool {
        self.ops.is_stream()
    }

    fn raises_sigpipe(&self) -> bool {
        self.ops.raises_sigpipe()
    }

    fn poll(&self, _file: &OpenFile) -> PollEvents {
        self.ops.poll()
    }

    fn queue(&self) -> Option<WaitQueue> {
        Some(self.ops.common().queue.clone())
    }

    fn is_moved_by_calls(&self) -> bool {
        self.ops.is_moved_by_calls()
    }

    fn patience(&self, intent: Intent) -> Option<u64> {
        let options = &self.ops.common().options;
        let nanos = match intent {
            Intent::Write => options.send_timeout.get(),
            Intent::Read | Intent::Control(_) => options.receive_timeout.get(),
        };
        (nanos > 0).then_some(nanos)
    }

    fn ioctl(&self, _file: &OpenFile, ioctl: &Ioctl<'_>) -> SysResult<u64> {
        self.ops.ioctl(ioctl)
    }

    fn flush(&self, _file: &OpenFile) -> SysResult<()> {
        // This may have been the last descriptor of a socket that is also in flight.
        self.ops.common().network.in_flight.suspect_garbage();
        Ok(())
    }

    fn release(&self, _file: &OpenFile) {
        self.ops.release();
    }

    fn describe(&self) -> String {
        format!("socket:[{}]", self.ops.common().inode)
    }
}
