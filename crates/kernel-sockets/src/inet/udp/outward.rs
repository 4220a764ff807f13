//! Datagrams that leave the sandbox.
//!
//! Each destination that is allowed has a host socket of its own, connected to it, so that only
//! answers from there come in. Queries to a name server are answered by the egress itself.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::{Rc, Weak};

use host_sys::rustix::net::{RecvFlags, SendFlags, recv, send};
use kernel_core::host_events::Watch;
use kernel_core::supervisor::Transport;
use kernel_core::timers::real_time;
use kernel_core::wait::{Observer, PollEvents, Registration, WaitQueue};
use linux_abi::{Errno, SysResult};

use super::{Datagram, MAX_DATAGRAM, UdpSocket};
use crate::Network;
use crate::egress::{Flow, Reply};

/// The most destinations outside that one socket talks to at a time.
const MAX_DESTINATIONS: usize = 64;

/// How many datagrams are taken from the host at a time.
const BATCH: usize = 64;

/// How many datagrams wait until the egress has decided.
const MAX_WAITING: usize = 16;

/// A host socket that is connected to one destination.
pub(super) struct HostDatagrams {
    network: Rc<Network>,
    owner: Weak<UdpSocket>,
    to: SocketAddr,
    /// `None` until the egress has decided.
    host: RefCell<Option<(Watch, Registration, OwnedFd)>>,
    waiting: RefCell<Vec<Vec<u8>>>,
    n_sent: Cell<u64>,
    n_received: Cell<u64>,
}

impl UdpSocket {
    pub(super) fn send_outside(&self, to: SocketAddr, data: Vec<u8>) -> SysResult<()> {
        let egress = self.common.network.egress_for(Transport::Udp, to)?;
        if egress.is_name_server(to) {
            let me = Weak::clone(&self.me);
            let reply: Reply<Vec<u8>> = Box::new(move |answer| {
                if let (Some(socket), Ok(data)) = (me.upgrade(), answer) {
                    socket.accept_from(to, data);
                }
            });
            egress.resolve(data, reply);
            return Ok(());
        }
        let known = self.outward.borrow().get(&to).cloned();
        if let Some(known) = known {
            known.send(data);
            return Ok(());
        }
        if self.outward.borrow().len() >= MAX_DESTINATIONS {
            return Err(Errno::ENOBUFS);
        }
        let new = Rc::new(HostDatagrams {
            network: Rc::clone(&self.common.network),
            owner: Weak::clone(&self.me),
            to,
            host: RefCell::default(),
            waiting: RefCell::new(vec![data]),
            n_sent: Cell::new(0),
            n_received: Cell::new(0),
        });
        self.outward.borrow_mut().insert(to, Rc::clone(&new));
        let weak = Rc::downgrade(&new);
        let reply: Reply<OwnedFd> = Box::new(move |result| {
            if let Some(new) = weak.upgrade() {
                new.decided(result);
            }
        });
        egress.connect(Flow::udp(to), reply);
        // An answer that came at once is told at once.
        if self.common.has_error() { self.common.take_error() } else { Ok(()) }
    }

    fn accept_from(&self, from: SocketAddr, data: Vec<u8>) {
        if let Some(local) = self.identity.local.get() {
            self.accept_datagram(Datagram { data, from, to: local.ip(), time: real_time() });
        }
    }
}

impl HostDatagrams {
    fn decided(self: &Rc<Self>, result: SysResult<OwnedFd>) {
        let started = result.and_then(|host| {
            let events = self.network.host_events().ok_or(Errno::ENETUNREACH)?;
            let queue = WaitQueue::new();
            let watch = events.watch(host.as_fd(), queue.clone())?;
            let observer: Weak<Self> = Rc::downgrade(self);
            let registration = queue.observe(PollEvents::all(), observer);
            *self.host.borrow_mut() = Some((watch, registration, host));
            Ok(())
        });
        match started {
            Ok(()) => {
                let waiting = self.waiting.take();
                waiting.into_iter().for_each(|data| self.send(data));
            }
            Err(errno) => {
                if let Some(owner) = self.owner.upgrade() {
                    owner.outward.borrow_mut().remove(&self.to);
                    owner.common.set_error(errno);
                }
            }
        }
    }

    /// Sends a datagram; the network may drop it, and so may we.
    fn send(&self, data: Vec<u8>) {
        match &*self.host.borrow() {
            Some((_, _, host)) => {
                if send(host, &data, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).is_ok() {
                    self.n_sent.set(self.n_sent.get() + data.len() as u64);
                }
            }
            None => {
                let mut waiting = self.waiting.borrow_mut();
                if waiting.len() < MAX_WAITING {
                    waiting.push(data);
                }
            }
        }
    }

    fn receive(&self) {
        let Some(owner) = self.owner.upgrade() else { return };
        let mut buffer = vec![0; MAX_DATAGRAM];
        for _ in 0..BATCH {
            let received = match &*self.host.borrow() {
                Some((_, _, host)) => recv(host, buffer.as_mut_slice(), RecvFlags::DONTWAIT),
                None => return,
            };
            match received {
                Ok((n, _)) => {
                    self.n_received.set(self.n_received.get() + n as u64);
                    let data = buffer.get(..n).unwrap_or_default().to_vec();
                    owner.accept_from(self.to, data);
                }
                Err(error) => {
                    let errno = host_sys::errno_of(error);
                    if errno != Errno::EAGAIN && owner.identity.remote.get() == Some(self.to) {
                        owner.common.set_error(errno);
                    }
                    return;
                }
            }
        }
    }
}

impl Observer for HostDatagrams {
    fn notify(&self, _events: PollEvents) {
        self.receive();
    }
}

impl Drop for HostDatagrams {
    fn drop(&mut self) {
        if let Some(egress) = self.network.egress()
            && self.host.borrow().is_some()
        {
            egress.ended(Flow::udp(self.to), self.n_sent.get(), self.n_received.get());
        }
    }
}
