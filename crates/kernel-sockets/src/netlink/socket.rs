//! A netlink socket.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{HashSet, VecDeque};
use std::rc::{Rc, Weak};

use kernel_core::ledger::{self, Charge, Kind};
use kernel_core::memory::UserPtr;
use kernel_core::wait::PollEvents;
use kernel_files::Ioctl;
use linux_abi::sockets::netlink::{nlm_f, nlmsg, protocol};
use linux_abi::sockets::{MessageFlags, Ucred, af, sioc, sock, sol};
use linux_abi::{Errno, SysResult};

use super::builder::{acknowledge, done, requests};
use super::route;
use crate::common::Shutdown;
use crate::options::{self, Switches, int_bytes};
use crate::socket::Patience;
use crate::{Caller, Common, Control, Incoming, Network, Outgoing, RawName, Received, SocketOps};

/// The longest request.
const MAX_REQUEST: usize = 64 << 10;

/// How many answers may wait to be read.
const MAX_ANSWERS: usize = 256;

/// The length of `struct sockaddr_nl`.
const NAME: usize = 12;

/// The port numbers that are taken, by protocol.
#[derive(Default)]
pub struct NetlinkPorts {
    taken: RefCell<HashSet<(u16, u32)>>,
    next: Cell<u32>,
}

impl NetlinkPorts {
    fn take(&self, protocol: u16, port: u32) -> SysResult<u32> {
        if self.taken.borrow_mut().insert((protocol, port)) {
            Ok(port)
        } else {
            Err(Errno::EADDRINUSE)
        }
    }

    /// The number `wanted` if it is free, else another.
    fn choose(&self, protocol: u16, wanted: u32) -> SysResult<u32> {
        self.take(protocol, wanted).or_else(|_| {
            // Such numbers look negative, as those of Linux do.
            let next = self.next.get().wrapping_add(1);
            self.next.set(next);
            self.take(protocol, 0xf000_0000 | (next & 0x0fff_ffff))
        })
    }
}

/// A netlink socket.
pub struct NetlinkSocket {
    common: Common,
    port: Cell<Option<u32>>,
    groups: Cell<u32>,
    /// Where it is connected to, if it is: a port and groups.
    remote: Cell<Option<(u32, u32)>>,
    answers: RefCell<VecDeque<(Vec<u8>, Charge)>>,
    place: Cell<usize>,
}

impl NetlinkSocket {
    /// A new socket. `EPROTONOSUPPORT` for protocols that nobody answers.
    pub fn new(network: &Rc<Network>, kind: u32, protocol: i32) -> SysResult<Rc<Self>> {
        if !matches!(kind, sock::RAW | sock::DGRAM) {
            return Err(Errno::ESOCKTNOSUPPORT);
        }
        if !matches!(protocol, protocol::ROUTE | protocol::SOCK_DIAG | protocol::KOBJECT_UEVENT) {
            return Err(Errno::EPROTONOSUPPORT);
        }
        let protocol = u16::try_from(protocol).map_err(|_| Errno::EPROTONOSUPPORT)?;
        let socket = Rc::new(Self {
            common: Common::new(network, af::NETLINK, kind, protocol),
            port: Cell::new(None),
            groups: Cell::new(0),
            remote: Cell::new(None),
            answers: RefCell::default(),
            place: Cell::new(0),
        });
        let weak: Weak<Self> = Rc::downgrade(&socket);
        socket.place.set(network.enlist(weak));
        Ok(socket)
    }

    /// Protocol, port and groups, for `/proc/net/netlink`.
    pub fn shown(&self) -> (u16, u32, u32) {
        (self.common.protocol, self.port.get().unwrap_or(0), self.groups.get())
    }

    fn autobind(&self, caller: Option<&dyn Caller>) -> SysResult<u32> {
        if let Some(port) = self.port.get() {
            return Ok(port);
        }
        let wanted = caller.map_or(0, Caller::pid);
        let port = self.common.network.netlink_ports.choose(self.common.protocol, wanted)?;
        self.port.set(Some(port));
        Ok(port)
    }

    fn push(&self, answer: Vec<u8>) {
        if answer.is_empty() {
            return;
        }
        let charge = Charge::new(Kind::Sockets, answer.len() as u64 + ledger::ALLOCATION);
        let mut answers = self.answers.borrow_mut();
        match charge {
            Ok(charge) if answers.len() < MAX_ANSWERS => answers.push_back((answer, charge)),
            _ => {
                drop(answers);
                self.common.set_error(Errno::ENOBUFS);
            }
        }
    }

    /// Gives the owner a message from the kernel that was not asked for here.
    pub fn tell(&self, message: Vec<u8>) {
        self.push(message);
        self.common.queue.wake(PollEvents::READABLE);
    }

    fn handle(&self, bytes: &[u8], port: u32) {
        for (header, whole, payload) in requests(bytes) {
            if header.flags & nlm_f::REQUEST == 0 || header.kind < nlmsg::MIN_TYPE {
                if header.flags & nlm_f::ACK != 0 {
                    self.push(acknowledge(header, whole, port, Ok(())));
                }
                continue;
            }
            let wants_list = header.flags & nlm_f::DUMP != 0;
            let answer = match i32::from(self.common.protocol) {
                protocol::ROUTE => route::answer(&self.common.network, header, payload, port),
                // As in a Linux without the modules that know: programs then read /proc/net.
                _ => Err(Errno::ENOENT),
            };
            match answer {
                Ok(answer) => {
                    self.push(answer);
                    if wants_list {
                        self.push(done(header, port));
                    } else if header.flags & nlm_f::ACK != 0 {
                        self.push(acknowledge(header, whole, port, Ok(())));
                    }
                }
                Err(errno) => self.push(acknowledge(header, whole, port, Err(errno))),
            }
        }
        self.common.queue.wake(PollEvents::READABLE);
    }
}

/// Reads a `struct sockaddr_nl`: port and groups.
fn parse(name: &[u8]) -> SysResult<(u32, u32)> {
    let name: &[u8; NAME] = name.first_chunk().ok_or(Errno::EINVAL)?;
    let [f0, f1, _, _, p0, p1, p2, p3, g0, g1, g2, g3] = *name;
    if u16::from_ne_bytes([f0, f1]) != af::NETLINK {
        return Err(Errno::EINVAL);
    }
    Ok((u32::from_ne_bytes([p0, p1, p2, p3]), u32::from_ne_bytes([g0, g1, g2, g3])))
}

fn encode(port: u32, groups: u32) -> RawName {
    let mut raw = RawName::new();
    raw.extend_from_slice(&af::NETLINK.to_ne_bytes());
    raw.extend_from_slice(&[0; 2]);
    raw.extend_from_slice(&port.to_ne_bytes());
    raw.extend_from_slice(&groups.to_ne_bytes());
    raw
}

impl SocketOps for NetlinkSocket {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn common(&self) -> &Common {
        &self.common
    }

    fn bind(&self, caller: &dyn Caller, name: &[u8]) -> SysResult<()> {
        let (port, groups) = parse(name)?;
        match (self.port.get(), port) {
            (Some(own), port) if port != 0 && port != own => return Err(Errno::EINVAL),
            (Some(_), _) => {}
            (None, 0) => drop(self.autobind(Some(caller))?),
            (None, port) => {
                self.common.network.netlink_ports.take(self.common.protocol, port)?;
                self.port.set(Some(port));
            }
        }
        self.groups.set(groups);
        Ok(())
    }

    fn connect(&self, caller: &dyn Caller, name: &[u8], _patience: Patience) -> SysResult<()> {
        if name.first_chunk::<2>().map(|family| u16::from_ne_bytes(*family)) == Some(af::UNSPEC) {
            self.remote.set(None);
            return Ok(());
        }
        self.remote.set(Some(parse(name)?));
        self.autobind(Some(caller)).map(drop)
    }

    fn local_name(&self) -> SysResult<RawName> {
        Ok(encode(self.port.get().unwrap_or(0), self.groups.get()))
    }

    fn peer_name(&self) -> SysResult<RawName> {
        let (port, groups) = self.remote.get().unwrap_or((0, 0));
        Ok(encode(port, groups))
    }

    fn send(&self, message: &mut Outgoing<'_>) -> SysResult<usize> {
        if message.flags.contains(MessageFlags::OOB) {
            return Err(Errno::EOPNOTSUPP);
        }
        let (to, groups) = match message.name {
            Some(name) => parse(name)?,
            None => self.remote.get().unwrap_or((0, 0)),
        };
        let port = self.autobind(message.caller)?;
        let len = message.source.remaining();
        if len > MAX_REQUEST {
            return Err(Errno::EMSGSIZE);
        }
        let mut bytes = vec![0; len];
        if len > 0 && message.source.take(&mut bytes)? < len {
            return Err(Errno::EFAULT);
        }
        // Port 0 is the kernel. Guests do not talk to each other this way.
        if to != 0 || groups != 0 {
            return Err(if groups != 0 { Errno::EPERM } else { Errno::ECONNREFUSED });
        }
        if i32::from(self.common.protocol) != protocol::KOBJECT_UEVENT {
            self.handle(&bytes, port);
        }
        Ok(len)
    }

    fn receive(&self, wanted: &mut Incoming<'_>) -> SysResult<Received> {
        if wanted.flags.contains(MessageFlags::OOB) {
            return Err(Errno::EOPNOTSUPP);
        }
        let peeks = wanted.flags.contains(MessageFlags::PEEK);
        let front = {
            let mut answers = self.answers.borrow_mut();
            if peeks {
                answers.front().map(|(answer, _)| answer.clone())
            } else {
                answers.pop_front().map(|(answer, _)| answer)
            }
        };
        let Some(answer) = front else {
            self.common.take_error()?;
            return Err(Errno::EAGAIN);
        };
        let n = wanted.sink.put(&answer)?;
        let mut flags = MessageFlags::empty();
        flags.set(MessageFlags::TRUNC, n < answer.len());
        let mut control = Vec::new();
        if self.common.options.is_on(Switches::PASSCRED) {
            control.push(Control::Credentials(Ucred { pid: 0, uid: 0, gid: 0 }));
        }
        Ok(Received {
            n_bytes: if wanted.flags.contains(MessageFlags::TRUNC) { answer.len() } else { n },
            flags,
            name: Some(encode(0, 0)),
            control,
        })
    }

    fn shutdown(&self, _how: Shutdown) -> SysResult<()> {
        Err(Errno::EOPNOTSUPP)
    }

    fn poll(&self) -> PollEvents {
        let mut ready = PollEvents::WRITABLE | PollEvents::WRBAND;
        ready.set(PollEvents::ERR, self.common.has_error());
        if !self.answers.borrow().is_empty() {
            ready |= PollEvents::READABLE;
        }
        ready
    }

    fn get_option(&self, level: i32, name: i32) -> SysResult<Vec<u8>> {
        match level {
            sol::SOCKET => options::get(&self.common, name),
            sol::NETLINK => Ok(int_bytes(0)),
            _ => Err(Errno::ENOPROTOOPT),
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
            // Nothing that they change ever happens here: no group is ever told anything.
            sol::NETLINK if (1..=12).contains(&name) => Ok(()),
            _ => Err(Errno::ENOPROTOOPT),
        }
    }

    fn ioctl(&self, ioctl: &Ioctl<'_>) -> SysResult<u64> {
        match ioctl.command {
            sioc::SIOCINQ => {
                let len = self.answers.borrow().front().map_or(0, |(answer, _)| answer.len());
                let len = i32::try_from(len).unwrap_or(i32::MAX);
                UserPtr::new(ioctl.argument).write(ioctl.memory, &len)?;
                Ok(0)
            }
            _ => crate::inet::interface_request(&self.common, ioctl),
        }
    }

    fn release(&self) {
        self.common.network.delist(self.place.get());
        if let Some(port) = self.port.take() {
            self.common.network.netlink_ports.give_back(self.common.protocol, port);
        }
    }

    fn is_stream(&self) -> bool {
        false
    }
}

impl NetlinkPorts {
    fn give_back(&self, protocol: u16, port: u32) {
        self.taken.borrow_mut().remove(&(protocol, port));
    }
}
