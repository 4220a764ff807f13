//! Options, requests and control messages that are special to UDP.

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kernel_core::memory::UserPtr;
use kernel_files::Ioctl;
use linux_abi::sockets::inet::{ip, ipv6, udplite};
use linux_abi::sockets::{af, sioc, so, sol};
use linux_abi::time::{Timespec, Timeval};
use linux_abi::{Errno, SysResult};

use super::{Datagram, Failure, MAX_GROUPS, UdpSocket};
use crate::inet::{address, requests};
use crate::message::RawControl;
use crate::options::{self, Switches, bytes_of, int_bytes};
use crate::{Caller, Common, Control, SocketOps};

/// `SO_EE_ORIGIN_ICMP`, and the ICMP type and code of an unreachable port.
const ORIGIN_ICMP: u8 = 2;
const ORIGIN_ICMP6: u8 = 3;

/// Reads an option.
pub(super) fn get(socket: &UdpSocket, level: i32, name: i32) -> SysResult<Vec<u8>> {
    match (level, name) {
        (sol::SOCKET, so::PEERNAME) => socket.peer_name().map(|name| name.to_vec()),
        (sol::SOCKET, _) => options::get(&socket.common, name),
        (sol::UDPLITE, _) if socket.is_lite() => Ok(int_bytes(coverage(socket, name)?.get())),
        _ => requests::get_option(&socket.common, &socket.identity, level, name),
    }
}

/// Sets an option.
pub(super) fn set(
    socket: &UdpSocket,
    caller: &dyn Caller,
    level: i32,
    name: i32,
    value: &[u8],
) -> SysResult<()> {
    match (level, name) {
        (sol::SOCKET, so::REUSEADDR | so::REUSEPORT) => {
            options::set(&socket.common, caller, name, value)?;
            socket.identity.update_sharing(&socket.common, socket.ports(), caller);
            Ok(())
        }
        (sol::SOCKET, _) => options::set(&socket.common, caller, name, value),
        (sol::UDPLITE, _) if socket.is_lite() => {
            let wanted: i32 = options::read_value(value)?;
            // All, or at least the header, and no more than any datagram has.
            let covered = if wanted == 0 { 0 } else { wanted.clamp(8, 0xffff) };
            coverage(socket, name)?.set(covered);
            Ok(())
        }
        (sol::IP, ip::ADD_MEMBERSHIP) => {
            let group = v4_group(value)?;
            check_interface(&socket.common, value)?;
            join(socket, group)
        }
        (sol::IP, ip::DROP_MEMBERSHIP) => leave(socket, v4_group(value)?),
        (sol::IPV6, ipv6::JOIN_GROUP) => join(socket, v6_group(value)?),
        (sol::IPV6, ipv6::LEAVE_GROUP) => leave(socket, v6_group(value)?),
        (sol::IP | sol::IPV6, ip::MCAST_JOIN_GROUP) => join(socket, any_group(value)?),
        (sol::IP | sol::IPV6, ip::MCAST_LEAVE_GROUP) => leave(socket, any_group(value)?),
        _ => requests::set_option(&socket.common, &socket.identity, caller, level, name, value),
    }
}

/// What an option of UDP-Lite is about.
fn coverage(socket: &UdpSocket, name: i32) -> SysResult<&Cell<i32>> {
    let [send, receive] = &socket.coverage;
    match name {
        udplite::SEND_CSCOV => Ok(send),
        udplite::RECV_CSCOV => Ok(receive),
        _ => Err(Errno::ENOPROTOOPT),
    }
}

/// The group in a `struct ip_mreq` or `struct ip_mreqn`.
fn v4_group(value: &[u8]) -> SysResult<IpAddr> {
    let ip: [u8; 4] = *value.first_chunk().filter(|_| value.len() >= 8).ok_or(Errno::EINVAL)?;
    Ok(Ipv4Addr::from(ip).into())
}

/// Whether the interface in a `struct ip_mreq` or `struct ip_mreqn` is there.
fn check_interface(common: &Common, value: &[u8]) -> SysResult<()> {
    let part = |at: usize| value.get(at..at + 4).and_then(|it| <[u8; 4]>::try_from(it).ok());
    let address = part(4).map_or(Ipv4Addr::UNSPECIFIED, Ipv4Addr::from);
    let index = part(8).map_or(0, u32::from_ne_bytes);
    if requests::has_interface(common, address, index) { Ok(()) } else { Err(Errno::ENODEV) }
}

/// The group in a `struct ipv6_mreq`.
fn v6_group(value: &[u8]) -> SysResult<IpAddr> {
    let ip: [u8; 16] = *value.first_chunk().filter(|_| value.len() >= 20).ok_or(Errno::EINVAL)?;
    Ok(Ipv6Addr::from(ip).to_canonical())
}

/// The group in a `struct group_req`.
fn any_group(value: &[u8]) -> SysResult<IpAddr> {
    let name = value.get(8..).ok_or(Errno::EINVAL)?;
    address::parse(name).map(|address| address.ip())
}

fn join(socket: &UdpSocket, group: IpAddr) -> SysResult<()> {
    if !group.is_multicast() {
        return Err(Errno::EINVAL);
    }
    let mut groups = socket.groups.borrow_mut();
    if groups.contains(&group) {
        return Err(Errno::EADDRINUSE);
    }
    if groups.len() >= MAX_GROUPS {
        return Err(Errno::ENOBUFS);
    }
    groups.push(group);
    Ok(())
}

fn leave(socket: &UdpSocket, group: IpAddr) -> SysResult<()> {
    let mut groups = socket.groups.borrow_mut();
    let place = groups.iter().position(|&own| own == group).ok_or(Errno::EADDRNOTAVAIL)?;
    groups.remove(place);
    Ok(())
}

/// Answers an `ioctl`.
pub(super) fn ioctl(socket: &UdpSocket, ioctl: &Ioctl<'_>) -> SysResult<u64> {
    let number = match ioctl.command {
        sioc::SIOCINQ => socket.inbox.borrow().datagrams.front().map_or(0, |one| one.data.len()),
        sioc::SIOCOUTQ => 0,
        _ => return requests::ioctl(&socket.common, ioctl),
    };
    let number = i32::try_from(number).unwrap_or(i32::MAX);
    UserPtr::new(ioctl.argument).write(ioctl.memory, &number)?;
    Ok(0)
}

fn raw(level: i32, kind: i32, data: Vec<u8>) -> Control {
    Control::Raw(RawControl { level, kind, data })
}

/// What a receiver has asked to be told about each datagram.
pub(super) fn control_of(socket: &UdpSocket, datagram: &Datagram) -> Vec<Control> {
    let mut control = Vec::new();
    timestamps(&socket.common, datagram.time, &mut control);
    let options = &socket.identity.options;
    let interface = 1_u32.to_ne_bytes();
    if let IpAddr::V4(to) = datagram.to {
        if options.is_on(sol::IP, ip::PKTINFO) {
            let info = [&interface[..], &to.octets(), &to.octets()].concat();
            control.push(raw(sol::IP, ip::PKTINFO, info));
        }
        if options.is_on(sol::IP, ip::RECVTTL) {
            control.push(raw(sol::IP, ip::TTL, int_bytes(datagram.marks.hops.into())));
        }
        if options.is_on(sol::IP, ip::RECVTOS) {
            control.push(raw(sol::IP, ip::TOS, vec![datagram.marks.class]));
        }
        if options.is_on(sol::IP, ip::RECVORIGDSTADDR) {
            let port = socket.identity.local.get().map_or(0, |local| local.port());
            let name = address::encode(af::INET, (datagram.to, port).into());
            control.push(raw(sol::IP, ip::RECVORIGDSTADDR, name.to_vec()));
        }
    }
    if socket.common.domain == af::INET6 {
        if options.is_on(sol::IPV6, ipv6::RECVPKTINFO) {
            let info = [&address::v6_of(datagram.to).octets()[..], &interface].concat();
            control.push(raw(sol::IPV6, ipv6::PKTINFO, info));
        }
        if options.is_on(sol::IPV6, ipv6::RECVHOPLIMIT) {
            let hops = int_bytes(datagram.marks.hops.into());
            control.push(raw(sol::IPV6, ipv6::HOPLIMIT, hops));
        }
        if options.is_on(sol::IPV6, ipv6::RECVTCLASS) {
            let class = int_bytes(datagram.marks.class.into());
            control.push(raw(sol::IPV6, ipv6::TCLASS, class));
        }
    }
    control
}

/// `SO_TIMESTAMP` and its relatives.
fn timestamps(common: &Common, time: u64, control: &mut Vec<Control>) {
    let options = &common.options;
    let is_new = options.is_on(Switches::TIMESTAMP_NEW);
    if options.is_on(Switches::TIMESTAMPNS) {
        let kind = if is_new { so::TIMESTAMPNS_NEW } else { so::TIMESTAMPNS };
        control.push(raw(sol::SOCKET, kind, bytes_of(&Timespec::from_nanos(time))));
    } else if options.is_on(Switches::TIMESTAMP) {
        let kind = if is_new { so::TIMESTAMP_NEW } else { so::TIMESTAMP };
        control.push(raw(sol::SOCKET, kind, bytes_of(&Timeval::from_nanos(time))));
    }
}

/// A `struct sock_extended_err`, and who sent the error.
pub(super) fn failure_control(common: &Common, failure: &Failure) -> Control {
    let is_v4 = failure.to.is_ipv4();
    let mut data = u32::from(failure.errno.code()).to_ne_bytes().to_vec();
    data.extend(if is_v4 { [ORIGIN_ICMP, 3, 3, 0] } else { [ORIGIN_ICMP6, 1, 4, 0] });
    data.extend([0; 8]);
    let family = if is_v4 { af::INET } else { af::INET6 };
    data.extend_from_slice(&address::encode(family, (failure.to.ip(), 0).into()));
    if is_v4 && common.domain == af::INET {
        raw(sol::IP, ip::RECVERR, data)
    } else {
        raw(sol::IPV6, ipv6::RECVERR, data)
    }
}
