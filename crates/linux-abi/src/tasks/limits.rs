//! Resource limits.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// No limit.
pub const RLIM_INFINITY: u64 = u64::MAX;

/// `struct rlimit64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Rlimit {
    /// The soft limit, in force now.
    pub current: u64,
    /// The hard limit, up to which the soft one may be raised.
    pub maximum: u64,
}

impl Rlimit {
    /// No limit at all.
    pub const UNLIMITED: Self = Self { current: RLIM_INFINITY, maximum: RLIM_INFINITY };
}

/// `RLIMIT_*`.
#[expect(missing_docs, reason = "the names are those of getrlimit(2)")]
pub mod rlimit {
    pub const CPU: usize = 0;
    pub const FSIZE: usize = 1;
    pub const DATA: usize = 2;
    pub const STACK: usize = 3;
    pub const CORE: usize = 4;
    pub const RSS: usize = 5;
    pub const NPROC: usize = 6;
    pub const NOFILE: usize = 7;
    pub const MEMLOCK: usize = 8;
    pub const AS: usize = 9;
    pub const LOCKS: usize = 10;
    pub const SIGPENDING: usize = 11;
    pub const MSGQUEUE: usize = 12;
    pub const NICE: usize = 13;
    pub const RTPRIO: usize = 14;
    pub const RTTIME: usize = 15;
    /// How many there are.
    pub const COUNT: usize = 16;
}
