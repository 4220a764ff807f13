//! Sockets: families, types, options, message flags, addresses, `ioctl` numbers.

pub mod inet;
pub mod netlink;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Address families.
#[expect(missing_docs, reason = "the names are those of socket(2)")]
pub mod af {
    pub const UNSPEC: u16 = 0;
    pub const UNIX: u16 = 1;
    pub const INET: u16 = 2;
    pub const INET6: u16 = 10;
    pub const NETLINK: u16 = 16;
    pub const PACKET: u16 = 17;
    /// One more than the highest family that Linux knows.
    pub const MAX: u16 = 46;
}

/// Socket types, and the flags that travel with them.
#[expect(missing_docs, reason = "the names are those of socket(2)")]
pub mod sock {
    pub const STREAM: u32 = 1;
    pub const DGRAM: u32 = 2;
    pub const RAW: u32 = 3;
    pub const RDM: u32 = 4;
    pub const SEQPACKET: u32 = 5;
    pub const PACKET: u32 = 10;
    /// The bits that hold the type.
    pub const TYPE_MASK: u32 = 0xf;
    /// One more than the highest type that Linux knows.
    pub const MAX: u32 = 11;
    pub const NONBLOCK: u32 = 0o4000;
    pub const CLOEXEC: u32 = 0o200_0000;
}

/// Option levels of `setsockopt`.
#[expect(missing_docs, reason = "the names are those of the headers")]
pub mod sol {
    pub const IP: i32 = 0;
    pub const SOCKET: i32 = 1;
    pub const TCP: i32 = 6;
    pub const UDP: i32 = 17;
    pub const IPV6: i32 = 41;
    pub const ICMPV6: i32 = 58;
    pub const UDPLITE: i32 = 136;
    pub const RAW: i32 = 255;
    pub const NETLINK: i32 = 270;
}

/// Options of level `SOL_SOCKET`.
#[expect(missing_docs, reason = "the names are those of socket(7)")]
pub mod so {
    pub const DEBUG: i32 = 1;
    pub const REUSEADDR: i32 = 2;
    pub const TYPE: i32 = 3;
    pub const ERROR: i32 = 4;
    pub const DONTROUTE: i32 = 5;
    pub const BROADCAST: i32 = 6;
    pub const SNDBUF: i32 = 7;
    pub const RCVBUF: i32 = 8;
    pub const KEEPALIVE: i32 = 9;
    pub const OOBINLINE: i32 = 10;
    pub const NO_CHECK: i32 = 11;
    pub const PRIORITY: i32 = 12;
    pub const LINGER: i32 = 13;
    pub const BSDCOMPAT: i32 = 14;
    pub const REUSEPORT: i32 = 15;
    pub const PASSCRED: i32 = 16;
    pub const PEERCRED: i32 = 17;
    pub const RCVLOWAT: i32 = 18;
    pub const SNDLOWAT: i32 = 19;
    pub const RCVTIMEO: i32 = 20;
    pub const SNDTIMEO: i32 = 21;
    pub const BINDTODEVICE: i32 = 25;
    pub const ATTACH_FILTER: i32 = 26;
    pub const DETACH_FILTER: i32 = 27;
    pub const PEERNAME: i32 = 28;
    pub const TIMESTAMP: i32 = 29;
    pub const ACCEPTCONN: i32 = 30;
    pub const PEERSEC: i32 = 31;
    pub const SNDBUFFORCE: i32 = 32;
    pub const RCVBUFFORCE: i32 = 33;
    pub const PASSSEC: i32 = 34;
    pub const TIMESTAMPNS: i32 = 35;
    pub const MARK: i32 = 36;
    pub const TIMESTAMPING: i32 = 37;
    pub const PROTOCOL: i32 = 38;
    pub const DOMAIN: i32 = 39;
    pub const RXQ_OVFL: i32 = 40;
    pub const PEEK_OFF: i32 = 42;
    pub const LOCK_FILTER: i32 = 44;
    pub const SELECT_ERR_QUEUE: i32 = 45;
    pub const BUSY_POLL: i32 = 46;
    pub const MAX_PACING_RATE: i32 = 47;
    pub const BPF_EXTENSIONS: i32 = 48;
    pub const INCOMING_CPU: i32 = 49;
    pub const MEMINFO: i32 = 55;
    pub const INCOMING_NAPI_ID: i32 = 56;
    pub const COOKIE: i32 = 57;
    pub const PEERGROUPS: i32 = 59;
    pub const ZEROCOPY: i32 = 60;
    pub const TXTIME: i32 = 61;
    pub const BINDTOIFINDEX: i32 = 62;
    pub const TIMESTAMP_NEW: i32 = 63;
    pub const TIMESTAMPNS_NEW: i32 = 64;
    pub const TIMESTAMPING_NEW: i32 = 65;
    pub const RCVTIMEO_NEW: i32 = 66;
    pub const SNDTIMEO_NEW: i32 = 67;
    pub const NETNS_COOKIE: i32 = 71;
    pub const BUF_LOCK: i32 = 72;
    pub const TXREHASH: i32 = 74;
    pub const RCVMARK: i32 = 75;
    pub const PASSPIDFD: i32 = 76;
    pub const PEERPIDFD: i32 = 77;
    pub const PASSRIGHTS: i32 = 83;
}

/// Kinds of control messages of level `SOL_SOCKET`.
#[expect(missing_docs, reason = "the names are those of unix(7)")]
pub mod scm {
    pub const RIGHTS: i32 = 1;
    pub const CREDENTIALS: i32 = 2;
    pub const SECURITY: i32 = 3;
    pub const PIDFD: i32 = 4;
    /// The most descriptors in one message.
    pub const MAX_FD: usize = 253;
}

/// `how` of `shutdown(2)`.
#[expect(missing_docs, reason = "the names are those of shutdown(2)")]
pub mod shut {
    pub const RD: i32 = 0;
    pub const WR: i32 = 1;
    pub const RDWR: i32 = 2;
}

/// The longest address that any family has (`struct sockaddr_storage`).
pub const SOCKADDR_MAX: usize = 128;

/// The most messages in one `sendmmsg` or `recvmmsg`, and buffers in one message.
pub const UIO_MAXIOV: usize = 1024;

/// The largest number of connections that `listen` lets wait.
pub const SOMAXCONN: u32 = 4096;

bitflags::bitflags! {
    /// `MSG_*`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct MessageFlags: u32 {
        /// Urgent data.
        const OOB = 0x1;
        /// Look without taking.
        const PEEK = 0x2;
        /// Do not leave the local network.
        const DONTROUTE = 0x4;
        /// Control data was cut off.
        const CTRUNC = 0x8;
        /// Linux: probe the path.
        const PROBE = 0x10;
        /// Data was cut off; or: say the real length.
        const TRUNC = 0x20;
        /// Do not wait.
        const DONTWAIT = 0x40;
        /// End of a record.
        const EOR = 0x80;
        /// Wait for all of the data.
        const WAITALL = 0x100;
        /// Linux: finish the connection.
        const FIN = 0x200;
        /// Linux: SYN.
        const SYN = 0x400;
        /// The path is good.
        const CONFIRM = 0x800;
        /// Linux: RST.
        const RST = 0x1000;
        /// Take from the error queue.
        const ERRQUEUE = 0x2000;
        /// No `SIGPIPE`.
        const NOSIGNAL = 0x4000;
        /// More will come.
        const MORE = 0x8000;
        /// Wait for one message only (`recvmmsg`).
        const WAITFORONE = 0x10000;
        /// More messages follow (`sendmmsg`).
        const BATCH = 0x40000;
        /// Send without copying.
        const ZEROCOPY = 0x0400_0000;
        /// Connect and send at once.
        const FASTOPEN = 0x2000_0000;
        /// Close received descriptors on `execve`.
        const CMSG_CLOEXEC = 0x4000_0000;
        /// A bit that only 32-bit callers set; refused by others.
        const CMSG_COMPAT = 0x8000_0000;
    }
}

/// `struct msghdr`, as the guest lays it out.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct MsgHdr {
    /// The address of the address.
    pub name: u64,
    /// Its length.
    pub name_len: u32,
    /// Padding.
    pub pad_name: u32,
    /// The address of the buffers.
    pub iov: u64,
    /// How many buffers.
    pub iov_len: u64,
    /// The address of the control messages.
    pub control: u64,
    /// Their length.
    pub control_len: u64,
    /// `MSG_*` of what was received.
    pub flags: u32,
    /// Padding.
    pub pad_end: u32,
}

/// `struct mmsghdr`, as the guest lays it out.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct MmsgHdr {
    /// The message.
    pub header: MsgHdr,
    /// How many bytes went.
    pub len: u32,
    /// Padding.
    pub pad: u32,
}

/// `struct cmsghdr`, as the guest lays it out.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CmsgHdr {
    /// The length of header and data, without padding.
    pub len: u64,
    /// The level.
    pub level: i32,
    /// The kind.
    pub kind: i32,
}

/// `struct ucred`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct Ucred {
    /// The process.
    pub pid: u32,
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
}

impl Ucred {
    /// What is shown where nothing is known.
    pub const UNKNOWN: Self = Self { pid: 0, uid: 65534, gid: 65534 };
}

/// `struct linger`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct Linger {
    /// Whether it is in force.
    pub on: i32,
    /// Seconds.
    pub seconds: i32,
}

/// `ioctl` numbers of sockets.
#[expect(missing_docs, reason = "the names are those of netdevice(7) and socket(7)")]
pub mod sioc {
    pub const SIOCINQ: u32 = 0x541b;
    pub const SIOCOUTQ: u32 = 0x5411;
    pub const SIOCATMARK: u32 = 0x8905;
    pub const SIOCGSTAMP: u32 = 0x8906;
    pub const SIOCGSTAMPNS: u32 = 0x8907;
    pub const SIOCOUTQNSD: u32 = 0x894b;
    pub const SIOCGIFNAME: u32 = 0x8910;
    pub const SIOCGIFCONF: u32 = 0x8912;
    pub const SIOCGIFFLAGS: u32 = 0x8913;
    pub const SIOCSIFFLAGS: u32 = 0x8914;
    pub const SIOCGIFADDR: u32 = 0x8915;
    pub const SIOCSIFADDR: u32 = 0x8916;
    pub const SIOCGIFDSTADDR: u32 = 0x8917;
    pub const SIOCGIFBRDADDR: u32 = 0x8919;
    pub const SIOCGIFNETMASK: u32 = 0x891b;
    pub const SIOCGIFMETRIC: u32 = 0x891d;
    pub const SIOCGIFMTU: u32 = 0x8921;
    pub const SIOCSIFMTU: u32 = 0x8922;
    pub const SIOCGIFHWADDR: u32 = 0x8927;
    pub const SIOCGIFINDEX: u32 = 0x8933;
    pub const SIOCGIFTXQLEN: u32 = 0x8942;
    pub const SIOCETHTOOL: u32 = 0x8946;
    pub const SIOCGIFMAP: u32 = 0x8970;
}
