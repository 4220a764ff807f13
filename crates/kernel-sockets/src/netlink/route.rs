//! `NETLINK_ROUTE`: links, addresses and routes. See rtnetlink(7).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use linux_abi::sockets::af;
use linux_abi::sockets::netlink::{NlMsgHdr, ifa, ifla, nlm_f, rta, rtm};
use linux_abi::{Errno, SysResult};

use super::builder::{Builder, find_attribute};
use crate::Network;
use crate::inet::interfaces::{GATEWAY, GATEWAY6, Interface};

/// The lengths of `struct ifinfomsg` and `struct rtmsg`.
const LINK_FIXED: usize = 16;
const ROUTE_FIXED: usize = 12;

/// Answers a request: messages, to be followed by an end if it asked for a list.
pub(super) fn answer(
    network: &Network,
    request: NlMsgHdr,
    payload: &[u8],
    port: u32,
) -> SysResult<Vec<u8>> {
    let wants_list = request.flags & nlm_f::DUMP != 0;
    let family = payload.first().copied().unwrap_or(0);
    let flags = if wants_list { nlm_f::MULTI } else { 0 };
    let mut builder = Builder::new(request, port, flags);
    match (request.kind, wants_list) {
        (rtm::GETLINK, true) => {
            network.interfaces.list().iter().for_each(|one| put_link(&mut builder, one));
        }
        (rtm::GETLINK, false) => put_link(&mut builder, &find_link(network, payload)?),
        (rtm::GETADDR, true) => put_addresses(&mut builder, network, family),
        (rtm::GETROUTE, true) => put_routes(&mut builder, network, family),
        (rtm::GETROUTE, false) => put_route_to(&mut builder, network, payload)?,
        (rtm::GETNEIGH | rtm::GETRULE, true) => {}
        (rtm::NEWLINK, _) if network.is_guests_own.get() => change_link(network, payload)?,
        (rtm::NEWADDR, _) if network.is_guests_own.get() => add_address(network, payload)?,
        // The kinds come in fours: new, delete, get, set. Only `get` needs no privilege, and the
        // network of a sandbox is not the guest's to change.
        (kind, _) if kind > rtm::MAX => return Err(Errno::EOPNOTSUPP),
        (kind, _) if kind % 4 != 2 => return Err(Errno::EPERM),
        _ => return Err(Errno::EOPNOTSUPP),
    }
    Ok(builder.finish())
}

/// Brings the loopback interface up or down, which is all that can be done to it.
fn change_link(network: &Network, payload: &[u8]) -> SysResult<()> {
    const IFF_UP: u32 = 1;
    if !find_link(network, payload)?.is_loopback() {
        return Err(Errno::EPERM);
    }
    if read_u32(payload, 8) & IFF_UP != 0 {
        network.interfaces.bring_up();
    } else {
        network.interfaces.take_down();
    }
    Ok(())
}

/// Gives the loopback interface an address.
fn add_address(network: &Network, payload: &[u8]) -> SysResult<()> {
    const FIXED: usize = 8;
    let prefix = payload.get(1).copied().unwrap_or(0);
    if read_u32(payload, 4) != 1 {
        return Err(Errno::ENODEV);
    }
    let bytes = match find_attribute(payload, FIXED, ifa::LOCAL)? {
        Some(bytes) => bytes,
        None => find_attribute(payload, FIXED, ifa::ADDRESS)?.ok_or(Errno::EINVAL)?,
    };
    let ip = match (<[u8; 4]>::try_from(bytes), <[u8; 16]>::try_from(bytes)) {
        (Ok(four), _) => IpAddr::V4(four.into()),
        (_, Ok(sixteen)) => IpAddr::V6(sixteen.into()),
        _ => return Err(Errno::EINVAL),
    };
    network.interfaces.add_loopback_address(ip, prefix)
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

fn find_link(network: &Network, payload: &[u8]) -> SysResult<Interface> {
    let index = read_u32(payload, 4);
    let name = find_attribute(payload, LINK_FIXED, ifla::IFNAME)?;
    let matches = |one: &Interface| match name {
        Some(name) if index == 0 => name.strip_suffix(&[0]).unwrap_or(name) == one.name.as_bytes(),
        _ => one.index == index,
    };
    if index == 0 && name.is_none() {
        return Err(Errno::EINVAL);
    }
    network.interfaces.list().into_iter().find(matches).ok_or(Errno::ENODEV)
}

fn with_zero(name: &str) -> Vec<u8> {
    [name.as_bytes(), &[0]].concat()
}

fn put_link(builder: &mut Builder, one: &Interface) {
    let mut fixed = vec![0, 0];
    fixed.extend_from_slice(&one.hardware.to_ne_bytes());
    fixed.extend_from_slice(&one.index.to_ne_bytes());
    fixed.extend_from_slice(&one.flags.to_ne_bytes());
    fixed.extend_from_slice(&0_u32.to_ne_bytes());
    let state = if one.is_loopback() { 0 } else { 6 };
    let broadcast = if one.is_loopback() { [0; 6] } else { [0xff; 6] };
    builder
        .message(rtm::NEWLINK, &fixed)
        .attribute(ifla::IFNAME, &with_zero(one.name))
        .attribute(ifla::TXQLEN, &1000_u32.to_ne_bytes())
        .attribute(ifla::OPERSTATE, &[state])
        .attribute(ifla::LINKMODE, &[0])
        .attribute(ifla::MTU, &one.mtu.to_ne_bytes())
        .attribute(ifla::GROUP, &0_u32.to_ne_bytes())
        .attribute(ifla::PROMISCUITY, &0_u32.to_ne_bytes())
        .attribute(ifla::NUM_TX_QUEUES, &1_u32.to_ne_bytes())
        .attribute(ifla::NUM_RX_QUEUES, &1_u32.to_ne_bytes())
        .attribute(ifla::CARRIER, &[1])
        .attribute(ifla::QDISC, b"noqueue\0")
        .attribute(ifla::ADDRESS, &one.mac)
        .attribute(ifla::BROADCAST, &broadcast);
}

fn octets(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

fn family_of(ip: IpAddr) -> u8 {
    let family = if ip.is_ipv4() { af::INET } else { af::INET6 };
    u8::try_from(family).unwrap_or(0)
}

fn put_addresses(builder: &mut Builder, network: &Network, family: u8) {
    for one in network.interfaces.list() {
        for &(ip, prefix) in &one.addresses {
            if family == 0 || family == family_of(ip) {
                put_address(builder, &one, ip, prefix);
            }
        }
    }
}

fn put_address(builder: &mut Builder, one: &Interface, ip: IpAddr, prefix: u8) {
    let scope = if one.is_loopback() { rta::SCOPE_HOST } else { rta::SCOPE_UNIVERSE };
    let mut fixed = vec![family_of(ip), prefix, 0x80, scope];
    fixed.extend_from_slice(&one.index.to_ne_bytes());
    builder.message(rtm::NEWADDR, &fixed).attribute(ifa::ADDRESS, &octets(ip));
    if let IpAddr::V4(v4) = ip {
        builder.attribute(ifa::LOCAL, &octets(ip));
        if !one.is_loopback() {
            let host_bits = u32::MAX.checked_shr(u32::from(prefix)).unwrap_or(0);
            builder.attribute(ifa::BROADCAST, &(u32::from(v4) | host_bits).to_be_bytes());
        }
        builder.attribute(ifa::LABEL, &with_zero(one.name));
    }
    let lives_forever = [[0xff; 8], [0; 8]].concat();
    builder
        .attribute(ifa::FLAGS, &ifa::F_PERMANENT.to_ne_bytes())
        .attribute(ifa::CACHEINFO, &lives_forever);
}

/// A route.
struct Route {
    to: Option<(IpAddr, u8)>,
    table: u8,
    protocol: u8,
    scope: u8,
    kind: u8,
    gateway: Option<IpAddr>,
    source: Option<IpAddr>,
    interface: u32,
}

fn put_route(builder: &mut Builder, family: u8, route: &Route) {
    let prefix = route.to.map_or(0, |(_, prefix)| prefix);
    let mut fixed =
        vec![family, prefix, 0, 0, route.table, route.protocol, route.scope, route.kind];
    fixed.resize(ROUTE_FIXED, 0);
    builder.message(rtm::NEWROUTE, &fixed);
    builder.attribute(rta::TABLE, &u32::from(route.table).to_ne_bytes());
    if let Some((to, _)) = route.to {
        builder.attribute(rta::DST, &octets(to));
    }
    if let Some(gateway) = route.gateway {
        builder.attribute(rta::GATEWAY, &octets(gateway));
    }
    if let Some(source) = route.source {
        builder.attribute(rta::PREFSRC, &octets(source));
    }
    builder.attribute(rta::OIF, &route.interface.to_ne_bytes());
}

/// The routes through an interface: to its network, from the local table to itself, and to
/// everywhere if it leads outward.
fn routes_of(one: &Interface, ip: IpAddr, prefix: u8) -> Vec<Route> {
    let local = |to, prefix| Route {
        to: Some((to, prefix)),
        table: rta::TABLE_LOCAL,
        protocol: rta::PROTO_KERNEL,
        scope: rta::SCOPE_HOST,
        kind: rta::TYPE_LOCAL,
        gateway: None,
        source: Some(ip),
        interface: one.index,
    };
    let bits = if ip.is_ipv4() { 32 } else { 128 };
    let network_address = network_of(ip, prefix);
    if one.is_loopback() {
        return match ip {
            IpAddr::V4(_) => vec![local(network_address, prefix), local(ip, bits)],
            IpAddr::V6(_) => vec![local(ip, bits)],
        };
    }
    let unicast = |to, scope, gateway: Option<IpAddr>, source| Route {
        to,
        table: rta::TABLE_MAIN,
        protocol: if gateway.is_some() { rta::PROTO_BOOT } else { rta::PROTO_KERNEL },
        scope,
        kind: rta::TYPE_UNICAST,
        gateway,
        source,
        interface: one.index,
    };
    vec![
        unicast(None, rta::SCOPE_UNIVERSE, Some(gateway_for(ip)), None),
        unicast(Some((network_address, prefix)), rta::SCOPE_LINK, None, Some(ip)),
        local(ip, bits),
    ]
}

/// The first address of the network that an address is in.
fn network_of(ip: IpAddr, prefix: u8) -> IpAddr {
    match ip {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            Ipv4Addr::from(u32::from(v4) & mask).into()
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
            Ipv6Addr::from(u128::from(v6) & mask).into()
        }
    }
}

/// The gateway for an address's family.
fn gateway_for(ip: IpAddr) -> IpAddr {
    if ip.is_ipv4() { GATEWAY.into() } else { GATEWAY6.into() }
}

fn put_routes(builder: &mut Builder, network: &Network, family: u8) {
    for one in network.interfaces.list() {
        for &(ip, prefix) in &one.addresses {
            if family != 0 && family != family_of(ip) {
                continue;
            }
            for route in routes_of(&one, ip, prefix) {
                put_route(builder, family_of(ip), &route);
            }
        }
    }
}

/// The one route that something sent to an address would take (`ip route get`).
fn put_route_to(builder: &mut Builder, network: &Network, payload: &[u8]) -> SysResult<()> {
    let data = find_attribute(payload, ROUTE_FIXED, rta::DST)?.ok_or(Errno::EINVAL)?;
    let to: IpAddr = if let Ok(four) = <[u8; 4]>::try_from(data) {
        four.into()
    } else {
        <[u8; 16]>::try_from(data).map_err(|_| Errno::EINVAL)?.into()
    };
    let bits = if to.is_ipv4() { 32 } else { 128 };
    let is_local = network.interfaces.is_local(to);
    let source = if is_local { to } else { network.outward_source(to)? };
    let route = Route {
        to: Some((to, bits)),
        table: if is_local { rta::TABLE_LOCAL } else { rta::TABLE_MAIN },
        protocol: 0,
        scope: rta::SCOPE_UNIVERSE,
        kind: if is_local { rta::TYPE_LOCAL } else { rta::TYPE_UNICAST },
        gateway: (!is_local).then(|| gateway_for(to)),
        source: Some(source),
        interface: if is_local { 1 } else { 2 },
    };
    put_route(builder, family_of(to), &route);
    Ok(())
}
