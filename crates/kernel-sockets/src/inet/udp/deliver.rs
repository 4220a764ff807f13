//! The way of a datagram.

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use kernel_core::ledger::{Charge, Kind};
use kernel_core::timers::real_time;
use kernel_core::wait::PollEvents;
use linux_abi::sockets::inet::{ip, ipv6};
use linux_abi::sockets::{MessageFlags, sol};
use linux_abi::{Errno, SysResult};

use super::marks::Marks;
use super::{Datagram, Failure, MAX_DATAGRAM, MAX_ERRORS, OVERHEAD, UdpSocket};
use crate::Outgoing;
use crate::common::Shutdown;
use crate::counts::Datagrams;
use crate::inet::interfaces;
use crate::options::Switches;

/// The port of name servers.
const NAME_PORT: u16 = 53;

impl UdpSocket {
    pub(super) fn stays_inside(&self, ip: IpAddr) -> bool {
        let interfaces = &self.common.network.interfaces;
        interfaces.is_local(ip) || ip.is_multicast() || interfaces.is_broadcast(ip)
    }

    /// Whether a datagram to a loopback address where nobody listens is meant for the host.
    fn leads_to_host(&self, to: SocketAddr) -> bool {
        let network = &self.common.network;
        to.ip().is_loopback()
            && network.egress().is_some_and(|egress| egress.leads_to_host(to))
            && network.udp_ports.find_all(to.ip(), to.port()).is_empty()
    }

    pub(super) fn check_broadcast(&self, ip: IpAddr) -> SysResult<()> {
        if self.common.network.interfaces.is_broadcast(ip)
            && !self.common.options.is_on(Switches::BROADCAST)
        {
            return Err(Errno::EACCES);
        }
        Ok(())
    }

    pub(super) fn send_datagram(&self, message: &mut Outgoing<'_>) -> SysResult<usize> {
        let len = message.source.remaining();
        if len > MAX_DATAGRAM {
            return Err(Errno::EMSGSIZE);
        }
        if message.flags.contains(MessageFlags::OOB) {
            return Err(Errno::EOPNOTSUPP);
        }
        let remote = match message.name {
            Some(name) => self.identity.parse_remote(&self.common, name)?,
            None => self.identity.remote.get().ok_or(Errno::EDESTADDRREQ)?,
        };
        if remote.port() == 0 {
            return Err(Errno::EINVAL);
        }
        let remote = SocketAddr::new(interfaces::destination(remote.ip()), remote.port());
        self.common.take_error()?;
        if self.common.shutdown().contains(Shutdown::SEND) {
            return Err(Errno::EPIPE);
        }
        let marks = self.marks_to(remote.ip(), &message.control.others)?;
        self.check_broadcast(remote.ip())?;
        self.autobind(message.caller)?;
        let stays_inside = self.stays_inside(remote.ip()) && !self.leads_to_host(remote);
        if !stays_inside {
            if self.is_lite() {
                return Err(Errno::ENETUNREACH);
            }
            // Before the data is taken, because what was taken cannot be given back.
            self.open_passage(remote)?;
        }
        let mut data = vec![0; len];
        if len > 0 && message.source.take(&mut data)? < len {
            return Err(Errno::EFAULT);
        }
        if stays_inside {
            self.send_inside(remote, data, marks);
        } else {
            self.send_outside(remote, data)?;
        }
        self.counts().sent.add();
        Ok(len)
    }

    fn counts(&self) -> &Datagrams {
        let counts = &self.common.network.counts;
        if self.is_lite() { &counts.udplite } else { &counts.udp }
    }

    fn send_inside(&self, remote: SocketAddr, data: Vec<u8>, marks: Marks) {
        let port = self.identity.local.get().map_or(0, |local| local.port());
        let own = self.identity.local.get().map(|local| local.ip());
        let source = own.filter(|ip| !ip.is_unspecified() && !ip.is_multicast());
        let source = source.unwrap_or_else(|| interfaces::source_for(remote.ip()));
        let from = SocketAddr::new(source, port);
        let network = &self.common.network;
        if remote.ip().is_multicast() || network.interfaces.is_broadcast(remote.ip()) {
            self.send_to_many(from, remote, &data, marks);
            return;
        }
        match find_receiver(self.ports().find_all(remote.ip(), remote.port()), from) {
            Some(receiver) => {
                receiver.accept_datagram(Datagram {
                    data,
                    from,
                    to: remote.ip(),
                    time: real_time(),
                    marks,
                });
            }
            None => {
                self.counts().unclaimed.add();
                self.note_failure(remote, data);
            }
        }
    }

    fn send_to_many(&self, from: SocketAddr, remote: SocketAddr, data: &[u8], marks: Marks) {
        let is_group = remote.ip().is_multicast();
        let (level, name) = if remote.is_ipv4() {
            (sol::IP, ip::MULTICAST_LOOP)
        } else {
            (sol::IPV6, ipv6::MULTICAST_LOOP)
        };
        if is_group && self.identity.options.number(level, name) == 0 {
            return;
        }
        for receiver in self.ports().receivers(remote.port()) {
            let bound = receiver.identity.local.get().map(|local| local.ip());
            let is_bound_there = bound.is_some_and(|ip| {
                ip == remote.ip() || (ip.is_unspecified() && (ip.is_ipv6() || remote.is_ipv4()))
            });
            let is_member = !is_group || receiver.groups.borrow().contains(&remote.ip());
            if is_bound_there && is_member && receiver.hears(from) {
                let data = data.to_vec();
                receiver.accept_datagram(Datagram {
                    data,
                    from,
                    to: remote.ip(),
                    time: real_time(),
                    marks,
                });
            }
        }
    }

    /// Whether this socket is connected to nobody else.
    fn hears(&self, from: SocketAddr) -> bool {
        self.identity.remote.get().is_none_or(|remote| remote == from)
    }

    /// Puts a datagram into the queue, or drops it if that is full.
    pub(super) fn accept_datagram(&self, datagram: Datagram) {
        {
            let mut inbox = self.inbox.borrow_mut();
            let charge = datagram.data.len() + OVERHEAD;
            let total = inbox.n_charged + charge;
            let is_full = total > self.common.options.receive_buffer.get();
            // As on Linux, what there is no memory for is lost on its way.
            if is_full
                || inbox.datagrams.try_reserve(1).is_err()
                || inbox.memory.resize(total as u64).is_err()
            {
                return self.counts().dropped.add();
            }
            self.counts().received.add();
            inbox.n_charged += charge;
            inbox.datagrams.push_back(datagram);
        }
        self.common.queue.wake(PollEvents::READABLE);
    }

    /// Nobody receives at `remote`. A network would say so by ICMP, which those hear who are
    /// connected or have asked for errors.
    fn note_failure(&self, remote: SocketAddr, data: Vec<u8>) {
        let (level, name) =
            if remote.is_ipv4() { (sol::IP, ip::RECVERR) } else { (sol::IPV6, ipv6::RECVERR) };
        let wants_errors = self.identity.options.is_on(level, name);
        if remote.port() == NAME_PORT && self.common.network.egress().is_none() {
            self.common.network.blocked.note_question(&data);
        }
        let errno = Errno::ECONNREFUSED;
        if wants_errors {
            let mut failures = self.failures.borrow_mut();
            let memory = Charge::new(Kind::Sockets, (data.len() + OVERHEAD) as u64);
            if failures.len() < MAX_ERRORS
                && let Ok(memory) = memory
            {
                failures.push_back(Failure { errno, data, to: remote, _memory: memory });
            }
        }
        if wants_errors || self.identity.remote.get() == Some(remote) {
            self.common.set_error(errno);
        }
    }
}

/// Of those who are bound to a destination, who gets a datagram: one that is connected to the
/// sender before one that is not, and an exact address before any.
fn find_receiver(bound: Vec<(u32, Rc<UdpSocket>)>, from: SocketAddr) -> Option<Rc<UdpSocket>> {
    let score = |(score, socket): &(u32, Rc<UdpSocket>)| {
        score + if socket.identity.remote.get() == Some(from) { 4 } else { 0 }
    };
    let hearing = bound.into_iter().filter(|(_, socket)| socket.hears(from));
    hearing.max_by_key(score).map(|(_, socket)| socket)
}
