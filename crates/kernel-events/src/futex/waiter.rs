//! A thread that waits for a lock.

use std::cell::Cell;
use std::rc::Rc;

use kernel_core::wait::{PollEvents, WaitQueue};
use linux_abi::Pid;

use super::{FutexKey, Futexes};

/// A thread that waits.
pub(super) struct Waiter {
    pub(super) tid: Pid,
    /// The lock that it shall have in the end.
    pub(super) lock: FutexKey,
    /// The condition that it waits for first, if any.
    pub(super) condition: Option<FutexKey>,
    /// It has been moved from the condition to the lock.
    pub(super) is_requeued: Cell<bool>,
    is_finished: Cell<bool>,
    finished: WaitQueue,
}

impl Waiter {
    pub(super) fn for_lock(lock: FutexKey, tid: Pid) -> Rc<Self> {
        Self::new(lock, None, tid)
    }

    pub(super) fn for_condition(condition: FutexKey, lock: FutexKey, tid: Pid) -> Rc<Self> {
        Self::new(lock, Some(condition), tid)
    }

    fn new(lock: FutexKey, condition: Option<FutexKey>, tid: Pid) -> Rc<Self> {
        Rc::new(Self {
            tid,
            lock,
            condition,
            is_requeued: Cell::new(false),
            is_finished: Cell::new(false),
            finished: WaitQueue::new(),
        })
    }

    /// It has the lock.
    pub(super) fn finish(&self) {
        self.is_finished.set(true);
        self.finished.wake(PollEvents::IN);
    }
}

/// A thread's wait for a lock. Dropping it gives the wait up.
pub struct FutexWait {
    futexes: Rc<Futexes>,
    waiter: Rc<Waiter>,
}

impl FutexWait {
    pub(super) fn new(futexes: &Rc<Futexes>, waiter: Rc<Waiter>) -> Self {
        Self { futexes: Rc::clone(futexes), waiter }
    }

    /// Completes when the thread has the lock.
    pub async fn acquired(&self) {
        while !self.has_lock() {
            self.waiter.finished.wait(PollEvents::IN).await;
        }
    }

    /// Whether the thread has the lock.
    pub fn has_lock(&self) -> bool {
        self.waiter.is_finished.get()
    }

    /// Whether it waits for the lock itself, and for no condition (any more).
    pub fn waits_for_lock(&self) -> bool {
        self.waiter.condition.is_none() || self.waiter.is_requeued.get()
    }
}

impl Drop for FutexWait {
    fn drop(&mut self) {
        if !self.has_lock() {
            self.futexes.give_up(&self.waiter);
        }
    }
}
