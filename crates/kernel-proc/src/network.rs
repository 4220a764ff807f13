//! `/proc/net`, whose texts the sockets make.

use std::rc::Rc;

use kernel_files::pseudo::Listing;
use kernel_sockets::{Network, proc_net};

const RAW: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   \
                   uid  timeout inode ref pointer drops\n";

/// Files about what a sandbox does not have: their headers.
const EMPTY: [(&str, &str); 5] = [
    ("arp", "IP address       HW type     Flags       HW address            Mask     Device\n"),
    ("icmp", RAW),
    ("ipv6_route", ""),
    ("packet", "sk       RefCnt Type Proto  Iface R Rmem   User   Inode\n"),
    ("raw", RAW),
];

pub(crate) fn listing(network: &Rc<Network>) -> Listing {
    let mut listing = Listing::new();
    for &name in proc_net::FILES {
        let network = Rc::clone(network);
        listing = listing.file(name, move || {
            Ok(proc_net::file(&network, name).unwrap_or_default().into_bytes())
        });
    }
    for (name, header) in EMPTY {
        listing = listing.constant(name, header);
    }
    listing
}
