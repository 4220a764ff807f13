//! New sockets.

use std::rc::Rc;

use kernel_core::credentials::cap;
use linux_abi::sockets::inet::ipproto;
use linux_abi::sockets::{af, sock};
use linux_abi::{Errno, SysResult};

use crate::common::check_room;
use crate::inet::{IcmpSocket, TcpSocket, UdpSocket};
use crate::netlink::NetlinkSocket;
use crate::unix::{self, UnixSocket};
use crate::{Caller, Network, SocketOps};

/// The checks that come before any family is asked.
fn check(family: i32, kind: u32) -> SysResult<u16> {
    let family = u16::try_from(family).map_err(|_| Errno::EAFNOSUPPORT)?;
    if family >= af::MAX {
        return Err(Errno::EAFNOSUPPORT);
    }
    if kind >= sock::MAX {
        return Err(Errno::EINVAL);
    }
    Ok(family)
}

fn check_unix_protocol(protocol: i32) -> SysResult<()> {
    if protocol == 0 || protocol == i32::from(af::UNIX) {
        Ok(())
    } else {
        Err(Errno::EPROTONOSUPPORT)
    }
}

/// A socket of a family.
pub fn create(
    network: &Rc<Network>,
    caller: &dyn Caller,
    family: i32,
    kind: u32,
    protocol: i32,
) -> SysResult<Rc<dyn SocketOps>> {
    let socket = create_any(network, caller, family, kind, protocol)?;
    set_owner(&*socket, caller);
    Ok(socket)
}

fn set_owner(socket: &dyn SocketOps, caller: &dyn Caller) {
    let credentials = caller.credentials();
    socket.common().owner.set((credentials.fsuid, credentials.fsgid));
    *socket.common().landlock.borrow_mut() = credentials.landlock.clone();
}

fn create_any(
    network: &Rc<Network>,
    caller: &dyn Caller,
    family: i32,
    kind: u32,
    protocol: i32,
) -> SysResult<Rc<dyn SocketOps>> {
    let family = check(family, kind)?;
    check_room(1)?;
    match family {
        af::UNIX => {
            check_unix_protocol(protocol)?;
            Ok(UnixSocket::new(network, kind)?)
        }
        family @ (af::INET | af::INET6) => create_inet(network, family, kind, protocol),
        af::NETLINK => Ok(NetlinkSocket::new(network, kind, protocol)?),
        af::PACKET if !caller.credentials().has(cap::NET_RAW) => Err(Errno::EPERM),
        _ => Err(Errno::EAFNOSUPPORT),
    }
}

fn create_inet(
    network: &Rc<Network>,
    family: u16,
    kind: u32,
    protocol: i32,
) -> SysResult<Rc<dyn SocketOps>> {
    if !(0..ipproto::MAX).contains(&protocol) {
        return Err(Errno::EINVAL);
    }
    if !network.has_internet() {
        return Err(Errno::EAFNOSUPPORT);
    }
    let ping = if family == af::INET { ipproto::ICMP } else { ipproto::ICMPV6 };
    match (kind, protocol) {
        (sock::STREAM, 0 | ipproto::TCP) => Ok(TcpSocket::new(network, family)),
        (sock::DGRAM, 0 | ipproto::UDP) => Ok(UdpSocket::new(network, family)),
        (sock::DGRAM, ipproto::UDPLITE) => Ok(UdpSocket::new_lite(network, family)),
        (sock::DGRAM, protocol) if protocol == ping => Ok(IcmpSocket::new(network, family)),
        (sock::STREAM | sock::DGRAM, _) => Err(Errno::EPROTONOSUPPORT),
        (sock::RAW, 0) => Err(Errno::EPROTONOSUPPORT),
        // Nobody has the right, not even root: there are no packets here to look at.
        (sock::RAW, _) => Err(Errno::EPERM),
        _ => Err(Errno::ESOCKTNOSUPPORT),
    }
}

/// Two sockets.
pub type Pair = (Rc<dyn SocketOps>, Rc<dyn SocketOps>);

/// Two sockets that are connected to each other.
pub fn create_pair(
    network: &Rc<Network>,
    caller: &dyn Caller,
    family: i32,
    kind: u32,
    protocol: i32,
) -> SysResult<Pair> {
    match check(family, kind)? {
        af::UNIX => {
            check_unix_protocol(protocol)?;
            check_room(2)?;
            let (first, second) = unix::pair(network, caller, kind)?;
            set_owner(&*first, caller);
            set_owner(&*second, caller);
            Ok((first, second))
        }
        // Linux makes the sockets first, and only then finds that they cannot be a pair.
        _ => {
            create(network, caller, family, kind, protocol)?.release();
            Err(Errno::EOPNOTSUPP)
        }
    }
}
