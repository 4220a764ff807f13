//! Futexes that the host cannot serve. See futex(2).
//!
//! Plain futexes run on the host, on the guest's own memory. Those with priority inheritance hold
//! the id of their owner, and guest ids mean nothing to the host: they are served here. Nobody's
//! priority is changed; what guests rely on is that a lock is handed over in the kernel, and what
//! becomes of it when its owner dies.
//!
//! [`Futexes`] knows who waits for which lock. [`robust`] is what the kernel does with the locks
//! of a thread that dies.

pub mod robust;
#[cfg(test)]
mod tests;
mod waiter;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use kernel_core::memory::{UserMemory, UserPtr};
use linux_abi::events::futex::{OWNER_DIED, TID_MASK, WAITERS};
use linux_abi::{Errno, Pid, SysResult};

pub use waiter::FutexWait;
use waiter::Waiter;

/// How many threads may wait, in all.
const MAX_WAITERS: usize = 1 << 16;

/// Which word of memory a futex is: the same key is the same word. Equal addresses in two
/// processes are two words unless the memory behind them is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FutexKey {
    /// The address space, or the memory that is shared.
    pub space: u64,
    /// Where in it.
    pub address: u64,
}

/// A futex in the memory of the caller.
#[derive(Clone, Copy)]
pub struct FutexWord<'a> {
    /// Which it is.
    pub key: FutexKey,
    /// Its address for the caller.
    pub address: u64,
    /// The caller's memory.
    pub memory: &'a dyn UserMemory,
}

impl FutexWord<'_> {
    fn read(&self) -> SysResult<u32> {
        UserPtr::new(self.address).read(self.memory)
    }

    /// Replaces the word if it is `expected`. Returns whether it was.
    fn replace(&self, expected: u32, new: u32) -> SysResult<bool> {
        Ok(self.memory.compare_exchange_u32(self.address, expected, new)? == expected)
    }

    /// Changes the word in one step, as `change` says; `None` leaves it.
    fn update<T>(
        &self,
        mut change: impl FnMut(u32) -> SysResult<(Option<u32>, T)>,
    ) -> SysResult<T> {
        // The guest can keep changing the word, but each time it does, one of its threads gets on.
        for _ in 0..MAX_ATTEMPTS {
            let before = self.read()?;
            match change(before)? {
                (Some(new), result) if self.replace(before, new)? => return Ok(result),
                (None, result) => return Ok(result),
                _ => {}
            }
        }
        Err(Errno::EAGAIN)
    }
}

/// How often a word that changes all the time is tried.
const MAX_ATTEMPTS: usize = 128;

/// Whether a lock is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfLocked {
    /// Wait for it (`FUTEX_LOCK_PI`).
    Wait,
    /// `EAGAIN` (`FUTEX_TRYLOCK_PI`).
    Fail,
}

/// Everybody who waits for a futex with priority inheritance.
#[derive(Default)]
pub struct Futexes {
    /// Who waits for which lock, in order.
    locks: RefCell<HashMap<FutexKey, VecDeque<Rc<Waiter>>>>,
    /// Who waits for a condition, to be moved to a lock (`FUTEX_WAIT_REQUEUE_PI`).
    conditions: RefCell<HashMap<FutexKey, VecDeque<Rc<Waiter>>>>,
    /// Which contended locks each thread has.
    owned: RefCell<HashMap<Pid, HashSet<FutexKey>>>,
}

impl Futexes {
    /// Takes the lock for `tid`, or queues up for it: then the result tells when it is had.
    /// `exists` says whether a thread is alive.
    pub fn lock(
        self: &Rc<Self>,
        word: FutexWord<'_>,
        tid: Pid,
        if_locked: IfLocked,
        exists: impl Fn(Pid) -> bool,
    ) -> SysResult<Option<FutexWait>> {
        if self.try_lock(word, tid, if_locked, exists)? {
            return Ok(None);
        }
        let waiter = Waiter::for_lock(word.key, tid);
        self.enqueue(&self.locks, word.key, &waiter)?;
        Ok(Some(FutexWait::new(self, waiter)))
    }

    /// Takes the lock, or marks it as waited for. Returns whether it was taken.
    fn try_lock(
        &self,
        word: FutexWord<'_>,
        tid: Pid,
        if_locked: IfLocked,
        exists: impl Fn(Pid) -> bool,
    ) -> SysResult<bool> {
        word.update(|value| {
            let owner = value & TID_MASK;
            if owner == tid.0 {
                return Err(Errno::EDEADLK);
            }
            if owner == 0 {
                let waiters = if self.has_waiters(word.key) { WAITERS } else { 0 };
                return Ok((Some(tid.0 | value & OWNER_DIED | waiters), true));
            }
            if if_locked == IfLocked::Fail {
                return Err(Errno::EAGAIN);
            }
            if !exists(Pid(owner)) {
                return Err(Errno::ESRCH);
            }
            self.note_owner(Pid(owner), word.key);
            Ok(((value & WAITERS == 0).then_some(value | WAITERS), false))
        })
    }

    /// Remembers who has a contended lock, for the case that it dies.
    fn note_owner(&self, owner: Pid, lock: FutexKey) {
        self.owned.borrow_mut().entry(owner).or_default().insert(lock);
    }

    fn forget_owner(&self, owner: Pid, lock: FutexKey) {
        let mut owned = self.owned.borrow_mut();
        if let Some(locks) = owned.get_mut(&owner) {
            locks.remove(&lock);
            if locks.is_empty() {
                owned.remove(&owner);
            }
        }
    }

    /// Gives the lock of `tid` to whoever waits longest, or to nobody.
    pub fn unlock(&self, word: FutexWord<'_>, tid: Pid) -> SysResult<()> {
        word.update(|value| {
            if value & TID_MASK != tid.0 {
                return Err(Errno::EPERM);
            }
            Ok((Some(self.value_for_next(word.key)), ()))
        })?;
        self.hand_over(word.key, tid);
        Ok(())
    }

    /// The word when the next waiter is the owner; zero if there is none.
    fn value_for_next(&self, key: FutexKey) -> u32 {
        let locks = self.locks.borrow();
        let next = locks.get(&key).and_then(|waiters| waiters.front());
        next.map_or(0, |waiter| waiter.tid.0 | WAITERS)
    }

    /// Tells the next waiter that the lock is its own. The word says so already.
    fn hand_over(&self, key: FutexKey, from: Pid) {
        self.forget_owner(from, key);
        let next = {
            let mut locks = self.locks.borrow_mut();
            let next = locks.get_mut(&key).and_then(VecDeque::pop_front);
            if locks.get(&key).is_some_and(VecDeque::is_empty) {
                locks.remove(&key);
            }
            next
        };
        if let Some(next) = next {
            self.note_owner(next.tid, key);
            next.finish();
        }
    }

    /// Waits for the condition `word`, if that still has `expected`, to be moved to `lock` by
    /// [`requeue`](Self::requeue). When the result completes, `tid` has the lock.
    pub fn wait_requeue(
        self: &Rc<Self>,
        word: FutexWord<'_>,
        expected: u32,
        lock: FutexKey,
        tid: Pid,
    ) -> SysResult<FutexWait> {
        if word.key == lock {
            return Err(Errno::EINVAL);
        }
        if word.read()? != expected {
            return Err(Errno::EAGAIN);
        }
        let waiter = Waiter::for_condition(word.key, lock, tid);
        self.enqueue(&self.conditions, word.key, &waiter)?;
        Ok(FutexWait::new(self, waiter))
    }

    /// Moves up to `max` threads that wait for the condition `word`, if that still has `expected`,
    /// to `lock`; the first gets it if it is free. Returns how many.
    pub fn requeue(
        &self,
        word: FutexWord<'_>,
        expected: u32,
        lock: FutexWord<'_>,
        max: usize,
        exists: impl Fn(Pid) -> bool,
    ) -> SysResult<usize> {
        if word.key == lock.key {
            return Err(Errno::EINVAL);
        }
        if word.read()? != expected {
            return Err(Errno::EAGAIN);
        }
        let mut n = 0;
        while n < max {
            let first =
                self.conditions.borrow().get(&word.key).and_then(|all| all.front().cloned());
            let Some(waiter) = first else { break };
            if waiter.lock != lock.key {
                return if n > 0 { Ok(n) } else { Err(Errno::EINVAL) };
            }
            // Once the lock is marked as waited for, the others just queue up.
            let got = match n {
                0 => self.try_lock(lock, waiter.tid, IfLocked::Wait, &exists)?,
                _ => false,
            };
            self.dequeue(&self.conditions, word.key, &waiter);
            if got {
                waiter.finish();
                n += 1;
                if self.waits_for(word.key) && n < max {
                    lock.update(|value| Ok((Some(value | WAITERS), ())))?;
                    self.note_owner(waiter.tid, lock.key);
                }
                continue;
            }
            waiter.is_requeued.set(true);
            self.locks.borrow_mut().entry(lock.key).or_default().push_back(waiter);
            n += 1;
        }
        Ok(n)
    }

    fn waits_for(&self, condition: FutexKey) -> bool {
        self.conditions.borrow().contains_key(&condition)
    }

    fn has_waiters(&self, lock: FutexKey) -> bool {
        self.locks.borrow().contains_key(&lock)
    }

    /// A thread has died: the contended locks that it had go to the next, marked. `memory` is that
    /// of its process.
    pub fn owner_died(&self, tid: Pid, memory: &dyn UserMemory) {
        let owned = self.owned.borrow_mut().remove(&tid).unwrap_or_default();
        for key in owned {
            let word = FutexWord { key, address: key.address, memory };
            let is_own = word.update(|value| {
                let is_own = value & TID_MASK == tid.0;
                let next = self.value_for_next(key) | OWNER_DIED;
                Ok((is_own.then_some(next), is_own))
            });
            // Memory that is gone has no waiters that could be helped.
            if is_own == Ok(true) {
                self.hand_over(key, tid);
            }
        }
    }

    fn enqueue(
        &self,
        queues: &RefCell<HashMap<FutexKey, VecDeque<Rc<Waiter>>>>,
        key: FutexKey,
        waiter: &Rc<Waiter>,
    ) -> SysResult<()> {
        let mut queues = queues.borrow_mut();
        let waiters = queues.entry(key).or_default();
        if waiters.len() >= MAX_WAITERS {
            return Err(Errno::ENOMEM);
        }
        waiters.push_back(Rc::clone(waiter));
        Ok(())
    }

    fn dequeue(
        &self,
        queues: &RefCell<HashMap<FutexKey, VecDeque<Rc<Waiter>>>>,
        key: FutexKey,
        waiter: &Rc<Waiter>,
    ) {
        let mut queues = queues.borrow_mut();
        if let Some(waiters) = queues.get_mut(&key) {
            waiters.retain(|other| !Rc::ptr_eq(other, waiter));
            if waiters.is_empty() {
                queues.remove(&key);
            }
        }
    }

    /// The waiter does not want to wait any more.
    fn give_up(&self, waiter: &Rc<Waiter>) {
        match waiter.condition {
            Some(condition) if !waiter.is_requeued.get() => {
                self.dequeue(&self.conditions, condition, waiter);
            }
            _ => self.dequeue(&self.locks, waiter.lock, waiter),
        }
    }
}
