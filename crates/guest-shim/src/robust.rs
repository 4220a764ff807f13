//! Robust futexes: what a dying thread owes to those who wait for its locks.

use core::sync::atomic::Ordering::{Relaxed, SeqCst};

use channel_abi::ids;

use crate::host::{self, nr};
use crate::thread::Tcb;
use crate::usermem::{compare_exchange, get};

/// In a lock's word.
pub const OWNER_DIED: u32 = 0x4000_0000;
/// In a lock's word.
pub const WAITERS: u32 = 0x8000_0000;
/// In a lock's word.
pub const TID_MASK: u32 = 0x3fff_ffff;
/// A list may be a ring by mistake or by malice.
const MAX_ENTRIES: usize = 2048;

/// Marks every lock that this thread holds as abandoned, as the kernel does when a thread ends.
pub fn abandon_locks(thread: &Tcb) {
    // Once: the kernel walks the list of a thread that it kills.
    let head = thread.slot().robust_list.swap(0, SeqCst);
    if head == 0 {
        return;
    }
    let Ok([first, offset, pending]) = get(head, [0u64; 3]) else { return };
    let mut entry = first & !1;
    for _ in 0..MAX_ENTRIES {
        if entry == head {
            break;
        }
        // The next entry is read before the lock is given away.
        let next = get(entry, 0u64);
        if entry != pending & !1 {
            abandon(thread, entry.wrapping_add(offset));
        }
        match next {
            Ok(next) => entry = next & !1,
            Err(_) => return,
        }
    }
    if pending != 0 {
        abandon(thread, (pending & !1).wrapping_add(offset));
    }
}

fn abandon(thread: &Tcb, word: u64) {
    let tid = thread.slot().ids[ids::TID].load(Relaxed);
    while let Ok(value) = get(word, 0u32) {
        if value & TID_MASK != tid {
            return;
        }
        match compare_exchange(word, value, value & WAITERS | OWNER_DIED) {
            Ok(false) => continue,
            Ok(true) if value & WAITERS != 0 => {
                host::call4(nr::FUTEX, word, host::futex::WAKE, 1, 0);
                return;
            }
            _ => return,
        }
    }
}
