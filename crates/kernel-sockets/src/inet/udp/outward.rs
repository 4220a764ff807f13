//! Datagrams that leave the sandbox.
//!
//! Each destination that is allowed has a host socket of its own, connected to it, so that only
//! answers from there come in. The first datagram to a destination waits until it is known whether
//! it may leave.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::{Rc, Weak};

use host_sys::errno_of;
use host_sys::rustix::net::{RecvFlags, SendFlags, recv, send};
use kernel_core::host_events::Watch;
use kernel_core::supervisor::Transport;
use kernel_core::timers::{self, Instant, real_time};
use kernel_core::wait::{Observer, PollEvents, Registration, WaitQueue};
use linux_abi::{Errno, SysResult};

use super::marks::Marks;
use super::{Datagram, MAX_DATAGRAM, UdpSocket};
use crate::Network;
use crate::egress::{Flow, Meter, Passage, Reply};

/// The most destinations outside that one socket talks to at a time; the one that was not used for
/// the longest time makes room.
const MAX_DESTINATIONS: usize = 64;

/// How many datagrams are taken from the host at a time.
const BATCH: usize = 64;

/// How many questions wait for the way to the name server.
const MAX_WAITING: usize = 16;

/// The way to one destination.
pub(super) struct HostDatagrams {
    network: Rc<Network>,
    owner: Weak<UdpSocket>,
    to: SocketAddr,
    state: RefCell<State>,
    used: Cell<Instant>,
}

enum State {
    /// It is not known yet whether it is allowed. What is for the name server waits here.
    Deciding(Vec<Vec<u8>>),
    Open(Open),
    Refused(Errno),
}

struct Open {
    // Before the descriptor that it watches, so that it is dropped first.
    _watch: (Watch, Registration),
    host: OwnedFd,
    meter: Rc<Meter>,
}

impl UdpSocket {
    /// Finds the way to `to`. `EAGAIN` as long as it is not known whether there is one.
    pub(super) fn open_passage(&self, to: SocketAddr) -> SysResult<()> {
        let egress = self.common.network.egress_for(Transport::Udp, to)?;
        if !self.outward.borrow().contains_key(&to) {
            self.common.network.outward_source(to.ip())?;
            self.ask_for_passage(to);
        }
        let way = self.outward.borrow().get(&to).cloned().ok_or(Errno::ENETUNREACH)?;
        way.used.set(timers::now());
        let refused = match &*way.state.borrow() {
            State::Open(_) => return Ok(()),
            // Everybody may ask, and some who ask do not look whether it went out.
            State::Deciding(_) if egress.is_name_server(to) => return Ok(()),
            State::Deciding(_) => return Err(Errno::EAGAIN),
            State::Refused(errno) => *errno,
        };
        self.outward.borrow_mut().remove(&to);
        Err(refused)
    }

    fn ask_for_passage(&self, to: SocketAddr) {
        let network = &self.common.network;
        let Some(egress) = network.egress() else { return };
        if self.outward.borrow().len() >= MAX_DESTINATIONS {
            self.forget_destination();
        }
        let way = Rc::new(HostDatagrams {
            network: Rc::clone(network),
            owner: Weak::clone(&self.me),
            to,
            state: RefCell::new(State::Deciding(Vec::new())),
            used: Cell::new(timers::now()),
        });
        self.outward.borrow_mut().insert(to, Rc::clone(&way));
        let weak = Rc::downgrade(&way);
        let reply: Reply<Passage> = Box::new(move |result| {
            if let Some(way) = weak.upgrade() {
                way.decided(result);
            }
        });
        egress.connect(Flow::udp(to), reply);
    }

    fn forget_destination(&self) {
        let oldest =
            self.outward.borrow().values().min_by_key(|way| way.used.get()).map(|way| way.to);
        let forgotten = oldest.and_then(|to| self.outward.borrow_mut().remove(&to));
        drop(forgotten);
    }

    /// Whether a datagram waits for a decision.
    pub(super) fn is_deciding(&self) -> bool {
        let is_deciding = |way: &Rc<HostDatagrams>| matches!(&*way.state.borrow(), State::Deciding(waiting) if waiting.is_empty());
        self.outward.borrow().values().any(is_deciding)
    }

    /// Sends a datagram on a way that [`open_passage`](Self::open_passage) has found.
    pub(super) fn send_outside(&self, to: SocketAddr, data: Vec<u8>) -> SysResult<()> {
        let way = self.outward.borrow().get(&to).cloned().ok_or(Errno::ENETUNREACH)?;
        match way.send(data) {
            // The last one was not taken, which only those hear who are connected.
            Err(Errno::ECONNREFUSED) if self.identity.remote.get() != Some(to) => Ok(()),
            // The network may drop it, and so may we.
            Err(Errno::EAGAIN) => Ok(()),
            result => result,
        }
    }

    fn accept_from(&self, from: SocketAddr, data: Vec<u8>) {
        if let Some(local) = self.identity.local.get() {
            let (to, time, marks) = (local.ip(), real_time(), Marks::default());
            self.accept_datagram(Datagram { data, from, to, time, marks });
        }
    }
}

impl HostDatagrams {
    fn decided(self: &Rc<Self>, result: SysResult<Passage>) {
        let opened = result.and_then(|Passage { socket: host, meter }| {
            let events = self.network.host_events().ok_or(Errno::ENETUNREACH)?;
            let queue = WaitQueue::new();
            let watch = events.watch(host.as_fd(), queue.clone())?;
            let observer: Weak<Self> = Rc::downgrade(self);
            let registration = queue.observe(PollEvents::all(), observer);
            Ok(Open { _watch: (watch, registration), host, meter })
        });
        let new = opened.map_or_else(State::Refused, State::Open);
        let is_open = matches!(new, State::Open(_));
        let old = self.state.replace(new);
        if let State::Deciding(waiting) = old
            && is_open
        {
            for data in waiting {
                // A question that is lost is asked again.
                let _ = self.send(data);
            }
        }
        if let Some(owner) = self.owner.upgrade() {
            owner.common.queue.wake(PollEvents::WRITABLE);
        }
    }

    fn send(&self, data: Vec<u8>) -> SysResult<()> {
        match &mut *self.state.borrow_mut() {
            State::Open(open) => {
                let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
                open.meter.count_sent(send(&open.host, &data, flags).map_err(errno_of)?);
                Ok(())
            }
            State::Deciding(waiting) => {
                if waiting.len() < MAX_WAITING {
                    waiting.push(data);
                }
                Ok(())
            }
            State::Refused(errno) => Err(*errno),
        }
    }

    fn receive(&self) {
        let Some(owner) = self.owner.upgrade() else { return };
        let mut buffer = vec![0; MAX_DATAGRAM];
        for _ in 0..BATCH {
            let received = match &*self.state.borrow() {
                State::Open(open) => recv(&open.host, buffer.as_mut_slice(), RecvFlags::DONTWAIT)
                    .inspect(|(n, _)| open.meter.count_received(*n)),
                State::Deciding(_) | State::Refused(_) => return,
            };
            match received {
                Ok((n, _)) => {
                    let data = buffer.get(..n).unwrap_or_default().to_vec();
                    owner.accept_from(self.to, data);
                }
                Err(error) => {
                    let errno = errno_of(error);
                    if errno != Errno::EAGAIN && owner.identity.remote.get() == Some(self.to) {
                        owner.common.set_error(errno);
                    }
                    return;
                }
            }
        }
        // There may be more. The host tells of changes only, so look again later.
        let (network, owner) = (&self.network, Rc::downgrade(&owner));
        let to = self.to;
        network.timers.at(timers::now(), move || {
            let way = owner.upgrade().and_then(|owner| owner.outward.borrow().get(&to).cloned());
            if let Some(way) = way {
                way.receive();
            }
        });
    }
}

impl Observer for HostDatagrams {
    fn notify(&self, _events: PollEvents) {
        self.receive();
    }
}
