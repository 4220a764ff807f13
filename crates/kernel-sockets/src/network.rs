//! What all sockets of a sandbox share.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::net::{IpAddr, SocketAddr};
use std::rc::{Rc, Weak};

use kernel_core::host_events::HostEvents;
use kernel_core::supervisor::{self, Transport};
use kernel_core::timers::Timers;
use linux_abi::sockets::Ucred;
use linux_abi::{Errno, SysResult};
use slab::Slab;

use crate::SocketOps;
use crate::blocked::{Blocked, BlockedList};
use crate::counts::Counts;
use crate::egress::Egress;
use crate::host_stream::HostStream;
use crate::inet::interfaces::{self, Interface, Interfaces};
use crate::inet::ports::Ports;
use crate::inet::{TcpSocket, UdpSocket};
use crate::netlink::NetlinkPorts;
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
    /// The network interfaces.
    pub interfaces: Interfaces,
    /// Who is bound to which TCP port.
    pub tcp_ports: Ports<TcpSocket>,
    /// Who is bound to which UDP port.
    pub udp_ports: Ports<UdpSocket>,
    /// Who is bound to which UDP-Lite port.
    pub udplite_ports: Ports<UdpSocket>,
    /// What has happened.
    pub counts: Counts,
    /// Which netlink ports are taken.
    pub netlink_ports: NetlinkPorts,
    pub(crate) identify: Identify,
    sockets: RefCell<Slab<Weak<dyn SocketOps>>>,
    next_inode: Cell<u64>,
    egress: RefCell<Option<Rc<dyn Egress>>>,
    host_events: RefCell<Option<HostEvents>>,
    /// Closed connections whose data the host has not taken yet.
    lingering: RefCell<Vec<Rc<HostStream>>>,
    has_internet: Cell<bool>,
    /// A guest has made it, and may bring its loopback interface up.
    pub(crate) is_guests_own: Cell<bool>,
    /// What guests wanted in vain, where nothing may leave.
    pub blocked: BlockedList,
}

impl Network {
    /// A network with nothing but a loopback interface.
    pub fn new(timers: Timers, identify: Identify) -> Rc<Self> {
        Rc::new_cyclic(|me| Self {
            abstract_names: AbstractNames::default(),
            in_flight: FilesInFlight::new(Weak::clone(me)),
            interfaces: Interfaces::default(),
            tcp_ports: Ports::default(),
            udp_ports: Ports::default(),
            udplite_ports: Ports::default(),
            counts: Counts::default(),
            netlink_ports: NetlinkPorts::default(),
            timers,
            identify,
            sockets: RefCell::default(),
            // Linux counts from wherever its inode counter is; nothing depends on it.
            next_inode: Cell::new(1 << 12),
            egress: RefCell::default(),
            host_events: RefCell::default(),
            lingering: RefCell::default(),
            has_internet: Cell::new(true),
            is_guests_own: Cell::new(false),
            blocked: BlockedList::default(),
        })
    }

    /// A network of its own beside this one: with a loopback interface that is down, and no way out.
    pub fn new_namespace(&self) -> Rc<Self> {
        let new = Self::new(self.timers.clone(), self.identify);
        new.has_internet.set(self.has_internet.get());
        *new.host_events.borrow_mut() = self.host_events();
        new.is_guests_own.set(true);
        new.interfaces.take_down();
        new
    }

    /// Lets `egress` be asked for what leaves; until then nothing may. To be called once, before
    /// any guest runs: the guest then has an interface that leads outward, with an IPv6 address if
    /// the host can use it.
    pub fn set_egress(&self, egress: Rc<dyn Egress>, has_ipv6: bool) {
        if self.egress.borrow().is_none() {
            self.interfaces.add(Interface::outward(has_ipv6));
        }
        *self.egress.borrow_mut() = Some(egress);
    }

    /// Says where host sockets are watched, without which none can be used.
    pub fn set_host_events(&self, host_events: HostEvents) {
        *self.host_events.borrow_mut() = Some(host_events);
    }

    /// Takes the internet sockets away, loopback included.
    pub fn forbid_internet(&self) {
        self.has_internet.set(false);
    }

    pub(crate) fn has_internet(&self) -> bool {
        self.has_internet.get()
    }

    pub(crate) fn egress(&self) -> Option<Rc<dyn Egress>> {
        self.egress.borrow().clone()
    }

    /// Who decides about something that wants to leave for `to`; `ENETUNREACH` if there is no way
    /// out.
    pub(crate) fn egress_for(
        &self,
        transport: Transport,
        to: SocketAddr,
    ) -> SysResult<Rc<dyn Egress>> {
        self.egress().ok_or_else(|| {
            if let Some(supervisor) = supervisor::get() {
                supervisor.unreachable(transport, to);
            }
            self.blocked.note(Blocked::Flow(transport, to));
            Errno::ENETUNREACH
        })
    }

    pub(crate) fn host_events(&self) -> Option<HostEvents> {
        self.host_events.borrow().clone()
    }

    /// The address that something which leaves for `to` seems to come from.
    pub(crate) fn outward_source(&self, to: IpAddr) -> SysResult<IpAddr> {
        let list = self.interfaces.list();
        let outward = list.iter().filter(|interface| !interface.is_loopback());
        let mut addresses = outward.flat_map(|interface| &interface.addresses);
        if to.is_loopback() {
            return Ok(interfaces::source_for(to));
        }
        let found = addresses.find(|(ip, _)| ip.is_ipv4() == to.is_ipv4());
        found.map(|&(ip, _)| ip).ok_or(Errno::ENETUNREACH)
    }

    pub(crate) fn linger(&self, stream: Rc<HostStream>) {
        self.lingering.borrow_mut().push(stream);
    }

    pub(crate) fn stop_lingering(&self) {
        if self.lingering.borrow().is_empty() {
            return;
        }
        let (done, rest) =
            self.lingering.take().into_iter().partition::<Vec<_>, _>(|one| one.is_flushed());
        self.lingering.borrow_mut().extend(rest);
        drop(done);
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
