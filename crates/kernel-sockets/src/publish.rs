//! Connections from outside, to ports that are published (`--publish`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use host_sys::rustix::net::sockopt;
use linux_abi::{Errno, SysResult};

use crate::Network;
use crate::egress::Passage;
use crate::inet::TcpSocket;

/// Hands a connection that came from outside to the guest that listens on `port`, at whatever
/// address. `ECONNREFUSED` if none does, or if it has too many; the other end then sees a reset.
pub fn deliver(
    network: &Rc<Network>,
    port: u16,
    from: SocketAddr,
    passage: Passage,
) -> SysResult<()> {
    let mut places: Vec<IpAddr> = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let interfaces = network.interfaces.list();
    places.extend(interfaces.iter().flat_map(|one| one.addresses.iter().map(|&(ip, _)| ip)));
    let listens = |ip: &IpAddr| network.tcp_ports.find(*ip, port).is_some();
    match places.into_iter().find(listens) {
        Some(ip) => {
            let local = SocketAddr::new(ip, port);
            TcpSocket::deliver_from_host(network, local, from, passage)
        }
        None => {
            // Only decides how the connection ends.
            let _ = sockopt::set_socket_linger(&passage.socket, Some(Duration::ZERO));
            Err(Errno::ECONNREFUSED)
        }
    }
}
