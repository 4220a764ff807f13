//! Netlink messages.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Netlink protocols.
#[expect(missing_docs, reason = "the names are those of netlink(7)")]
pub mod protocol {
    pub const ROUTE: i32 = 0;
    pub const SOCK_DIAG: i32 = 4;
    pub const KOBJECT_UEVENT: i32 = 15;
    /// One more than the highest that Linux allows.
    pub const MAX: i32 = 32;
}

/// `struct nlmsghdr`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct NlMsgHdr {
    /// The length of header and payload.
    pub len: u32,
    /// What it is.
    pub kind: u16,
    /// `NLM_F_*`.
    pub flags: u16,
    /// The number of the request.
    pub sequence: u32,
    /// The port of the sender.
    pub port: u32,
}

/// Kinds of messages that all protocols have.
#[expect(missing_docs, reason = "the names are those of netlink(7)")]
pub mod nlmsg {
    pub const NOOP: u16 = 1;
    pub const ERROR: u16 = 2;
    pub const DONE: u16 = 3;
    /// The lowest kind that a protocol may use.
    pub const MIN_TYPE: u16 = 16;
}

/// Flags of messages.
#[expect(missing_docs, reason = "the names are those of netlink(7)")]
pub mod nlm_f {
    pub const REQUEST: u16 = 1;
    pub const MULTI: u16 = 2;
    pub const ACK: u16 = 4;
    pub const DUMP: u16 = 0x300;
    /// Of an acknowledgement: the request is not repeated in it.
    pub const CAPPED: u16 = 0x100;
}

/// Kinds of messages of `NETLINK_ROUTE`.
#[expect(missing_docs, reason = "the names are those of rtnetlink(7)")]
pub mod rtm {
    pub const NEWLINK: u16 = 16;
    pub const GETLINK: u16 = 18;
    pub const NEWADDR: u16 = 20;
    pub const GETADDR: u16 = 22;
    pub const NEWROUTE: u16 = 24;
    pub const GETROUTE: u16 = 26;
    pub const GETNEIGH: u16 = 30;
    pub const GETRULE: u16 = 34;
    /// The highest kind that Linux knows.
    pub const MAX: u16 = 123;
}

/// Attributes of links.
#[expect(missing_docs, reason = "the names are those of rtnetlink(7)")]
pub mod ifla {
    pub const ADDRESS: u16 = 1;
    pub const BROADCAST: u16 = 2;
    pub const IFNAME: u16 = 3;
    pub const MTU: u16 = 4;
    pub const QDISC: u16 = 6;
    pub const TXQLEN: u16 = 13;
    pub const OPERSTATE: u16 = 16;
    pub const LINKMODE: u16 = 17;
    pub const GROUP: u16 = 27;
    pub const PROMISCUITY: u16 = 30;
    pub const NUM_TX_QUEUES: u16 = 31;
    pub const NUM_RX_QUEUES: u16 = 32;
    pub const CARRIER: u16 = 33;
}

/// Attributes of addresses.
#[expect(missing_docs, reason = "the names are those of rtnetlink(7)")]
pub mod ifa {
    pub const ADDRESS: u16 = 1;
    pub const LOCAL: u16 = 2;
    pub const LABEL: u16 = 3;
    pub const BROADCAST: u16 = 4;
    pub const CACHEINFO: u16 = 6;
    pub const FLAGS: u16 = 8;
    /// The address does not age.
    pub const F_PERMANENT: u32 = 0x80;
}

/// Attributes of routes, and values in them.
#[expect(missing_docs, reason = "the names are those of rtnetlink(7)")]
pub mod rta {
    pub const DST: u16 = 1;
    pub const OIF: u16 = 4;
    pub const GATEWAY: u16 = 5;
    pub const PREFSRC: u16 = 7;
    pub const TABLE: u16 = 15;
    pub const TABLE_MAIN: u8 = 254;
    pub const TABLE_LOCAL: u8 = 255;
    pub const SCOPE_UNIVERSE: u8 = 0;
    pub const SCOPE_LINK: u8 = 253;
    pub const SCOPE_HOST: u8 = 254;
    pub const PROTO_KERNEL: u8 = 2;
    pub const PROTO_BOOT: u8 = 3;
    pub const TYPE_UNICAST: u8 = 1;
    pub const TYPE_LOCAL: u8 = 2;
}
