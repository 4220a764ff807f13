//! Internet addresses and options.

/// Protocols.
#[expect(missing_docs, reason = "the names are those of protocols(5)")]
pub mod ipproto {
    pub const IP: i32 = 0;
    pub const ICMP: i32 = 1;
    pub const TCP: i32 = 6;
    pub const UDP: i32 = 17;
    pub const ICMPV6: i32 = 58;
    pub const UDPLITE: i32 = 136;
    pub const RAW: i32 = 255;
    pub const MPTCP: i32 = 262;
    /// One more than the highest that Linux knows.
    pub const MAX: i32 = 263;
}

/// Options of level `SOL_UDPLITE`.
pub mod udplite {
    /// How many bytes of a sent datagram are covered.
    pub const SEND_CSCOV: i32 = 10;
    /// How many bytes of a received datagram have to be covered.
    pub const RECV_CSCOV: i32 = 11;
}

/// Options of level `SOL_IP`.
#[expect(missing_docs, reason = "the names are those of ip(7)")]
pub mod ip {
    pub const TOS: i32 = 1;
    pub const TTL: i32 = 2;
    pub const HDRINCL: i32 = 3;
    pub const OPTIONS: i32 = 4;
    pub const ROUTER_ALERT: i32 = 5;
    pub const RECVOPTS: i32 = 6;
    pub const RETOPTS: i32 = 7;
    pub const PKTINFO: i32 = 8;
    pub const MTU_DISCOVER: i32 = 10;
    pub const RECVERR: i32 = 11;
    pub const RECVTTL: i32 = 12;
    pub const RECVTOS: i32 = 13;
    pub const MTU: i32 = 14;
    pub const FREEBIND: i32 = 15;
    pub const TRANSPARENT: i32 = 19;
    pub const RECVORIGDSTADDR: i32 = 20;
    pub const MINTTL: i32 = 21;
    pub const NODEFRAG: i32 = 22;
    pub const BIND_ADDRESS_NO_PORT: i32 = 24;
    pub const RECVERR_RFC4884: i32 = 26;
    pub const MULTICAST_IF: i32 = 32;
    pub const MULTICAST_TTL: i32 = 33;
    pub const MULTICAST_LOOP: i32 = 34;
    pub const ADD_MEMBERSHIP: i32 = 35;
    pub const DROP_MEMBERSHIP: i32 = 36;
    pub const MCAST_JOIN_GROUP: i32 = 42;
    pub const MCAST_LEAVE_GROUP: i32 = 45;
    pub const MULTICAST_ALL: i32 = 49;
    pub const UNICAST_IF: i32 = 50;
    pub const LOCAL_PORT_RANGE: i32 = 51;
}

/// Options of level `SOL_IPV6`.
#[expect(missing_docs, reason = "the names are those of ipv6(7)")]
pub mod ipv6 {
    pub const ADDRFORM: i32 = 1;
    pub const CHECKSUM: i32 = 7;
    pub const UNICAST_HOPS: i32 = 16;
    pub const MULTICAST_IF: i32 = 17;
    pub const MULTICAST_HOPS: i32 = 18;
    pub const MULTICAST_LOOP: i32 = 19;
    pub const JOIN_GROUP: i32 = 20;
    pub const LEAVE_GROUP: i32 = 21;
    pub const MTU_DISCOVER: i32 = 23;
    pub const MTU: i32 = 24;
    pub const RECVERR: i32 = 25;
    pub const V6ONLY: i32 = 26;
    pub const MULTICAST_ALL: i32 = 29;
    pub const RECVPKTINFO: i32 = 49;
    pub const PKTINFO: i32 = 50;
    pub const RECVHOPLIMIT: i32 = 51;
    pub const HOPLIMIT: i32 = 52;
    pub const RECVTCLASS: i32 = 66;
    pub const TCLASS: i32 = 67;
    pub const AUTOFLOWLABEL: i32 = 70;
    pub const ADDR_PREFERENCES: i32 = 72;
    pub const MINHOPCOUNT: i32 = 73;
    pub const FREEBIND: i32 = 78;
    pub const DONTFRAG: i32 = 62;
    pub const RECVPATHMTU: i32 = 60;
    pub const FLOWINFO_SEND: i32 = 33;
    pub const RECVORIGDSTADDR: i32 = 74;
}

/// Options of level `SOL_TCP`.
#[expect(missing_docs, reason = "the names are those of tcp(7)")]
pub mod tcp {
    pub const NODELAY: i32 = 1;
    pub const MAXSEG: i32 = 2;
    pub const CORK: i32 = 3;
    pub const KEEPIDLE: i32 = 4;
    pub const KEEPINTVL: i32 = 5;
    pub const KEEPCNT: i32 = 6;
    pub const SYNCNT: i32 = 7;
    pub const LINGER2: i32 = 8;
    pub const DEFER_ACCEPT: i32 = 9;
    pub const WINDOW_CLAMP: i32 = 10;
    pub const INFO: i32 = 11;
    pub const QUICKACK: i32 = 12;
    pub const CONGESTION: i32 = 13;
    pub const THIN_LINEAR_TIMEOUTS: i32 = 16;
    pub const THIN_DUPACK: i32 = 17;
    pub const USER_TIMEOUT: i32 = 18;
    pub const FASTOPEN: i32 = 23;
    pub const TIMESTAMP: i32 = 24;
    pub const NOTSENT_LOWAT: i32 = 25;
    pub const SAVE_SYN: i32 = 27;
    pub const FASTOPEN_CONNECT: i32 = 30;
    pub const ULP: i32 = 31;
    pub const FASTOPEN_NO_COOKIE: i32 = 34;
    pub const INQ: i32 = 36;
    pub const TX_DELAY: i32 = 37;
}

/// Options of level `SOL_UDP`.
#[expect(missing_docs, reason = "the names are those of udp(7)")]
pub mod udp {
    pub const CORK: i32 = 1;
    pub const ENCAP: i32 = 100;
    pub const NO_CHECK6_TX: i32 = 101;
    pub const NO_CHECK6_RX: i32 = 102;
    pub const SEGMENT: i32 = 103;
    pub const GRO: i32 = 104;
}
