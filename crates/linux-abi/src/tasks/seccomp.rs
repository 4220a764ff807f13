//! `seccomp(2)`.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `operation`.
#[expect(missing_docs, reason = "the names are those of seccomp(2)")]
pub mod operation {
    pub const SET_MODE_STRICT: u32 = 0;
    pub const SET_MODE_FILTER: u32 = 1;
    pub const GET_ACTION_AVAIL: u32 = 2;
    pub const GET_NOTIF_SIZES: u32 = 3;
}

/// Modes, as `prctl` and `/proc` name them.
#[expect(missing_docs, reason = "the names are those of seccomp(2)")]
pub mod mode {
    pub const DISABLED: u64 = 0;
    pub const STRICT: u64 = 1;
    pub const FILTER: u64 = 2;
}

bitflags::bitflags! {
    /// `SECCOMP_FILTER_FLAG_*`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FilterFlags: u64 {
        /// All threads of the process get the filter.
        const TSYNC = 1;
        /// What the filter refuses is logged.
        const LOG = 2;
        /// Speculation is not limited.
        const SPEC_ALLOW = 4;
        /// A thread that is in the way is `ESRCH`, not its id.
        const TSYNC_ESRCH = 16;
    }
}

/// What a filter answers: the action in the upper half, data in the lower.
#[expect(missing_docs, reason = "the names are those of seccomp(2)")]
pub mod action {
    pub const KILL_PROCESS: u32 = 0x8000_0000;
    pub const KILL_THREAD: u32 = 0;
    pub const TRAP: u32 = 0x0003_0000;
    pub const ERRNO: u32 = 0x0005_0000;
    pub const USER_NOTIF: u32 = 0x7fc0_0000;
    pub const TRACE: u32 = 0x7ff0_0000;
    pub const LOG: u32 = 0x7ffc_0000;
    pub const ALLOW: u32 = 0x7fff_0000;
    /// The part that is the action.
    pub const MASK: u32 = 0xffff_0000;
}

/// `struct sock_filter`: one instruction of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct FilterInstruction {
    /// What to do.
    pub code: u16,
    /// How many instructions to skip if a comparison holds.
    pub if_true: u8,
    /// How many to skip if it does not.
    pub if_false: u8,
    /// The operand.
    pub operand: u32,
}

/// `struct sock_fprog`: a filter in memory.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct FilterProgram {
    /// How many instructions.
    pub length: u16,
    /// Nothing.
    pub padding: [u16; 3],
    /// Where they are.
    pub address: u64,
}
