//! What all sockets of a sandbox share.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use kernel_core::timers::Timers;
use linux_abi::sockets::Ucred;
use slab::Slab;

use crate::SocketOps;
use crate::unix::{AbstractNames, FilesInFlight};

/// Tells who a caller (a `kernel_tasks::Thread`) is, for calls that carry nothing else.
pub type Identify = fn(&dyn Any) -> Option<Ucred>;

/// The network of one sandbox.
pub struct Network {
    /// For what shall happen later.
    pub timers: Timers,
    /// Unix names that are not in the tree of files.
    pub abstract_names: AbstractNames,
    /// Open files that were sent and not yet received.
    pub in_flight: FilesInFlight,
    pub(crate) identify: Identify,
    sockets: RefCell<Slab<Weak<dyn SocketOps>>>,
    next_inode: Cell<u64>,
}

impl Network {
    /// A network with nothing but a loopback interface.
    pub fn new(timers: Timers, identify: Identify) -> Rc<Self> {
        Rc::new_cyclic(|me| Self {
            abstract_names: AbstractNames::default(),
            in_flight: FilesInFlight::new(Weak::clone(me)),
            timers,
            identify,
            sockets: RefCell::default(),
            // Linux counts from wherever its inode counter is; nothing depends on it.
            next_inode: Cell::new(1 << 12),
        })
    }

    pub(crate) fn next_inode(&self) -> u64 {
        let inode = self.next_inode.get();
        self.next_inode.set(inode + 1);
        inode
    }

    /// Enters a socket into the list that `/proc/net` shows. Returns its place there.
    pub(crate) fn enlist(&self, socket: Weak<dyn SocketOps>) -> usize {
        self.sockets.borrow_mut().insert(socket)
    }

    pub(crate) fn delist(&self, place: usize) {
        self.sockets.borrow_mut().try_remove(place);
    }

    /// Every socket that there is, for `/proc/net`.
    pub fn sockets(&self) -> Vec<Rc<dyn SocketOps>> {
        self.sockets.borrow().iter().filter_map(|(_, socket)| socket.upgrade()).collect()
    }
}
