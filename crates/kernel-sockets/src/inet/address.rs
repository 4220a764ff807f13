//! Internet addresses as the guest lays them out.
//!
//! Inside, an IPv4 address is always an IPv4 address, also in a socket of `AF_INET6` that says
//! `::ffff:127.0.0.1` for it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use linux_abi::sockets::af;
use linux_abi::{Errno, SysResult};

use crate::RawName;

/// The lengths of `struct sockaddr_in`, and of `struct sockaddr_in6` without and with its scope.
const LENGTH_V4: usize = 16;
const MIN_LENGTH_V6: usize = 24;
const LENGTH_V6: usize = 28;

/// The family that an address says it has; `EINVAL` if it is too short to say.
pub fn family(name: &[u8]) -> SysResult<u16> {
    name.first_chunk().map(|family| u16::from_ne_bytes(*family)).ok_or(Errno::EINVAL)
}

/// Reads an address of either family. `EAFNOSUPPORT` for other families.
pub fn parse(name: &[u8]) -> SysResult<SocketAddr> {
    let port = |name: &[u8]| {
        name.get(2..4).and_then(|port| port.try_into().ok()).map_or(0, u16::from_be_bytes)
    };
    match family(name)? {
        af::INET if name.len() < LENGTH_V4 => Err(Errno::EINVAL),
        af::INET => {
            let ip: [u8; 4] = name.get(4..8).and_then(|ip| ip.try_into().ok()).unwrap_or_default();
            Ok(SocketAddr::new(Ipv4Addr::from(ip).into(), port(name)))
        }
        af::INET6 if name.len() < MIN_LENGTH_V6 => Err(Errno::EINVAL),
        af::INET6 => {
            let ip: [u8; 16] =
                name.get(8..24).and_then(|ip| ip.try_into().ok()).unwrap_or_default();
            Ok(SocketAddr::new(Ipv6Addr::from(ip).to_canonical(), port(name)))
        }
        _ => Err(Errno::EAFNOSUPPORT),
    }
}

/// Lays an address out for a socket of family `domain`.
pub fn encode(domain: u16, address: SocketAddr) -> RawName {
    let mut raw = RawName::new();
    raw.extend_from_slice(&domain.to_ne_bytes());
    raw.extend_from_slice(&address.port().to_be_bytes());
    if domain == af::INET {
        raw.extend_from_slice(&v4_of(address.ip()).octets());
        raw.resize(LENGTH_V4, 0);
    } else {
        raw.resize(8, 0);
        raw.extend_from_slice(&v6_of(address.ip()).octets());
        raw.resize(LENGTH_V6, 0);
    }
    raw
}

/// The address of a socket that has none.
pub fn unspecified(domain: u16) -> IpAddr {
    if domain == af::INET { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() }
}

fn v4_of(ip: IpAddr) -> Ipv4Addr {
    match ip {
        IpAddr::V4(ip) => ip,
        IpAddr::V6(ip) => ip.to_ipv4_mapped().unwrap_or(Ipv4Addr::UNSPECIFIED),
    }
}

/// An address as a socket of `AF_INET6` shows it.
pub fn v6_of(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}
