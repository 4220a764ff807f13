//! A child of `fork` does not take the CPU away from the kernel process.
//!
//! The host lets a task that has just been made go before the one that runs where it puts it. Often
//! that is the kernel process, which would answer the child's first request. So children are born as
//! `SCHED_BATCH`, for which nobody has to make room, and are ordinary from their first instruction
//! on. Under any other policy, which somebody chose for this sandbox, nothing is changed.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use crate::host::{self, nr};
use crate::usermem::address_of;

const SCHED_OTHER: u64 = 0;
const SCHED_BATCH: u64 = 3;

/// Not zero if the sandbox has the ordinary policy.
static IS_ORDINARY: AtomicU32 = AtomicU32::new(0);

/// Looks at the policy that the sandbox was started with.
pub fn learn_policy() {
    let policy = host::call3(nr::SCHED_GETSCHEDULER, 0, 0, 0).cast_unsigned();
    IS_ORDINARY.store(u32::from(policy == SCHED_OTHER), Relaxed);
}

/// Before a process is made.
pub fn prepare() {
    set_policy(SCHED_BATCH);
}

/// Afterwards, for both of them.
pub fn finish() {
    set_policy(SCHED_OTHER);
}

fn set_policy(policy: u64) {
    if IS_ORDINARY.load(Relaxed) != 0 {
        let no_priority = 0u32;
        // If the host refuses, births take a little longer.
        host::call3(nr::SCHED_SETSCHEDULER, 0, policy, address_of(&no_priority));
    }
}
