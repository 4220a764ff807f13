//! Options and `ioctl` requests that all Internet sockets have. See ip(7) and netdevice(7).

use std::net::Ipv4Addr;

use kernel_core::memory::UserPtr;
use kernel_files::Ioctl;
use linux_abi::sockets::inet::{ip, ipv6};
use linux_abi::sockets::{af, sioc, sock, sol};
use linux_abi::{Errno, SysResult};

use super::interfaces::Interface;
use super::{Identity, address};
use crate::options::int_bytes;
use crate::{Caller, Common};

/// The lengths of a name of an interface and of `struct ifreq`.
const NAME: usize = 16;
const REQUEST: usize = 40;

fn check_level(common: &Common, level: i32) -> SysResult<()> {
    let fits = match level {
        sol::IP => true,
        sol::IPV6 => common.domain == af::INET6,
        sol::TCP => common.kind == sock::STREAM,
        sol::UDP => common.kind == sock::DGRAM,
        _ => false,
    };
    if fits { Ok(()) } else { Err(Errno::ENOPROTOOPT) }
}

/// Reads an option below `SOL_SOCKET`.
pub(super) fn get_option(
    common: &Common,
    identity: &Identity,
    level: i32,
    name: i32,
) -> SysResult<Vec<u8>> {
    check_level(common, level)?;
    match (level, name) {
        (sol::IP, ip::MTU) | (sol::IPV6, ipv6::MTU) => {
            identity.remote.get().ok_or(Errno::ENOTCONN)?;
            Ok(int_bytes(65535))
        }
        (sol::IP, ip::OPTIONS) => Ok(Vec::new()),
        _ => identity.options.get(level, name),
    }
}

/// Sets an option below `SOL_SOCKET`.
pub(super) fn set_option(
    common: &Common,
    identity: &Identity,
    caller: &dyn Caller,
    level: i32,
    name: i32,
    value: &[u8],
) -> SysResult<()> {
    check_level(common, level)?;
    match (level, name) {
        (sol::IP, ip::MULTICAST_IF) => {
            let chosen = multicast_interface(common, value)?;
            identity.options.set(caller, level, name, &chosen.octets())
        }
        (sol::IP, ip::TOS) => {
            let number = value.first().copied().unwrap_or(0);
            // The two lowest bits are about congestion, and a stream's own.
            let number = if common.kind == sock::STREAM { number & !3 } else { number };
            identity.options.set(caller, level, name, &[number])
        }
        (sol::IP, ip::OPTIONS) if value.is_empty() => Ok(()),
        (sol::IPV6, ipv6::V6ONLY) if identity.binding.get().is_some() => Err(Errno::EINVAL),
        _ => identity.options.set(caller, level, name, value),
    }
}

/// The address in a `struct in_addr`, `ip_mreq` or `ip_mreqn`, which has to be one of ours.
fn multicast_interface(common: &Common, value: &[u8]) -> SysResult<Ipv4Addr> {
    if common.kind == sock::STREAM || value.len() < 4 {
        return Err(Errno::EINVAL);
    }
    let at = if value.len() < 8 { 0 } else { 4 };
    let octets: [u8; 4] =
        value.get(at..at + 4).and_then(|it| it.try_into().ok()).ok_or(Errno::EINVAL)?;
    let (address, index) = (Ipv4Addr::from(octets), read_u32(value, 8));
    if has_interface(common, address, index) { Ok(address) } else { Err(Errno::EADDRNOTAVAIL) }
}

/// Whether an interface is there: by its index, or by its address if there is no index.
pub(super) fn has_interface(common: &Common, address: Ipv4Addr, index: u32) -> bool {
    if index == 0 && address.is_unspecified() {
        return true;
    }
    let fits = |one: &Interface| match index {
        0 => common.network.interfaces.is_local(address.into()),
        _ => one.index == index,
    };
    common.network.interfaces.list().iter().any(fits)
}

/// Answers requests about interfaces; `ENOTTY` for all others.
pub(crate) fn ioctl(common: &Common, ioctl: &Ioctl<'_>) -> SysResult<u64> {
    match ioctl.command {
        sioc::SIOCGIFCONF => list_interfaces(common, ioctl),
        sioc::SIOCGIFNAME => {
            let request: [u8; REQUEST] = UserPtr::new(ioctl.argument).read(ioctl.memory)?;
            let index = read_u32(&request, NAME);
            let found = common.network.interfaces.list().into_iter().find(|one| one.index == index);
            let found = found.ok_or(Errno::ENODEV)?;
            answer(ioctl, &found, &[])
        }
        sioc::SIOCGIFFLAGS
        | sioc::SIOCGIFADDR
        | sioc::SIOCGIFDSTADDR
        | sioc::SIOCGIFBRDADDR
        | sioc::SIOCGIFNETMASK
        | sioc::SIOCGIFMETRIC
        | sioc::SIOCGIFMTU
        | sioc::SIOCGIFHWADDR
        | sioc::SIOCGIFINDEX
        | sioc::SIOCGIFTXQLEN
        | sioc::SIOCGIFMAP => describe(common, ioctl),
        sioc::SIOCSIFFLAGS if common.network.is_guests_own.get() => change_flags(common, ioctl),
        sioc::SIOCSIFFLAGS | sioc::SIOCSIFADDR | sioc::SIOCSIFMTU => Err(Errno::EPERM),
        sioc::SIOCETHTOOL => Err(Errno::EOPNOTSUPP),
        sioc::SIOCGSTAMP | sioc::SIOCGSTAMPNS => Err(Errno::ENOENT),
        _ => Err(Errno::ENOTTY),
    }
}

/// Brings the loopback interface of a guest's own network up or down.
fn change_flags(common: &Common, ioctl: &Ioctl<'_>) -> SysResult<u64> {
    const IFF_UP: u32 = 1;
    let request: [u8; REQUEST] = UserPtr::new(ioctl.argument).read(ioctl.memory)?;
    if !request.starts_with(b"lo\0") {
        return Err(Errno::ENODEV);
    }
    if read_u32(&request, NAME) & IFF_UP != 0 {
        common.network.interfaces.bring_up();
    } else {
        common.network.interfaces.take_down();
    }
    Ok(0)
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

/// Fills a `struct ifreq` for the interface that it names.
fn describe(common: &Common, ioctl: &Ioctl<'_>) -> SysResult<u64> {
    let request: [u8; REQUEST] = UserPtr::new(ioctl.argument).read(ioctl.memory)?;
    let name: Vec<u8> = request.iter().take(NAME).copied().take_while(|&byte| byte != 0).collect();
    let all = common.network.interfaces.list();
    let one = all.iter().find(|one| one.name.as_bytes() == name).ok_or(Errno::ENODEV)?;
    let v4 = |ip: Ipv4Addr| address::encode(af::INET, (ip, 0).into()).to_vec();
    let own = one.ipv4().ok_or(Errno::EADDRNOTAVAIL);
    let mask = |prefix: u8| u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
    let value = match ioctl.command {
        sioc::SIOCGIFFLAGS => (one.flags & 0xffff).to_ne_bytes().to_vec(),
        sioc::SIOCGIFADDR | sioc::SIOCGIFDSTADDR => v4(own?.0),
        sioc::SIOCGIFBRDADDR if one.is_loopback() => v4(Ipv4Addr::UNSPECIFIED),
        sioc::SIOCGIFBRDADDR => {
            own.map(|(ip, prefix)| v4((u32::from(ip) | !mask(prefix)).into()))?
        }
        sioc::SIOCGIFNETMASK => own.map(|(_, prefix)| v4(mask(prefix).into()))?,
        sioc::SIOCGIFMTU => one.mtu.to_ne_bytes().to_vec(),
        sioc::SIOCGIFINDEX => one.index.to_ne_bytes().to_vec(),
        sioc::SIOCGIFTXQLEN => 1000_u32.to_ne_bytes().to_vec(),
        sioc::SIOCGIFHWADDR => [&one.hardware.to_ne_bytes()[..], &one.mac].concat(),
        _ => vec![0; 24],
    };
    answer(ioctl, one, &value)
}

/// Writes a `struct ifreq`.
fn answer(ioctl: &Ioctl<'_>, interface: &Interface, value: &[u8]) -> SysResult<u64> {
    let mut request = interface.name.as_bytes().to_vec();
    request.resize(NAME, 0);
    let value = value.get(..value.len().min(REQUEST - NAME)).unwrap_or_default();
    if ioctl.command == sioc::SIOCGIFNAME {
        request.extend_from_slice(&interface.index.to_ne_bytes());
    }
    request.extend_from_slice(value);
    UserPtr::<u8>::new(ioctl.argument).write_many(ioctl.memory, &request)?;
    Ok(0)
}

/// Fills the buffer of a `struct ifconf` with the interfaces that have an IPv4 address.
fn list_interfaces(common: &Common, ioctl: &Ioctl<'_>) -> SysResult<u64> {
    let [length, buffer]: [u64; 2] = UserPtr::new(ioctl.argument).read(ioctl.memory)?;
    let room = usize::try_from(length & 0xffff_ffff).unwrap_or(0);
    let mut bytes = Vec::new();
    for one in common.network.interfaces.list() {
        let Some((own, _)) = one.ipv4() else { continue };
        let mut entry = one.name.as_bytes().to_vec();
        entry.resize(NAME, 0);
        entry.extend_from_slice(&address::encode(af::INET, (own, 0).into()));
        entry.resize(REQUEST, 0);
        if buffer == 0 || bytes.len() + REQUEST <= room {
            bytes.extend_from_slice(&entry);
        }
    }
    if buffer != 0 {
        UserPtr::<u8>::new(buffer).write_many(ioctl.memory, &bytes)?;
    }
    let length = i32::try_from(bytes.len()).unwrap_or(0);
    UserPtr::new(ioctl.argument).write(ioctl.memory, &length)?;
    Ok(0)
}
