//! Locks of a thread that is killed. See get_robust_list(2).
//!
//! Futexes run on the host, on the guest's own memory, and a thread that ends by itself gives its
//! locks back by itself: see the shim. One that is killed cannot. It has a list of the locks that
//! it holds in its memory. All of it is the guest's claim: it may be broken, endless, or name words
//! that are no locks.

use kernel_core::memory::{UserMemory, UserPtr};
use linux_abi::events::futex::{OWNER_DIED, TID_MASK, WAITERS};
use linux_abi::{Pid, SysResult};

/// How many locks are looked at.
const MAX_LOCKS: usize = 2048;

/// In the address of an entry: the lock has priority inheritance.
const INHERITS_PRIORITY: u64 = 1;

/// Marks every lock of the list at `head` that `tid` holds: its owner has died. Returns whether
/// somebody may wait for one of them.
pub fn mark_locks(memory: &dyn UserMemory, head: u64, tid: Pid) -> bool {
    let mut marker = Marker { memory, tid, is_waited_for: false };
    if head != 0 {
        // A list that cannot be read ends there, as in Linux.
        let _ = marker.walk(head);
    }
    marker.is_waited_for
}

struct Marker<'m> {
    memory: &'m dyn UserMemory,
    tid: Pid,
    is_waited_for: bool,
}

impl Marker<'_> {
    fn walk(&mut self, head: u64) -> SysResult<()> {
        let [first, offset, pending] = UserPtr::<[u64; 3]>::new(head).read(self.memory)?;
        let pending = pending & !INHERITS_PRIORITY;
        let mut entry = first & !INHERITS_PRIORITY;
        for _ in 0..MAX_LOCKS {
            if entry == head {
                break;
            }
            // The next entry first: the lock may be somebody else's a moment later.
            let next = UserPtr::<u64>::new(entry).read(self.memory);
            if entry != pending {
                self.mark(entry.wrapping_add(offset))?;
            }
            entry = next? & !INHERITS_PRIORITY;
        }
        if pending != 0 {
            self.mark(pending.wrapping_add(offset))?;
        }
        Ok(())
    }

    fn mark(&mut self, address: u64) -> SysResult<()> {
        if !address.is_multiple_of(size_of::<u32>() as u64) {
            return Ok(());
        }
        let word = UserPtr::<u32>::new(address);
        let value = word.read(self.memory)?;
        if value & TID_MASK == self.tid.0 {
            word.write(self.memory, &(value & WAITERS | OWNER_DIED))?;
            // Whoever came to wait between these two steps is not in the value.
            self.is_waited_for = true;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use linux_abi::Errno;

    use super::*;

    const A: Pid = Pid(100);
    const B: Pid = Pid(101);

    /// Memory of a few words, at addresses from 0 on.
    struct Words(RefCell<Vec<u8>>);

    impl Words {
        fn value(&self, address: u64) -> u32 {
            UserPtr::new(address).read(self).unwrap()
        }

        fn set<T: zerocopy::IntoBytes + zerocopy::Immutable>(&self, address: u64, value: T) {
            UserPtr::new(address).write(self, &value).unwrap();
        }
    }

    impl UserMemory for Words {
        fn read_some(&self, address: u64, buffer: &mut [u8]) -> SysResult<usize> {
            let start = usize::try_from(address).unwrap();
            let bytes = self.0.borrow();
            let from = bytes.get(start..start + buffer.len()).ok_or(Errno::EFAULT)?;
            buffer.copy_from_slice(from);
            Ok(buffer.len())
        }

        fn write_some(&self, address: u64, bytes: &[u8]) -> SysResult<usize> {
            let start = usize::try_from(address).unwrap();
            let mut all = self.0.borrow_mut();
            all.get_mut(start..start + bytes.len()).ok_or(Errno::EFAULT)?.copy_from_slice(bytes);
            Ok(bytes.len())
        }
    }

    #[test]
    fn a_list_is_marked() {
        let memory = Words(RefCell::new(vec![0; 256]));
        // The head at 128: first entry, offset of the lock in an entry, pending entry. Entries are
        // one pointer long, and 8 bytes on is the lock.
        memory.set(128, [32_u64, 8, 64]);
        memory.set(32, 48_u64);
        memory.set(40, A.0 | WAITERS);
        memory.set(48, 128_u64);
        memory.set(56, B.0);
        memory.set(72, A.0);
        assert!(!mark_locks(&memory, 0, A), "there is no list at null");
        assert!(!mark_locks(&memory, 128, Pid(7)), "no lock is its own");
        assert!(mark_locks(&memory, 128, A));
        assert_eq!(memory.value(40), WAITERS | OWNER_DIED);
        assert_eq!(memory.value(56), B.0, "not its own");
        assert_eq!(memory.value(72), OWNER_DIED);
        assert!(!mark_locks(&memory, 128, A), "once is enough");
    }

    #[test]
    fn an_endless_list_ends() {
        let memory = Words(RefCell::new(vec![0; 256]));
        memory.set(128, [32_u64, 8, 0]);
        memory.set(32, 32_u64);
        assert!(!mark_locks(&memory, 128, A));
        assert!(!mark_locks(&memory, 1 << 40, A));
    }
}
