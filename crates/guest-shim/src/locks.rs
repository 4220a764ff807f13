//! Futexes with priority inheritance: locks that hold the id of their owner.
//!
//! Guest ids mean nothing to the host, so its own do not serve. What a guest can see of them is
//! made here of the host's plain futexes, on the word itself, and so also between processes that
//! share it. Nobody's priority changes, and a lock that becomes free goes to whoever takes it
//! first.

use core::sync::atomic::Ordering::Relaxed;

use channel_abi::ids;
use channel_abi::request::restart;

use crate::channel::request;
use crate::entry::Registers;
use crate::futex::{self, COMMAND};
use crate::host::{self, errno, nr};
use crate::robust::{OWNER_DIED, TID_MASK, WAITERS};
use crate::thread::Tcb;
use crate::usermem::{compare_exchange, get};

const LOCK_PI: u64 = 6;
const UNLOCK_PI: u64 = 7;
const TRYLOCK_PI: u64 = 8;
const LOCK_PI2: u64 = 13;
const WAIT_BITSET: u64 = 9;
const MATCH_ANY: u64 = 0xffff_ffff;
const PRIVATE_FLAG: u64 = 128;
const CLOCK_REALTIME: u64 = 256;

/// Whether this is an operation on such a lock.
pub fn is_lock(operation: u64) -> bool {
    matches!(operation & COMMAND, LOCK_PI | UNLOCK_PI | TRYLOCK_PI | LOCK_PI2)
}

/// `futex` with an operation on a lock.
pub fn futex(thread: &Tcb, r: &Registers) -> Result<i64, i64> {
    let command = r.rsi & COMMAND;
    if r.rsi & CLOCK_REALTIME != 0 && command != LOCK_PI2 {
        return Err(errno::ENOSYS);
    }
    if !r.rdi.is_multiple_of(4) {
        return Err(errno::EINVAL);
    }
    let privacy = r.rsi & PRIVATE_FLAG;
    match command {
        UNLOCK_PI => unlock(thread, r.rdi, privacy),
        TRYLOCK_PI => lock(thread, r.rdi, None),
        command => {
            // The first of the two always meant this clock.
            let clock = if command == LOCK_PI { CLOCK_REALTIME } else { r.rsi & CLOCK_REALTIME };
            lock(thread, r.rdi, Some((WAIT_BITSET | privacy | clock, r.r10)))
        }
    }
}

fn own_id(thread: &Tcb) -> u32 {
    thread.slot().ids[ids::TID].load(Relaxed)
}

/// Takes the lock. While it is another's, waits with the given operation and time-out, if any.
fn lock(thread: &Tcb, word: u64, wait: Option<(u64, u64)>) -> Result<i64, i64> {
    let own = own_id(thread);
    // Whoever has waited cannot know whether others still do.
    let mut waiters = 0;
    loop {
        let value = get(word, 0u32)?;
        let owner = value & TID_MASK;
        if owner == own {
            return Err(errno::EDEADLK);
        }
        if owner == 0 {
            let kept = value & (OWNER_DIED | WAITERS);
            if compare_exchange(word, value, own | kept | waiters)? {
                return Ok(0);
            }
            continue;
        }
        let Some((operation, timeout)) = wait else { return Err(errno::EAGAIN) };
        if value & WAITERS == 0 && !compare_exchange(word, value, value | WAITERS)? {
            continue;
        }
        waiters = WAITERS;
        if request(thread, nr::TKILL as u32, [owner.into(), 0, 0, 0, 0, 0]) == errno::ESRCH {
            // Who has the lock is no more, and will not give it back.
            return Err(errno::ESRCH);
        }
        let expected = u64::from(value | WAITERS);
        match futex::sleep(thread, &[word, operation, expected, timeout, 0, MATCH_ANY]) {
            0 | errno::EAGAIN => {}
            errno::EINTR => return Ok(restart::ALWAYS),
            error => return Err(error),
        }
    }
}

/// Gives the lock back, and wakes one of those who wait for it.
fn unlock(thread: &Tcb, word: u64, privacy: u64) -> Result<i64, i64> {
    let own = own_id(thread);
    loop {
        let value = get(word, 0u32)?;
        if value & TID_MASK != own {
            return Err(errno::EPERM);
        }
        if !compare_exchange(word, value, 0)? {
            continue;
        }
        if value & WAITERS != 0 {
            host::call4(nr::FUTEX, word, host::futex::WAKE | privacy, 1, 0);
        }
        return Ok(0);
    }
}
