//! Priorities and scheduling policies.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `SCHED_*`.
#[expect(missing_docs, reason = "the names are those of sched(7)")]
pub mod sched {
    pub const OTHER: u32 = 0;
    pub const FIFO: u32 = 1;
    pub const RR: u32 = 2;
    pub const BATCH: u32 = 3;
    pub const IDLE: u32 = 5;
    pub const DEADLINE: u32 = 6;
    pub const EXT: u32 = 7;
    /// Children start with `OTHER` again; a flag beside the policy.
    pub const RESET_ON_FORK: u32 = 0x4000_0000;
}

/// `SCHED_FLAG_*`.
#[expect(missing_docs, reason = "the names are those of sched_setattr(2)")]
pub mod sched_flag {
    pub const RESET_ON_FORK: u64 = 1;
    pub const RECLAIM: u64 = 2;
    pub const DL_OVERRUN: u64 = 4;
    pub const KEEP_POLICY: u64 = 8;
    pub const KEEP_PARAMS: u64 = 16;
    pub const UTIL_CLAMP_MIN: u64 = 32;
    pub const UTIL_CLAMP_MAX: u64 = 64;
    pub const ALL: u64 = 0x7f;
}

/// Whose priority `getpriority` tells.
#[expect(missing_docs, reason = "the names are those of getpriority(2)")]
pub mod priority_target {
    pub const PROCESS: i32 = 0;
    pub const PGRP: i32 = 1;
    pub const USER: i32 = 2;
}

/// `struct sched_param`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SchedParam {
    /// The real-time priority.
    pub priority: i32,
}

/// The size of [`SchedAttr`] without the utilisation clamps.
pub const SCHED_ATTR_SIZE_VER0: u32 = 48;

/// `struct sched_attr`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SchedAttr {
    /// The size of this structure.
    pub size: u32,
    /// One of [`sched`].
    pub policy: u32,
    /// Bits of [`sched_flag`].
    pub flags: u64,
    /// The nice value.
    pub nice: i32,
    /// The real-time priority.
    pub priority: u32,
    /// Of `DEADLINE`, in nanoseconds.
    pub runtime: u64,
    /// Of `DEADLINE`, in nanoseconds.
    pub deadline: u64,
    /// Of `DEADLINE`, in nanoseconds.
    pub period: u64,
    /// Lower clamp of utilisation.
    pub util_min: u32,
    /// Upper clamp of utilisation.
    pub util_max: u32,
}
