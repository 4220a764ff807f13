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
const WAIT_REQUEUE_PI: u64 = 11;
const CMP_REQUEUE_PI: u64 = 12;
const LOCK_PI2: u64 = 13;
const CMP_REQUEUE: u64 = 4;
const WAIT_BITSET: u64 = 9;
const MATCH_ANY: u64 = 0xffff_ffff;
const PRIVATE_FLAG: u64 = 128;
const CLOCK_REALTIME: u64 = 256;

/// Whether this is an operation on such a lock.
pub fn is_lock(operation: u64) -> bool {
    matches!(
        operation & COMMAND,
        LOCK_PI | UNLOCK_PI | TRYLOCK_PI | LOCK_PI2 | WAIT_REQUEUE_PI | CMP_REQUEUE_PI
    )
}

/// `futex` with an operation on a lock.
pub fn futex(thread: &Tcb, r: &Registers) -> Result<i64, i64> {
    let command = r.rsi & COMMAND;
    if r.rsi & CLOCK_REALTIME != 0 && !matches!(command, LOCK_PI2 | WAIT_REQUEUE_PI) {
        return Err(errno::ENOSYS);
    }
    if !r.rdi.is_multiple_of(4) {
        return Err(errno::EINVAL);
    }
    let privacy = r.rsi & PRIVATE_FLAG;
    match command {
        UNLOCK_PI => unlock(thread, r.rdi, privacy),
        TRYLOCK_PI => lock(thread, r.rdi, None, 0),
        WAIT_REQUEUE_PI => wait_for_condition(thread, r),
        CMP_REQUEUE_PI => move_waiters(r),
        command => {
            // The first of the two always meant this clock.
            let clock = if command == LOCK_PI { CLOCK_REALTIME } else { r.rsi & CLOCK_REALTIME };
            lock(thread, r.rdi, Some((WAIT_BITSET | privacy | clock, r.r10)), 0)
        }
    }
}

/// `FUTEX_WAIT_REQUEUE_PI`: waits for a condition, to be moved to the lock that belongs to it, and
/// returns with that lock.
fn wait_for_condition(thread: &Tcb, r: &Registers) -> Result<i64, i64> {
    let (condition, word) = (r.rdi, r.r8);
    if condition == word || !word.is_multiple_of(4) {
        return Err(errno::EINVAL);
    }
    let operation = WAIT_BITSET | r.rsi & (PRIVATE_FLAG | CLOCK_REALTIME);
    match futex::sleep(thread, nr::FUTEX, [condition, operation, r.rdx, r.r10, 0, MATCH_ANY]) {
        // Others may have been moved to the lock as well, and nobody else would wake them.
        0 => match lock(thread, word, Some((operation, r.r10)), WAITERS) {
            // The condition was met: to wait for it again would be to miss it.
            Ok(restart::ALWAYS) => Err(errno::EAGAIN),
            result => result,
        },
        errno::EINTR => Ok(restart::ALWAYS),
        error => Err(error),
    }
}

/// `FUTEX_CMP_REQUEUE_PI`: wakes one of those who wait for a condition, and moves others to the
/// lock, whose owner then wakes them one by one.
fn move_waiters(r: &Registers) -> Result<i64, i64> {
    let (condition, word) = (r.rdi, r.r8);
    if r.rdx as u32 != 1
        || (r.r10 as u32).cast_signed() < 0
        || condition == word
        || !word.is_multiple_of(4)
    {
        return Err(errno::EINVAL);
    }
    // Whoever has the lock shall not give it back without telling.
    loop {
        let value = get(word, 0u32)?;
        if value & TID_MASK == 0 || value & WAITERS != 0 {
            break;
        }
        if compare_exchange(word, value, value | WAITERS)? {
            break;
        }
    }
    let operation = CMP_REQUEUE | r.rsi & PRIVATE_FLAG;
    Ok(host::call6(nr::FUTEX, condition, operation, 1, r.r10, word, r.r9))
}

fn own_id(thread: &Tcb) -> u32 {
    thread.slot().ids[ids::TID].load(Relaxed)
}

/// Takes the lock. While it is another's, waits with the given operation and time-out, if any.
/// `waiters` is [`WAITERS`] if there may be some that the word does not tell of.
fn lock(thread: &Tcb, word: u64, wait: Option<(u64, u64)>, mut waiters: u32) -> Result<i64, i64> {
    let own = own_id(thread);
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
        // Whoever has waited cannot know whether others still do.
        waiters = WAITERS;
        if request(thread, nr::TKILL as u32, [owner.into(), 0, 0, 0, 0, 0]) == errno::ESRCH {
            // Who has the lock is no more, and will not give it back.
            return Err(errno::ESRCH);
        }
        let expected = u64::from(value | WAITERS);
        match futex::sleep(thread, nr::FUTEX, [word, operation, expected, timeout, 0, MATCH_ANY]) {
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
