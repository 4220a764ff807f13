use super::*;

const A: Pid = Pid(100);
const B: Pid = Pid(101);
const C: Pid = Pid(102);

/// Memory of a few words, at addresses from 0 on.
struct Words(RefCell<Vec<u8>>);

impl Words {
    fn new() -> Self {
        Self(RefCell::new(vec![0; 256]))
    }

    fn at(&self, address: u64) -> FutexWord<'_> {
        FutexWord { key: FutexKey { space: 1, address }, address, memory: self }
    }

    fn value(&self, address: u64) -> u32 {
        self.at(address).read().unwrap()
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

    fn compare_exchange_u32(&self, address: u64, expected: u32, new: u32) -> SysResult<u32> {
        let before = self.value(address);
        if before == expected {
            self.set(address, new);
        }
        Ok(before)
    }
}

fn lock(futexes: &Rc<Futexes>, word: FutexWord<'_>, tid: Pid) -> SysResult<Option<FutexWait>> {
    futexes.lock(word, tid, IfLocked::Wait, |_| true)
}

#[test]
fn a_lock_is_handed_over_in_order() {
    let (memory, futexes) = (Words::new(), Rc::<Futexes>::default());
    let word = memory.at(8);
    assert!(lock(&futexes, word, A).unwrap().is_none());
    assert_eq!(memory.value(8), A.0);
    assert_eq!(lock(&futexes, word, A).err(), Some(Errno::EDEADLK));
    let second = lock(&futexes, word, B).unwrap().unwrap();
    let third = lock(&futexes, word, C).unwrap().unwrap();
    assert_eq!(memory.value(8), A.0 | WAITERS);
    assert_eq!(futexes.unlock(word, B), Err(Errno::EPERM));
    futexes.unlock(word, A).unwrap();
    assert!(second.has_lock() && !third.has_lock());
    assert_eq!(memory.value(8), B.0 | WAITERS);
    drop(third);
    futexes.unlock(word, B).unwrap();
    assert_eq!(memory.value(8), 0);
}

#[test]
fn a_dead_or_busy_owner_is_told_of() {
    let (memory, futexes) = (Words::new(), Rc::<Futexes>::default());
    let word = memory.at(8);
    memory.set(8, A.0);
    assert_eq!(futexes.lock(word, B, IfLocked::Fail, |_| true).err(), Some(Errno::EAGAIN));
    assert_eq!(futexes.lock(word, B, IfLocked::Wait, |_| false).err(), Some(Errno::ESRCH));
    memory.set(8, OWNER_DIED);
    assert!(lock(&futexes, word, B).unwrap().is_none());
    assert_eq!(memory.value(8), B.0 | OWNER_DIED);
}

#[test]
fn the_death_of_an_owner_hands_the_lock_over_with_a_mark() {
    let (memory, futexes) = (Words::new(), Rc::<Futexes>::default());
    let word = memory.at(8);
    memory.set(8, A.0);
    let second = lock(&futexes, word, B).unwrap().unwrap();
    let third = lock(&futexes, word, C).unwrap().unwrap();
    futexes.owner_died(A, &memory);
    assert!(second.has_lock() && !third.has_lock());
    assert_eq!(memory.value(8), B.0 | WAITERS | OWNER_DIED);
    futexes.owner_died(B, &memory);
    assert!(third.has_lock());
    assert_eq!(memory.value(8), C.0 | WAITERS | OWNER_DIED);
}

#[test]
fn waiters_for_a_condition_move_to_the_lock() {
    let (memory, futexes) = (Words::new(), Rc::<Futexes>::default());
    let (condition, mutex) = (memory.at(8), memory.at(16));
    memory.set(8, 7_u32);
    let early = futexes.wait_requeue(condition, 6, mutex.key, A);
    assert_eq!(early.err(), Some(Errno::EAGAIN));
    let first = futexes.wait_requeue(condition, 7, mutex.key, A).unwrap();
    let second = futexes.wait_requeue(condition, 7, mutex.key, B).unwrap();
    let wrong = futexes.requeue(condition, 7, memory.at(24), 9, |_| true);
    assert_eq!(wrong, Err(Errno::EINVAL));
    assert_eq!(futexes.requeue(condition, 7, mutex, 9, |_| true), Ok(2));
    assert!(first.has_lock() && !second.has_lock() && second.waits_for_lock());
    assert_eq!(memory.value(16), A.0 | WAITERS);
    futexes.unlock(mutex, A).unwrap();
    assert!(second.has_lock());
    assert_eq!(memory.value(16), B.0 | WAITERS);
}

#[test]
fn a_robust_list_is_marked_and_its_waiters_are_woken() {
    let memory = Words::new();
    // The head at 0: first entry, offset of the lock in an entry, pending entry. Entries are one
    // pointer long, and 8 bytes on is the lock.
    memory.set(0, [32_u64, 8, 64]);
    memory.set(32, 48_u64);
    memory.set(40, A.0 | WAITERS);
    memory.set(48, 0_u64);
    memory.set(56, B.0);
    memory.set(72, A.0);
    let mut woken = Vec::new();
    robust::mark_locks(&memory, 0x0, A, &mut |address| woken.push(address));
    assert!(woken.is_empty(), "there is no list at null");
    memory.set(128, [32_u64, 8, 64]);
    memory.set(48, 128_u64);
    robust::mark_locks(&memory, 128, A, &mut |address| woken.push(address));
    assert_eq!(woken, [40]);
    assert_eq!(memory.value(40), WAITERS | OWNER_DIED);
    assert_eq!(memory.value(56), B.0, "not its own");
    assert_eq!(memory.value(72), OWNER_DIED);
}
