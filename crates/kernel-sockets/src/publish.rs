//! Ports of the host that lead to guests (`--publish`).

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::{Rc, Weak};

use host_sys::errno_of;
use host_sys::rustix::net::{SocketAddrAny, SocketFlags, acceptfrom_with};
use kernel_core::host_events::Watch;
use kernel_core::wait::{Observer, PollEvents, Registration, WaitQueue};
use linux_abi::{Errno, SysResult};

use crate::Network;
use crate::inet::TcpSocket;

/// How many connections are taken at a time, so that others get their turn.
const BATCH: usize = 64;

/// A listening socket of the host whose connections go to a guest. Dropping it ends that.
pub struct Published {
    // Before the descriptor that it watches, so that it is dropped first.
    _watch: (Watch, Registration),
    host: OwnedFd,
    network: Weak<Network>,
    guest: SocketAddr,
    queue: WaitQueue,
}

impl Published {
    /// Hands every connection to `host`, a listening and non-blocking socket, to the guest that
    /// listens on `guest`. If none does, the connection is closed.
    pub fn new(network: &Rc<Network>, host: OwnedFd, guest: SocketAddr) -> SysResult<Rc<Self>> {
        let events = network.host_events().ok_or(Errno::ENETUNREACH)?;
        let queue = WaitQueue::new();
        let watch = events.watch(host.as_fd(), queue.clone())?;
        Ok(Rc::new_cyclic(|me: &Weak<Self>| {
            let observer: Weak<Self> = Weak::clone(me);
            let registration = queue.observe(PollEvents::all(), observer);
            Self {
                _watch: (watch, registration),
                host,
                network: Rc::downgrade(network),
                guest,
                queue,
            }
        }))
    }

    /// Where the connections go.
    pub fn guest(&self) -> SocketAddr {
        self.guest
    }

    fn accept(&self) {
        let Some(network) = self.network.upgrade() else { return };
        for _ in 0..BATCH {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let (connection, from) = match acceptfrom_with(&self.host, flags) {
                Ok(accepted) => accepted,
                Err(error) if errno_of(error) == Errno::ECONNABORTED => continue,
                Err(_) => return,
            };
            let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
            let from = from.as_ref().map_or(nowhere, |from| address_of(from).unwrap_or(nowhere));
            // Nobody listens: the host's client sees the connection close.
            let _ = TcpSocket::deliver_from_host(&network, self.guest, from, connection);
        }
        // There may be more. The host tells of changes only, so ask again.
        let queue = self.queue.clone();
        let now = kernel_core::timers::now();
        network.timers.at(now, move || queue.wake(PollEvents::READABLE));
    }
}

fn address_of(address: &SocketAddrAny) -> Option<SocketAddr> {
    SocketAddr::try_from(address.clone()).ok()
}

impl Observer for Published {
    fn notify(&self, _events: PollEvents) {
        self.accept();
    }
}
