//! TCP, UDP and ping sockets.

use std::rc::Rc;

use kernel_sockets::inet::tcp::TcpSocket;
use kernel_sockets::inet::udp::UdpSocket;
use kernel_sockets::{Network, RawName, SocketOps};

const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;
const SOCK_STREAM: u32 = 1;
const SOCK_DGRAM: u32 = 2;
const IPPROTO_ICMP: u16 = 1;
const IPPROTO_ICMPV6: u16 = 58;

/// The state of a datagram socket that is not connected, and of one that is.
const CLOSED: u8 = 7;
const ESTABLISHED: u8 = 1;

/// Which sockets a file shows.
pub(super) struct Which {
    domain: u16,
    kind: u32,
    is_ping: bool,
}

pub(super) const TCP: Which = Which { domain: AF_INET, kind: SOCK_STREAM, is_ping: false };
pub(super) const TCP6: Which = Which { domain: AF_INET6, ..TCP };
pub(super) const UDP: Which = Which { kind: SOCK_DGRAM, ..TCP };
pub(super) const UDP6: Which = Which { domain: AF_INET6, ..UDP };
pub(super) const ICMP: Which = Which { is_ping: true, ..UDP };
pub(super) const ICMP6: Which = Which { domain: AF_INET6, ..ICMP };

impl Which {
    fn sockets(&self, network: &Network) -> Vec<Rc<dyn SocketOps>> {
        let mut sockets = network.sockets();
        sockets.retain(|socket| {
            let common = socket.common();
            let is_ping = matches!(common.protocol, IPPROTO_ICMP | IPPROTO_ICMPV6);
            common.domain == self.domain && common.kind == self.kind && is_ping == self.is_ping
        });
        sockets
    }
}

pub(super) fn lines(network: &Network, which: &Which) -> String {
    let mut text = String::new();
    for (index, socket) in which.sockets(network).iter().enumerate() {
        let local = socket.local_name().ok();
        let peer = socket.peer_name().ok();
        let (state, sent, received) = state(&**socket, peer.is_some());
        text.push_str(&format!(
            "{index:>4}: {} {} {state:02X} {sent:08X}:{received:08X} 00:00000000 00000000 \
             {:>5} {:>8} {} 2 0000000000000000 0\n",
            shown(local.as_ref(), which.domain),
            shown(peer.as_ref(), which.domain),
            0,
            0,
            socket.common().inode,
        ));
    }
    text
}

fn state(socket: &dyn SocketOps, is_connected: bool) -> (u8, usize, usize) {
    if let Some(tcp) = socket.as_any().downcast_ref::<TcpSocket>() {
        return tcp.shown_state();
    }
    let queued = socket.as_any().downcast_ref::<UdpSocket>().map_or(0, UdpSocket::n_queued);
    (if is_connected { ESTABLISHED } else { CLOSED }, 0, queued)
}

/// Address and port as Linux prints them: words of the address as the processor reads them.
fn shown(name: Option<&RawName>, domain: u16) -> String {
    let name = name.map_or(&[][..], |name| name);
    let port = name.get(2..4).map_or(0, |port| port.iter().fold(0, |n, &b| n << 8 | u32::from(b)));
    let address = match domain {
        AF_INET => name.get(4..8).unwrap_or(&[0; 4]),
        _ => name.get(8..24).unwrap_or(&[0; 16]),
    };
    let words: String = address
        .chunks_exact(4)
        .filter_map(|word| word.try_into().ok().map(u32::from_ne_bytes))
        .map(|word| format!("{word:08X}"))
        .collect();
    format!("{words}:{port:04X}")
}

pub(super) fn sockstat(network: &Network) -> String {
    let (tcp, udp) = (TCP.sockets(network).len(), UDP.sockets(network).len());
    format!(
        "sockets: used {}\nTCP: inuse {tcp} orphan 0 tw 0 alloc {tcp} mem 0\nUDP: inuse {udp} mem \
         0\nUDPLITE: inuse 0\nRAW: inuse 0\nFRAG: inuse 0 memory 0\n",
        network.sockets().len()
    )
}

pub(super) fn sockstat6(network: &Network) -> String {
    let (tcp, udp) = (TCP6.sockets(network).len(), UDP6.sockets(network).len());
    format!(
        "TCP6: inuse {tcp}\nUDP6: inuse {udp}\nUDPLITE6: inuse 0\nRAW6: inuse 0\nFRAG6: inuse 0 \
         memory 0\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_words_of_the_processor() {
        let name = RawName::from_slice(&[2, 0, 0x1f, 0x90, 127, 0, 0, 1]);
        assert_eq!(shown(Some(&name), AF_INET), "0100007F:1F90");
        assert_eq!(shown(None, AF_INET), "00000000:0000");
        assert_eq!(shown(None, AF_INET6).len(), 37);
    }
}
