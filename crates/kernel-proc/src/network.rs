//! `/proc/net`.

mod inet;
mod interfaces;
mod unix;

use kernel_files::pseudo::Listing;
use kernel_sockets::Network;

use crate::Sources;

const INET_HEADER: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when \
                           retrnsmt   uid  timeout inode\n";
const INET6_HEADER: &str = "  sl  local_address                         remote_address            \
                            \u{20}           st tx_queue rx_queue tr tm->when retrnsmt   uid  \
                            timeout inode\n";
const NETLINK_HEADER: &str = "sk               Eth Pid        Groups   Rmem     Wmem     Dump  \
                              Locks    Drops    Inode\n";

type Lines = fn(&Network) -> String;

fn nothing(_network: &Network) -> String {
    String::new()
}

/// The files: their header and what makes the lines below it.
const FILES: [(&str, &str, Lines); 19] = [
    (
        "arp",
        "IP address       HW type     Flags       HW address            Mask     Device\n",
        nothing,
    ),
    ("dev", interfaces::HEADER, interfaces::dev),
    ("if_inet6", "", interfaces::if_inet6),
    ("icmp", INET_HEADER, |network| inet::lines(network, &inet::ICMP)),
    ("icmp6", INET6_HEADER, |network| inet::lines(network, &inet::ICMP6)),
    ("ipv6_route", "", nothing),
    ("netlink", NETLINK_HEADER, nothing),
    ("packet", "sk       RefCnt Type Proto  Iface R Rmem   User   Inode\n", nothing),
    ("raw", INET_HEADER, nothing),
    ("raw6", INET6_HEADER, nothing),
    ("route", interfaces::ROUTE_HEADER, interfaces::route),
    ("sockstat", "", inet::sockstat),
    ("sockstat6", "", inet::sockstat6),
    ("tcp", INET_HEADER, |network| inet::lines(network, &inet::TCP)),
    ("tcp6", INET6_HEADER, |network| inet::lines(network, &inet::TCP6)),
    ("udp", INET_HEADER, |network| inet::lines(network, &inet::UDP)),
    ("udp6", INET6_HEADER, |network| inet::lines(network, &inet::UDP6)),
    ("udplite", INET_HEADER, nothing),
    ("unix", "Num       RefCount Protocol Flags    Type St Inode Path\n", unix::lines),
];

pub(crate) fn listing(sources: &Sources) -> Listing {
    FILES.iter().fold(Listing::new(), |listing, &(name, header, lines)| {
        let network = std::rc::Rc::clone(&sources.kernel.network);
        listing.file(name, move || Ok(format!("{header}{}", lines(&network)).into_bytes()))
    })
}
