//! The text of the files in `/proc/net`. See proc(5).

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};

use linux_abi::sockets::{af, sock};

use crate::inet::interfaces::{GATEWAY, Interface};
use crate::inet::{Identity, TcpSocket, UdpSocket, address};
use crate::netlink::NetlinkSocket;
use crate::unix::UnixSocket;
use crate::{Network, SocketOps, counts};

/// The unit of times in these files: a hundredth of a second.
const NANOS_PER_TICK: u64 = 10_000_000;

/// `/proc/net/tcp` (`AF_INET`) or `/proc/net/tcp6` (`AF_INET6`).
pub fn tcp(network: &Network, family: u16) -> String {
    let mut text = String::new();
    header(&mut text, family, false);
    for (number, socket) in of_type::<TcpSocket>(network, family).enumerate() {
        let Some(tcp) = socket.as_any().downcast_ref::<TcpSocket>() else { continue };
        let (state, sent, received) = tcp.shown_state();
        let line = Line { number, state, sent, received, width: 4 };
        write_line(&mut text, family, &tcp.identity, &*socket, &line);
        text.push_str(" 1 0000000000000000 20 4 0 10 -1");
        end_line(&mut text, family, false);
    }
    let first = text.lines().count() - 1;
    let parted = network.tcp_ports.parted().into_iter().filter(|(_, one)| one.family == family);
    for (number, (nanos_left, one)) in (first..).zip(parted) {
        let (local, remote) = (hex_address(family, one.local), hex_address(family, one.remote));
        // TIME_WAIT, or FIN_WAIT2 until the other end is closed.
        let state = if one.is_closed { 6 } else { 5 };
        let ticks_left = nanos_left / NANOS_PER_TICK;
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "{number:4}: {local} {remote} {state:02X} 00000000:00000000 03:{ticks_left:08X} 00000000 \
             \x20   0        0 0 3 0000000000000000"
        );
        end_line(&mut text, family, false);
    }
    text
}

/// `/proc/net/udp` (`AF_INET`) or `/proc/net/udp6` (`AF_INET6`).
pub fn udp(network: &Network, family: u16) -> String {
    let mut text = String::new();
    header(&mut text, family, true);
    for (number, socket) in of_type::<UdpSocket>(network, family).enumerate() {
        let Some(udp) = socket.as_any().downcast_ref::<UdpSocket>() else { continue };
        // Linux shows those that are bound.
        if udp.identity.local.get().is_none() || udp.is_lite() {
            continue;
        }
        let state = if udp.identity.remote.get().is_some() { 1 } else { 7 };
        let line = Line { number, state, sent: 0, received: udp.n_queued(), width: 5 };
        write_line(&mut text, family, &udp.identity, &*socket, &line);
        text.push_str(" 2 0000000000000000 0");
        end_line(&mut text, family, true);
    }
    text
}

/// Ends a line. Linux fills those of the older protocol with spaces.
fn end_line(text: &mut String, family: u16, is_udp: bool) {
    let width: usize = match (family, is_udp) {
        (af::INET, false) => 149,
        (af::INET, true) => 127,
        _ => 0,
    };
    let start = text.rfind('\n').map_or(0, |end| end + 1);
    let missing = width.saturating_sub(text.len() - start);
    text.extend(std::iter::repeat_n(' ', missing));
    text.push('\n');
}

fn header(text: &mut String, family: u16, is_udp: bool) {
    let wide = family == af::INET6;
    let local = if wide { "local_address                        " } else { "local_address" };
    let remote = if wide { "remote_address                       " } else { "rem_address  " };
    let tail = if is_udp { " ref pointer drops" } else { "" };
    let indent = if is_udp && !wide { "   " } else { "  " };
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "{indent}sl  {local} {remote} st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode{tail}"
    );
    end_line(text, family, is_udp);
}

fn of_type<T: SocketOps>(
    network: &Network,
    family: u16,
) -> impl Iterator<Item = std::rc::Rc<dyn SocketOps>> {
    let all = network.sockets().into_iter();
    all.filter(move |one| one.as_any().is::<T>() && one.common().domain == family)
}

struct Line {
    number: usize,
    state: u8,
    sent: usize,
    received: usize,
    width: usize,
}

fn write_line(
    text: &mut String,
    family: u16,
    identity: &Identity,
    socket: &dyn SocketOps,
    line: &Line,
) {
    let nowhere = SocketAddr::new(address::unspecified(family), 0);
    let local = hex_address(family, identity.local.get().unwrap_or(nowhere));
    let remote = hex_address(family, identity.remote.get().unwrap_or(nowhere));
    let Line { number, state, sent, received, width } = line;
    let (inode, (uid, _)) = (socket.common().inode, socket.common().owner.get());
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "{number:width$}: {local} {remote} {state:02X} {sent:08X}:{received:08X} \
         00:00000000 00000000 {uid:5}        0 {inode}"
    );
}

/// An address as `/proc` shows it: words in the machine's order, in hexadecimal.
fn hex_address(family: u16, address: SocketAddr) -> String {
    let octets = match (family, address.ip()) {
        (af::INET, IpAddr::V4(ip)) => ip.octets().to_vec(),
        (_, ip) => address::v6_of(ip).octets().to_vec(),
    };
    let mut text = String::new();
    for word in octets.chunks_exact(4) {
        let word = word.try_into().map_or(0, u32::from_ne_bytes);
        let _ = write!(text, "{word:08X}");
    }
    let _ = write!(text, ":{:04X}", address.port());
    text
}

/// `/proc/net/unix`.
pub fn unix(network: &Network) -> String {
    let mut text = String::from("Num       RefCount Protocol Flags    Type St Inode Path\n");
    for socket in network.sockets() {
        let Some(unix) = socket.as_any().downcast_ref::<UnixSocket>() else { continue };
        let (is_listening, is_connected) = unix.shown_state();
        let flags = if is_listening { 0x10000 } else { 0 };
        let state = if is_connected { 3 } else { 1 };
        let common = socket.common();
        let _ = write!(
            text,
            "0000000000000000: 00000002 00000000 {flags:08X} {:04X} {state:02X} {:5}",
            common.kind, common.inode
        );
        if let Some(name) = unix.shown_name() {
            let _ = write!(text, " {}", String::from_utf8_lossy(&name));
        }
        text.push('\n');
    }
    text
}

/// `/proc/net/netlink`.
pub fn netlink(network: &Network) -> String {
    let mut text = String::from(
        "sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode\n",
    );
    for socket in network.sockets() {
        let Some(netlink) = socket.as_any().downcast_ref::<NetlinkSocket>() else { continue };
        let (protocol, port, groups) = netlink.shown();
        let inode = socket.common().inode;
        let _ = writeln!(
            text,
            "0000000000000000 {protocol:<3} {port:<10} {groups:08x} 0        0        0     2        0        {inode:<8}"
        );
    }
    text
}

/// `/proc/net/dev`.
pub fn dev(network: &Network) -> String {
    let mut text = String::from(
        "Inter-|   Receive                                                |  Transmit\n \
         face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n",
    );
    for one in network.interfaces.list() {
        let zeros = "       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0";
        let _ = writeln!(text, "{:>6}: {}", one.name, zeros.trim_start());
    }
    text
}

/// `/proc/net/if_inet6`.
pub fn if_inet6(network: &Network) -> String {
    let mut text = String::new();
    for one in network.interfaces.list() {
        for &(ip, prefix) in &one.addresses {
            let IpAddr::V6(ip) = ip else { continue };
            let scope = if one.is_loopback() { 0x10 } else { 0 };
            for octet in ip.octets() {
                let _ = write!(text, "{octet:02x}");
            }
            let _ =
                writeln!(text, " {:02x} {prefix:02x} {scope:02x} 80 {:>8}", one.index, one.name);
        }
    }
    text
}

/// `/proc/net/route`.
pub fn route(network: &Network) -> String {
    let mut text = format!(
        "{:<127}\n",
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"
    );
    for one in network.interfaces.list().iter().filter(|one| !one.is_loopback()) {
        let Some((own, prefix)) = one.ipv4() else { continue };
        let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
        write_route(&mut text, one, 0, u32::from_ne_bytes(GATEWAY.octets()), 3, 0);
        let to = (u32::from(own) & mask).to_be();
        write_route(&mut text, one, to, 0, 1, mask.to_be());
    }
    text
}

fn write_route(text: &mut String, one: &Interface, to: u32, gateway: u32, flags: u32, mask: u32) {
    let line =
        format!("{}\t{to:08X}\t{gateway:08X}\t{flags:04X}\t0\t0\t0\t{mask:08X}\t0\t0\t0", one.name);
    let _ = writeln!(text, "{line:<127}");
}

/// `/proc/net/sockstat`.
pub fn sockstat(network: &Network) -> String {
    let all = network.sockets();
    let n_of = |family: u16, kind: u32| {
        all.iter().filter(|one| one.common().domain == family && one.common().kind == kind).count()
    };
    let tcp = n_of(af::INET, sock::STREAM);
    let udp = n_of(af::INET, sock::DGRAM);
    format!(
        "sockets: used {}\nTCP: inuse {tcp} orphan 0 tw 0 alloc {tcp} mem 0\n\
         UDP: inuse {udp} mem 0\nUDPLITE: inuse 0\nRAW: inuse 0\nFRAG: inuse 0 memory 0\n",
        all.len()
    )
}

/// `/proc/net/sockstat6`.
pub fn sockstat6(network: &Network) -> String {
    let tcp = of_type::<TcpSocket>(network, af::INET6).count();
    let udp = of_type::<UdpSocket>(network, af::INET6).count();
    format!(
        "TCP6: inuse {tcp}\nUDP6: inuse {udp}\nUDPLITE6: inuse 0\nRAW6: inuse 0\nFRAG6: inuse 0 memory 0\n"
    )
}

/// The text of the file `/proc/net/<name>`; `None` if there is no such file.
pub fn file(network: &Network, name: &str) -> Option<String> {
    Some(match name {
        "tcp" => tcp(network, af::INET),
        "tcp6" => tcp(network, af::INET6),
        "udp" => udp(network, af::INET),
        "udp6" => udp(network, af::INET6),
        "unix" => unix(network),
        "netlink" => netlink(network),
        "dev" => dev(network),
        "if_inet6" => if_inet6(network),
        "route" => route(network),
        "snmp" => counts::snmp(network),
        "sockstat" => sockstat(network),
        "sockstat6" => sockstat6(network),
        _ => return None,
    })
}

/// The names that [`file`] knows.
pub const FILES: &[&str] = &[
    "dev",
    "if_inet6",
    "netlink",
    "route",
    "snmp",
    "sockstat",
    "sockstat6",
    "tcp",
    "tcp6",
    "udp",
    "udp6",
    "unix",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::Patience;
    use crate::testing::{TestCaller, network};

    #[test]
    fn a_listener_is_shown_as_linux_shows_it() {
        let network = network();
        let caller = TestCaller::default();
        let listener = TcpSocket::new(&network, af::INET);
        let name = [2, 0, 0x1f, 0x90, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        listener.bind(&caller, &name).unwrap();
        listener.listen(&caller, 5).unwrap();
        let text = tcp(&network, af::INET);
        let line = text.lines().nth(1).unwrap();
        assert!(line.starts_with("   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:"));
        let client = TcpSocket::new(&network, af::INET);
        client.connect(&caller, &name, Patience::Waits).unwrap();
        assert_eq!(tcp(&network, af::INET).lines().count(), 4);
    }

    #[test]
    fn every_file_has_a_text() {
        let network = network();
        assert!(FILES.iter().all(|name| file(&network, name).is_some()));
        assert_eq!(if_inet6(&network), "00000000000000000000000000000001 01 80 10 80       lo\n");
    }
}
