//! Used resources.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::time::Timeval;

/// `struct rusage`. What Linux does not keep is zero.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Rusage {
    /// Time in user mode.
    pub user_time: Timeval,
    /// Time in system calls.
    pub system_time: Timeval,
    /// The largest resident memory, in kilobytes.
    pub max_resident_kb: i64,
    /// `ru_ixrss`, `ru_idrss`, `ru_isrss`.
    pub unused_sizes: [i64; 3],
    /// Faults without I/O.
    pub minor_faults: i64,
    /// Faults with I/O.
    pub major_faults: i64,
    /// `ru_nswap`.
    pub swaps: i64,
    /// Blocks read.
    pub blocks_in: i64,
    /// Blocks written.
    pub blocks_out: i64,
    /// `ru_msgsnd`, `ru_msgrcv`, `ru_nsignals`.
    pub unused_counts: [i64; 3],
    /// Switches because the thread waited.
    pub voluntary_switches: i64,
    /// Switches because its time was up.
    pub involuntary_switches: i64,
}

/// Whose usage `getrusage` tells.
#[expect(missing_docs, reason = "the names are those of getrusage(2)")]
pub mod usage_of {
    pub const SELF: i32 = 0;
    pub const CHILDREN: i32 = -1;
    pub const THREAD: i32 = 1;
}

/// `struct tms`, in clock ticks.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Tms {
    /// User time.
    pub user: u64,
    /// System time.
    pub system: u64,
    /// User time of waited-for children.
    pub children_user: u64,
    /// System time of waited-for children.
    pub children_system: u64,
}
