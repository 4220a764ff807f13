//! UDP.
//!
//! A datagram goes straight into the queue of whoever is bound to its destination. A full queue
//! drops it, as a network would. See udp(7).
//!
//! UDP-Lite, which differs in how much of a datagram its checksum covers, is the same with ports
//! of its own, since nothing is damaged on its way here.

mod deliver;
mod marks;
mod options;
mod outward;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::rc::{Rc, Weak};

use kernel_core::ledger::{Charge, Kind};
use kernel_core::supervisor::Transport;
use kernel_core::wait::PollEvents;
use kernel_files::Ioctl;
use linux_abi::sockets::inet::ipproto;
use linux_abi::sockets::{MessageFlags, af, sock};
use linux_abi::{Errno, SysResult};

use super::ports::Ports;
use super::{Identity, address, interfaces};
use crate::common::Shutdown;
use crate::socket::Patience;
use crate::{Caller, Common, Incoming, Network, Outgoing, RawName, Received, SocketOps};
use marks::Marks;
use outward::HostDatagrams;

/// The longest datagram.
pub(super) const MAX_DATAGRAM: usize = 65_507;

/// What a datagram costs its receiver's buffer on top of its bytes, about as in Linux.
pub(super) const OVERHEAD: usize = 768;

/// The most groups that a socket may be in (Linux: `net.ipv4.igmp_max_memberships`).
pub(super) const MAX_GROUPS: usize = 20;

/// The most errors that wait in a socket's error queue.
pub(super) const MAX_ERRORS: usize = 16;

/// A datagram that was received.
#[derive(Clone, Debug)]
pub(super) struct Datagram {
    pub(super) data: Vec<u8>,
    pub(super) from: SocketAddr,
    pub(super) to: IpAddr,
    /// Nanoseconds since 1970.
    pub(super) time: u64,
    marks: Marks,
}

/// A datagram that could not be delivered.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) errno: Errno,
    pub(super) data: Vec<u8>,
    pub(super) to: SocketAddr,
    pub(super) _memory: Charge,
}

/// What a socket has received.
pub(super) struct Inbox {
    pub(super) datagrams: VecDeque<Datagram>,
    pub(super) n_charged: usize,
    /// For all of them.
    pub(super) memory: Charge,
}

impl Default for Inbox {
    fn default() -> Self {
        let memory = Charge::none(Kind::Sockets);
        Self { datagrams: VecDeque::new(), n_charged: 0, memory }
    }
}

/// A UDP socket.
pub struct UdpSocket {
    me: Weak<Self>,
    common: Common,
    /// Where it is.
    pub identity: Identity,
    inbox: RefCell<Inbox>,
    failures: RefCell<VecDeque<Failure>>,
    groups: RefCell<Vec<IpAddr>>,
    /// Whether the address was chosen by `bind`, and not by sending.
    is_bound: Cell<bool>,
    /// Host sockets for what leaves, by destination.
    outward: RefCell<HashMap<SocketAddr, Rc<HostDatagrams>>>,
    /// How many bytes the checksum covers: `UDPLITE_SEND_CSCOV` and `UDPLITE_RECV_CSCOV`.
    coverage: [Cell<i32>; 2],
    place: Cell<usize>,
}

impl UdpSocket {
    /// A new socket of `AF_INET` or `AF_INET6`.
    pub fn new(network: &Rc<Network>, domain: u16) -> Rc<Self> {
        Self::with_protocol(network, domain, ipproto::UDP)
    }

    /// A new socket of `AF_INET` or `AF_INET6` for UDP-Lite.
    pub fn new_lite(network: &Rc<Network>, domain: u16) -> Rc<Self> {
        Self::with_protocol(network, domain, ipproto::UDPLITE)
    }

    fn with_protocol(network: &Rc<Network>, domain: u16, protocol: i32) -> Rc<Self> {
        let protocol = u16::try_from(protocol).unwrap_or(0);
        let socket = Rc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            common: Common::new(network, domain, sock::DGRAM, protocol),
            identity: Identity::default(),
            inbox: RefCell::default(),
            failures: RefCell::default(),
            groups: RefCell::default(),
            is_bound: Cell::new(false),
            outward: RefCell::default(),
            coverage: Default::default(),
            place: Cell::new(0),
        });
        let weak: Weak<Self> = Rc::downgrade(&socket);
        socket.place.set(network.enlist(weak));
        socket
    }

    /// Whether it is one for UDP-Lite.
    pub fn is_lite(&self) -> bool {
        i32::from(self.common.protocol) == ipproto::UDPLITE
    }

    /// The ports of its protocol.
    fn ports(&self) -> &Ports<Self> {
        let network = &self.common.network;
        if self.is_lite() { &network.udplite_ports } else { &network.udp_ports }
    }

    /// How many bytes wait to be received, for `/proc/net/udp`.
    pub fn n_queued(&self) -> usize {
        self.inbox.borrow().n_charged
    }

    fn bind_to(&self, caller: &dyn Caller, local: SocketAddr) -> SysResult<()> {
        let ports = self.ports();
        self.identity.bind(&self.common, ports, caller, local)?;
        let key = self.identity.binding.get().ok_or(Errno::EADDRINUSE)?;
        ports.receive(key, Weak::clone(&self.me), false)
    }

    /// Gives the socket a port if it has none.
    fn autobind(&self, caller: Option<&dyn Caller>) -> SysResult<()> {
        if self.identity.binding.get().is_some() {
            return Ok(());
        }
        let any = SocketAddr::new(address::unspecified(self.common.domain), 0);
        match caller {
            Some(caller) => self.bind_to(caller, any).map_err(|_| Errno::EAGAIN),
            None => Err(Errno::EDESTADDRREQ),
        }
    }

    fn unbind(&self) {
        if let Some(key) = self.identity.binding.take() {
            self.ports().release(key);
        }
        self.identity.local.set(None);
    }

    fn connect_to(&self, caller: &dyn Caller, name: &[u8]) -> SysResult<()> {
        if address::family(name)? == af::UNSPEC {
            self.identity.remote.set(None);
            if !self.is_bound.get() {
                self.unbind();
            }
            return Ok(());
        }
        let remote = self.identity.parse_remote(&self.common, name)?;
        let remote = SocketAddr::new(interfaces::destination(remote.ip()), remote.port());
        let network = &self.common.network;
        self.check_broadcast(remote.ip())?;
        let source = if self.stays_inside(remote.ip()) {
            interfaces::source_for(remote.ip())
        } else {
            network.egress_for(Transport::Udp, remote)?;
            network.outward_source(remote.ip())?
        };
        self.autobind(Some(caller))?;
        if let Some(local) = self.identity.local.get()
            && local.ip().is_unspecified()
        {
            self.identity.local.set(Some(SocketAddr::new(source, local.port())));
        }
        self.identity.remote.set(Some(remote));
        Ok(())
    }

    fn receive_datagram(&self, wanted: &mut Incoming<'_>) -> SysResult<Received> {
        if wanted.flags.contains(MessageFlags::ERRQUEUE) {
            return self.receive_failure(wanted);
        }
        if wanted.flags.contains(MessageFlags::OOB) {
            return Err(Errno::EOPNOTSUPP);
        }
        if self.inbox.borrow().datagrams.is_empty() {
            return self.at_end(wanted.flags);
        }
        let peeks = wanted.flags.contains(MessageFlags::PEEK);
        let datagram = {
            let mut inbox = self.inbox.borrow_mut();
            let front =
                if peeks { inbox.datagrams.front().cloned() } else { inbox.datagrams.pop_front() };
            let datagram = front.ok_or(Errno::EAGAIN)?;
            if !peeks {
                inbox.n_charged = inbox.n_charged.saturating_sub(datagram.data.len() + OVERHEAD);
                let left = inbox.n_charged as u64;
                inbox.memory.force(left);
            }
            datagram
        };
        let real_len = datagram.data.len();
        let n = if real_len == 0 { 0 } else { wanted.sink.put(&datagram.data)? };
        let mut flags = MessageFlags::empty();
        flags.set(MessageFlags::TRUNC, n < real_len);
        Ok(Received {
            n_bytes: if wanted.flags.contains(MessageFlags::TRUNC) { real_len } else { n },
            flags,
            name: Some(address::encode(self.common.domain, datagram.from)),
            control: options::control_of(self, &datagram),
        })
    }

    /// What a read finds when nothing has come.
    fn at_end(&self, flags: MessageFlags) -> SysResult<Received> {
        self.common.take_error()?;
        let is_ended = self.common.shutdown().contains(Shutdown::RECEIVE);
        if is_ended && !flags.contains(MessageFlags::DONTWAIT) {
            return Ok(Received::default());
        }
        Err(Errno::EAGAIN)
    }

    fn receive_failure(&self, wanted: &mut Incoming<'_>) -> SysResult<Received> {
        let failure = self.failures.borrow_mut().pop_front().ok_or(Errno::EAGAIN)?;
        let n = if failure.data.is_empty() { 0 } else { wanted.sink.put(&failure.data)? };
        Ok(Received {
            n_bytes: n,
            flags: MessageFlags::ERRQUEUE,
            name: Some(address::encode(self.common.domain, failure.to)),
            control: vec![options::failure_control(&self.common, &failure)],
        })
    }
}

impl SocketOps for UdpSocket {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn common(&self) -> &Common {
        &self.common
    }

    fn bind(&self, caller: &dyn Caller, name: &[u8]) -> SysResult<()> {
        let local = self.identity.parse_local(&self.common, name)?;
        self.bind_to(caller, local)?;
        self.is_bound.set(true);
        Ok(())
    }

    fn connect(&self, caller: &dyn Caller, name: &[u8], _patience: Patience) -> SysResult<()> {
        self.connect_to(caller, name)
    }

    fn local_name(&self) -> SysResult<RawName> {
        Ok(self.identity.local_name(self.common.domain))
    }

    fn peer_name(&self) -> SysResult<RawName> {
        // One can be connected to port 0, and is then said not to be.
        if self.identity.remote.get().is_some_and(|remote| remote.port() == 0) {
            return Err(Errno::ENOTCONN);
        }
        self.identity.peer_name(self.common.domain)
    }

    fn send(&self, message: &mut Outgoing<'_>) -> SysResult<usize> {
        self.send_datagram(message)
    }

    fn receive(&self, wanted: &mut Incoming<'_>) -> SysResult<Received> {
        self.receive_datagram(wanted)
    }

    fn shutdown(&self, how: Shutdown) -> SysResult<()> {
        self.common.add_shutdown(how);
        if self.identity.remote.get().is_some() { Ok(()) } else { Err(Errno::ENOTCONN) }
    }

    fn poll(&self) -> PollEvents {
        let mut ready = PollEvents::empty();
        if !self.is_deciding() {
            ready |= PollEvents::WRITABLE | PollEvents::WRBAND;
        }
        let shutdown = self.common.shutdown();
        let has_failed = self.common.has_error() || !self.failures.borrow().is_empty();
        ready.set(PollEvents::ERR, has_failed);
        ready.set(PollEvents::HUP, shutdown == Shutdown::all());
        if shutdown.contains(Shutdown::RECEIVE) {
            ready |= PollEvents::RDHUP | PollEvents::READABLE;
        }
        if !self.inbox.borrow().datagrams.is_empty() {
            ready |= PollEvents::READABLE;
        }
        ready
    }

    fn is_moved_by_calls(&self) -> bool {
        true
    }

    fn get_option(&self, level: i32, name: i32) -> SysResult<Vec<u8>> {
        options::get(self, level, name)
    }

    fn set_option(
        &self,
        caller: &dyn Caller,
        level: i32,
        name: i32,
        value: &[u8],
    ) -> SysResult<()> {
        options::set(self, caller, level, name, value)
    }

    fn ioctl(&self, ioctl: &Ioctl<'_>) -> SysResult<u64> {
        options::ioctl(self, ioctl)
    }

    fn release(&self) {
        self.common.network.delist(self.place.get());
        self.unbind();
        self.outward.take();
        *self.inbox.borrow_mut() = Inbox::default();
        self.common.queue.wake(PollEvents::HUP);
    }

    fn is_stream(&self) -> bool {
        false
    }
}
