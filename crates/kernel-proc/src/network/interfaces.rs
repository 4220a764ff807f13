//! Interfaces, their addresses and routes.

use std::net::IpAddr;

use kernel_sockets::Network;

pub(super) const HEADER: &str = "Inter-|   Receive                                                \
                                 |  Transmit\n face |bytes    packets errs drop fifo frame \
                                 compressed multicast|bytes    packets errs drop fifo colls \
                                 carrier compressed\n";

pub(super) const ROUTE_HEADER: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\t\
                                       Mask\t\tMTU\tWindow\tIRTT\n";

/// `IFF_LOOPBACK`.
const LOOPBACK: u32 = 8;

/// `dev`. There are no packets, so none are counted.
pub(super) fn dev(network: &Network) -> String {
    let line = |name: &str| {
        format!(
            "{name:>6}: {:>7} {:>7} {:>4} {:>4} {:>4} {:>5} {:>10} {:>9} {:>8} {:>7} {:>4} \
                 {:>4} {:>4} {:>5} {:>7} {:>10}\n",
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
        )
    };
    network.interfaces.list().iter().map(|interface| line(interface.name)).collect()
}

pub(super) fn if_inet6(network: &Network) -> String {
    let mut text = String::new();
    for interface in network.interfaces.list() {
        for &(address, prefix) in &interface.addresses {
            let IpAddr::V6(address) = address else { continue };
            // The scopes: 0x10 for the host alone, 0x20 for the link, 0 for the world.
            let scope = if address.is_loopback() {
                0x10
            } else if address.is_unicast_link_local() {
                0x20
            } else {
                0
            };
            text.push_str(&format!(
                "{:032x} {:02x} {prefix:02x} {scope:02x} 80 {:>8}\n",
                address.to_bits(),
                interface.index,
                interface.name
            ));
        }
    }
    text
}

/// `route`: the networks of the interfaces that lead outward.
pub(super) fn route(network: &Network) -> String {
    let mut text = String::new();
    for interface in network.interfaces.list() {
        if interface.flags & LOOPBACK != 0 {
            continue;
        }
        for &(address, prefix) in &interface.addresses {
            let IpAddr::V4(address) = address else { continue };
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            let destination = (address.to_bits() & mask).swap_bytes();
            text.push_str(&format!(
                "{}\t{destination:08X}\t00000000\t0001\t0\t0\t0\t{:08X}\t0\t0\t0\n",
                interface.name,
                mask.swap_bytes()
            ));
        }
    }
    text
}
