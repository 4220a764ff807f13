//! Futexes. See futex(2).

/// In a futex word: the thread id of the owner.
pub const TID_MASK: u32 = 0x3fff_ffff;
/// In a futex word: the owner has died with the lock held.
pub const OWNER_DIED: u32 = 0x4000_0000;
/// In a futex word: somebody waits in the kernel.
pub const WAITERS: u32 = 0x8000_0000;

/// Operations of `futex(2)`.
#[expect(missing_docs, reason = "the names are those of futex(2)")]
pub mod op {
    pub const WAIT: u32 = 0;
    pub const WAKE: u32 = 1;
    pub const REQUEUE: u32 = 3;
    pub const CMP_REQUEUE: u32 = 4;
    pub const WAKE_OP: u32 = 5;
    pub const LOCK_PI: u32 = 6;
    pub const UNLOCK_PI: u32 = 7;
    pub const TRYLOCK_PI: u32 = 8;
    pub const WAIT_BITSET: u32 = 9;
    pub const WAKE_BITSET: u32 = 10;
    pub const WAIT_REQUEUE_PI: u32 = 11;
    pub const CMP_REQUEUE_PI: u32 = 12;
    pub const LOCK_PI2: u32 = 13;
    pub const PRIVATE_FLAG: u32 = 128;
    pub const CLOCK_REALTIME: u32 = 256;
}
