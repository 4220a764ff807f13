//! Locks of a thread that dies. See get_robust_list(2).
//!
//! The thread keeps a list of the locks it holds in its own memory. All of it is the guest's
//! claim: it may be broken, endless, or name words that are no locks.

use kernel_core::memory::{UserMemory, UserPtr};
use linux_abi::events::futex::{OWNER_DIED, TID_MASK, WAITERS};
use linux_abi::{Pid, SysResult};

use super::{FutexKey, FutexWord};

/// How many locks are looked at.
const MAX_LOCKS: usize = 2048;

/// In the address of an entry: the lock has priority inheritance.
const INHERITS_PRIORITY: u64 = 1;

/// Marks every lock of the list at `head` that `tid` holds: its owner has died. Calls `wake` with
/// the address of each plain lock that somebody waits for; those with priority inheritance are
/// handed over by [`super::Futexes::owner_died`].
pub fn mark_locks(memory: &dyn UserMemory, head: u64, tid: Pid, wake: &mut dyn FnMut(u64)) {
    if head != 0 {
        // A list that cannot be read ends there, as in Linux.
        let _ = walk(memory, head, tid, wake);
    }
}

fn walk(memory: &dyn UserMemory, head: u64, tid: Pid, wake: &mut dyn FnMut(u64)) -> SysResult<()> {
    let [first, offset, pending] = UserPtr::<[u64; 3]>::new(head).read(memory)?;
    let address_of = |entry: u64| (entry & !INHERITS_PRIORITY).wrapping_add(offset);
    let mut entry = first;
    for _ in 0..MAX_LOCKS {
        if entry & !INHERITS_PRIORITY == head {
            break;
        }
        // The next entry first: the lock may be somebody else's a moment later.
        let next = UserPtr::<u64>::new(entry & !INHERITS_PRIORITY).read(memory);
        if entry & !INHERITS_PRIORITY != pending & !INHERITS_PRIORITY {
            mark(memory, address_of(entry), entry & INHERITS_PRIORITY != 0, false, tid, wake)?;
        }
        entry = next?;
    }
    if pending & !INHERITS_PRIORITY != 0 {
        mark(memory, address_of(pending), pending & INHERITS_PRIORITY != 0, true, tid, wake)?;
    }
    Ok(())
}

fn mark(
    memory: &dyn UserMemory,
    address: u64,
    inherits: bool,
    is_pending: bool,
    tid: Pid,
    wake: &mut dyn FnMut(u64),
) -> SysResult<()> {
    if !address.is_multiple_of(size_of::<u32>() as u64) {
        return Ok(());
    }
    let word = FutexWord { key: FutexKey { space: 0, address }, address, memory };
    let is_waited_for = word.update(|value| {
        // The thread had unlocked, but died before it woke somebody.
        if is_pending && !inherits && value == 0 {
            return Ok((None, true));
        }
        if value & TID_MASK != tid.0 {
            return Ok((None, false));
        }
        Ok((Some(value & WAITERS | OWNER_DIED), value & WAITERS != 0))
    })?;
    if is_waited_for && !inherits {
        wake(address);
    }
    Ok(())
}
