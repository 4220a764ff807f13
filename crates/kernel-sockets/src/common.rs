//! What sockets of all families have.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use kernel_core::landlock::Domain;
use kernel_core::ledger::{self, Charge, Kind};
use kernel_core::wait::{PollEvents, WaitQueue};
use linux_abi::sockets::shut;
use linux_abi::{Errno, SysResult};

use crate::Network;
use crate::options::Options;

bitflags::bitflags! {
    /// Which halves of a socket are shut down.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Shutdown: u8 {
        /// Nothing more is received.
        const RECEIVE = 1;
        /// Nothing more is sent.
        const SEND = 2;
    }
}

impl Shutdown {
    /// What the argument of `shutdown(2)` means.
    pub fn from_guest(how: i32) -> SysResult<Self> {
        match how {
            shut::RD => Ok(Self::RECEIVE),
            shut::WR => Ok(Self::SEND),
            shut::RDWR => Ok(Self::all()),
            _ => Err(Errno::EINVAL),
        }
    }

    /// What the other end of a connection sees of this.
    #[must_use]
    pub fn mirrored(self) -> Self {
        let mut mirrored = Self::empty();
        mirrored.set(Self::RECEIVE, self.contains(Self::SEND));
        mirrored.set(Self::SEND, self.contains(Self::RECEIVE));
        mirrored
    }
}

/// What sockets of all families have.
pub struct Common {
    /// What all sockets share.
    pub network: Rc<Network>,
    /// `AF_*`.
    pub domain: u16,
    /// `SOCK_*`.
    pub kind: u32,
    /// `IPPROTO_*` or the like.
    pub protocol: u16,
    /// A number that no other socket of the sandbox has.
    pub inode: u64,
    /// Who waits for this socket.
    pub queue: WaitQueue,
    /// The options of level `SOL_SOCKET`.
    pub options: Options,
    /// User and group of whoever made it.
    pub owner: Cell<(u32, u32)>,
    /// The Landlock domain of whoever made it.
    pub landlock: RefCell<Option<Rc<Domain>>>,
    error: Cell<Option<Errno>>,
    shutdown: Cell<Shutdown>,
    _charge: Charge,
}

/// What a socket takes before anything is in it, with its place in the tables.
const SOCKET_BYTES: u64 = 1536;

/// `ENOBUFS` if there is no memory for so many more sockets.
pub fn check_room(n: u64) -> SysResult<()> {
    let wanted = n * SOCKET_BYTES;
    if ledger::room_for(wanted) < wanted { Err(Errno::ENOBUFS) } else { Ok(()) }
}

impl Common {
    /// A new socket of `network`.
    pub fn new(network: &Rc<Network>, domain: u16, kind: u32, protocol: u16) -> Self {
        // Whoever makes it has checked that there is room.
        let charge = Charge::forced(Kind::Sockets, SOCKET_BYTES);
        Self {
            network: Rc::clone(network),
            domain,
            kind,
            protocol,
            inode: network.next_inode(),
            queue: WaitQueue::new(),
            options: Options::default(),
            owner: Cell::new((0, 0)),
            landlock: RefCell::default(),
            error: Cell::new(None),
            shutdown: Cell::default(),
            _charge: charge,
        }
    }

    /// Leaves an error for the next call, and wakes whoever waits.
    pub fn set_error(&self, errno: Errno) {
        self.error.set(Some(errno));
        self.queue.wake(PollEvents::all());
    }

    /// The error that was left, which is then gone.
    pub fn take_error(&self) -> SysResult<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Whether an error was left.
    pub fn has_error(&self) -> bool {
        self.error.get().is_some()
    }

    /// Which halves are shut down.
    pub fn shutdown(&self) -> Shutdown {
        self.shutdown.get()
    }

    /// Shuts more halves down, and wakes whoever waits.
    pub fn add_shutdown(&self, how: Shutdown) {
        self.shutdown.set(self.shutdown.get() | how);
        self.queue.wake(PollEvents::all());
    }

    /// Opens both halves again, for a socket that is used anew.
    pub fn reset_shutdown(&self) {
        self.shutdown.set(Shutdown::empty());
    }
}
