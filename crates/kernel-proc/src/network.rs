//! `/proc/net`.

use std::rc::Rc;

use kernel_files::pseudo::Listing;

use crate::Sources;

/// What the sockets have to say. Implemented where sockets are.
pub trait NetworkText {
    /// The lines of a file of `/proc/net` below its header; empty if there are none.
    fn lines(&self, file: &str) -> String {
        let _ = file;
        String::new()
    }
}

/// A sandbox whose sockets tell nothing.
impl NetworkText for () {}

const INET_HEADER: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when \
                           retrnsmt   uid  timeout inode\n";
const INET6_HEADER: &str = "  sl  local_address                         remote_address            \
                            \u{20}           st tx_queue rx_queue tr tm->when retrnsmt   uid  \
                            timeout inode\n";

/// The files of `/proc/net` and their headers.
const FILES: [(&str, &str); 18] = [
    ("arp", "IP address       HW type     Flags       HW address            Mask     Device\n"),
    (
        "dev",
        "Inter-|   Receive                                                |  Transmit\n face \
         |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop \
         fifo colls carrier compressed\n",
    ),
    ("if_inet6", ""),
    ("icmp", INET_HEADER),
    ("ipv6_route", ""),
    (
        "netlink",
        "sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode\n",
    ),
    ("packet", "sk       RefCnt Type Proto  Iface R Rmem   User   Inode\n"),
    ("raw", INET_HEADER),
    ("raw6", INET6_HEADER),
    (
        "route",
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n",
    ),
    ("sockstat", ""),
    ("sockstat6", ""),
    ("tcp", INET_HEADER),
    ("tcp6", INET6_HEADER),
    ("udp", INET_HEADER),
    ("udp6", INET6_HEADER),
    ("udplite", INET_HEADER),
    ("unix", "Num       RefCount Protocol Flags    Type St Inode Path\n"),
];

pub(crate) fn listing(sources: &Sources) -> Listing {
    FILES.iter().fold(Listing::new(), |listing, &(name, header)| {
        let network = Rc::clone(&sources.network);
        listing.file(name, move || Ok(format!("{header}{}", network.lines(name)).into_bytes()))
    })
}
