//! POSIX message queues. See mq_overview(7).

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// What the socket of a notification gets is so long (`NOTIFY_COOKIE_LEN`).
pub const NOTIFY_COOKIE_LEN: usize = 32;
/// Its last byte: a message came.
pub const NOTIFY_WOKENUP: u8 = 1;
/// Its last byte: the notification was taken back.
pub const NOTIFY_REMOVED: u8 = 2;

/// `struct mq_attr`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct MqAttr {
    /// `O_NONBLOCK`, or nothing.
    pub flags: i64,
    /// How many messages there may be.
    pub maxmsg: i64,
    /// How long a message may be.
    pub msgsize: i64,
    /// How many messages there are.
    pub curmsgs: i64,
    /// Unused.
    pub reserved: [i64; 4],
}

/// Priorities are below this.
pub const MQ_PRIO_MAX: u32 = 32768;
