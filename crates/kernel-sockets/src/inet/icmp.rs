//! Echo requests (`ping`) to ourselves: `SOCK_DGRAM` sockets of `IPPROTO_ICMP`. See icmp(7).

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;

use kernel_core::ledger::{self, Charge, Kind};
use kernel_core::wait::PollEvents;
use kernel_files::Ioctl;
use linux_abi::sockets::inet::ipproto;
use linux_abi::sockets::{MessageFlags, af, sock, sol};
use linux_abi::{Errno, SysResult};

use super::{Identity, address, interfaces, requests};
use crate::common::Shutdown;
use crate::socket::Patience;
use crate::{Caller, Common, Incoming, Network, Outgoing, RawName, Received, SocketOps, options};

/// The longest message.
const MAX_MESSAGE: usize = 65_507;

/// How many answers wait.
const MAX_ANSWERS: usize = 64;

/// The types of a request and its answer, for IPv4 and IPv6.
const REQUEST_V4: u8 = 8;
const ANSWER_V4: u8 = 0;
const REQUEST_V6: u8 = 128;
const ANSWER_V6: u8 = 129;

/// A socket that sends echo requests.
pub struct IcmpSocket {
    common: Common,
    identity: Identity,
    answers: RefCell<VecDeque<(Vec<u8>, SocketAddr, Charge)>>,
}

impl IcmpSocket {
    /// A new socket of `AF_INET` or `AF_INET6`.
    pub fn new(network: &Rc<Network>, domain: u16) -> Rc<Self> {
        let protocol = if domain == af::INET { ipproto::ICMP } else { ipproto::ICMPV6 };
        let protocol = u16::try_from(protocol).unwrap_or(0);
        Rc::new(Self {
            common: Common::new(network, domain, sock::DGRAM, protocol),
            identity: Identity::default(),
            answers: RefCell::default(),
        })
    }

    /// The identifier that the kernel gives to requests of this socket.
    fn identifier(&self) -> u16 {
        let bound = self.identity.local.get().map_or(0, |local| local.port());
        if bound != 0 { bound } else { u16::try_from(self.common.inode & 0xffff).unwrap_or(1) }
    }
}

/// The Internet checksum, with the field for it zero.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| match *pair {
        [high, low] => u32::from(u16::from_be_bytes([high, low])),
        [high] => u32::from(u16::from_be_bytes([high, 0])),
        _ => 0,
    });
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(0)
}

impl SocketOps for IcmpSocket {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn common(&self) -> &Common {
        &self.common
    }

    fn bind(&self, _caller: &dyn Caller, name: &[u8]) -> SysResult<()> {
        let local = self.identity.parse_local(&self.common, name)?;
        if !self.common.network.interfaces.is_local(local.ip()) {
            return Err(Errno::EADDRNOTAVAIL);
        }
        self.identity.local.set(Some(local));
        self.identity.local.set(Some(SocketAddr::new(local.ip(), self.identifier())));
        Ok(())
    }

    fn connect(&self, _caller: &dyn Caller, name: &[u8], _patience: Patience) -> SysResult<()> {
        if address::family(name)? == af::UNSPEC {
            self.identity.remote.set(None);
            return Ok(());
        }
        self.identity.remote.set(Some(self.identity.parse_remote(&self.common, name)?));
        Ok(())
    }

    fn local_name(&self) -> SysResult<RawName> {
        Ok(self.identity.local_name(self.common.domain))
    }

    fn peer_name(&self) -> SysResult<RawName> {
        self.identity.peer_name(self.common.domain)
    }

    fn send(&self, message: &mut Outgoing<'_>) -> SysResult<usize> {
        let len = message.source.remaining();
        if len > MAX_MESSAGE {
            return Err(Errno::EMSGSIZE);
        }
        let mut bytes = vec![0; len];
        if len > 0 && message.source.take(&mut bytes)? < len {
            return Err(Errno::EFAULT);
        }
        let is_v4 = self.common.domain == af::INET;
        let (request, answer) =
            if is_v4 { (REQUEST_V4, ANSWER_V4) } else { (REQUEST_V6, ANSWER_V6) };
        let header = bytes.first_chunk_mut::<8>().ok_or(Errno::EINVAL)?;
        if header[0] != request || header[1] != 0 {
            return Err(Errno::EINVAL);
        }
        let remote = match message.name {
            Some(name) => self.identity.parse_remote(&self.common, name)?,
            None => self.identity.remote.get().ok_or(Errno::EDESTADDRREQ)?,
        };
        let to = interfaces::destination(remote.ip());
        if !self.common.network.interfaces.is_local(to) {
            return Err(Errno::ENETUNREACH);
        }
        header[0] = answer;
        [header[2], header[3]] = [0, 0];
        [header[4], header[5]] = self.identifier().to_be_bytes();
        let [high, low] = checksum(&bytes).to_be_bytes();
        if let Some(place) = bytes.get_mut(2..4) {
            place.copy_from_slice(&[high, low]);
        }
        let charge = Charge::new(Kind::Sockets, bytes.len() as u64 + ledger::ALLOCATION);
        let mut answers = self.answers.borrow_mut();
        // What there is no room for is lost on its way.
        if answers.len() < MAX_ANSWERS
            && let Ok(charge) = charge
        {
            answers.push_back((bytes, SocketAddr::new(to, 0), charge));
        }
        drop(answers);
        self.common.queue.wake(PollEvents::READABLE);
        Ok(len)
    }

    fn receive(&self, wanted: &mut Incoming<'_>) -> SysResult<Received> {
        if wanted.flags.intersects(MessageFlags::ERRQUEUE | MessageFlags::OOB) {
            return Err(Errno::EAGAIN);
        }
        let peeks = wanted.flags.contains(MessageFlags::PEEK);
        let mut answers = self.answers.borrow_mut();
        let answer = if peeks {
            answers.front().map(|(bytes, from, _)| (bytes.clone(), *from))
        } else {
            answers.pop_front().map(|(bytes, from, _)| (bytes, from))
        };
        let (bytes, from) = answer.ok_or(Errno::EAGAIN)?;
        let n_bytes = wanted.sink.put(&bytes)?;
        let mut flags = MessageFlags::empty();
        flags.set(MessageFlags::TRUNC, n_bytes < bytes.len());
        let name = Some(address::encode(self.common.domain, from));
        Ok(Received { n_bytes, flags, name, control: Vec::new() })
    }

    fn shutdown(&self, how: Shutdown) -> SysResult<()> {
        self.common.add_shutdown(how);
        Ok(())
    }

    fn poll(&self) -> PollEvents {
        let mut ready = PollEvents::WRITABLE | PollEvents::WRBAND;
        if !self.answers.borrow().is_empty() {
            ready |= PollEvents::READABLE;
        }
        ready
    }

    fn get_option(&self, level: i32, name: i32) -> SysResult<Vec<u8>> {
        match level {
            sol::SOCKET => options::get(&self.common, name),
            _ => requests::get_option(&self.common, &self.identity, level, name),
        }
    }

    fn set_option(
        &self,
        caller: &dyn Caller,
        level: i32,
        name: i32,
        value: &[u8],
    ) -> SysResult<()> {
        match level {
            sol::SOCKET => options::set(&self.common, caller, name, value),
            // A filter of ICMPv6 types, which has nothing to filter here.
            sol::ICMPV6 | sol::RAW => Ok(()),
            _ => requests::set_option(&self.common, &self.identity, caller, level, name, value),
        }
    }

    fn ioctl(&self, ioctl: &Ioctl<'_>) -> SysResult<u64> {
        requests::ioctl(&self.common, ioctl)
    }

    fn release(&self) {
        self.common.queue.wake(PollEvents::HUP);
    }

    fn is_stream(&self) -> bool {
        false
    }
}
