//! The operations of one `semop`: all of them at once, or none.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use kernel_core::wait::{PollEvents, WaitQueue};
use linux_abi::events::sysv::{IPC_NOWAIT, SEM_UNDO, SemBuf};
use linux_abi::{Errno, Pid, SysResult};

use super::{SEMVMX, SemSet, Semaphore, seconds};

/// Whether an operation is taken back when its process ends.
pub(super) fn is_undone(operation: &SemBuf) -> bool {
    u32::from(operation.flags) & SEM_UNDO != 0
}

/// How an attempt ended.
pub(super) enum Outcome {
    Done,
    Failed(Errno),
    /// This operation cannot proceed.
    Waits(SemBuf),
}

impl SemSet {
    /// Carries out all of `operations`, or none of them.
    pub(super) fn attempt(&self, operations: &[SemBuf], pid: Pid) -> Outcome {
        let mut semaphores = self.semaphores.borrow_mut();
        let mut undo = self.undo.borrow_mut();
        let n = semaphores.len();
        for (n_done, operation) in operations.iter().enumerate() {
            let number = usize::from(operation.number);
            let Some(semaphore) = semaphores.get_mut(number) else {
                return Outcome::Failed(Errno::EFBIG);
            };
            let op = i32::from(operation.op);
            let value = semaphore.value + op;
            let adjustment = if is_undone(operation) {
                undo.get(&pid).and_then(|all| all.get(number)).copied().unwrap_or(0) - op
            } else {
                0
            };
            let failure = if value < 0 || (op == 0 && semaphore.value != 0) {
                Some(if u32::from(operation.flags) & IPC_NOWAIT != 0 {
                    Outcome::Failed(Errno::EAGAIN)
                } else {
                    Outcome::Waits(*operation)
                })
            } else if value > SEMVMX || !(-SEMVMX - 1..=SEMVMX).contains(&adjustment) {
                Some(Outcome::Failed(Errno::ERANGE))
            } else {
                None
            };
            if let Some(failure) = failure {
                let done = operations.get(..n_done).unwrap_or_default();
                roll_back(done, &mut semaphores, undo.get_mut(&pid));
                return failure;
            }
            semaphore.value = value;
            if is_undone(operation) {
                let all = undo.entry(pid).or_insert_with(|| vec![0; n]);
                if let Some(place) = all.get_mut(number) {
                    *place = adjustment;
                }
            }
        }
        for operation in operations {
            if let Some(semaphore) = semaphores.get_mut(usize::from(operation.number)) {
                semaphore.last_pid = pid.0;
            }
        }
        self.otime.set(seconds());
        Outcome::Done
    }

    /// Carries out, in the order of arrival, what has become possible; from the start again after
    /// each change, because one may make way for an earlier one.
    pub(super) fn carry_out_pending(&self) {
        let mut index = 0;
        loop {
            let Some(pending) = self.pending.borrow().get(index).cloned() else { return };
            let result = match self.attempt(&pending.operations, pending.pid) {
                Outcome::Waits(blocking) => {
                    pending.blocking.set(blocking);
                    index += 1;
                    continue;
                }
                Outcome::Done => Ok(()),
                Outcome::Failed(errno) => Err(errno),
            };
            self.pending.borrow_mut().remove(index);
            if result.is_ok() && pending.operations.iter().any(|operation| operation.op != 0) {
                index = 0;
            }
            pending.finish(result);
        }
    }
}

fn roll_back(done: &[SemBuf], semaphores: &mut [Semaphore], mut undo: Option<&mut Vec<i32>>) {
    for operation in done.iter().rev() {
        let (number, op) = (usize::from(operation.number), i32::from(operation.op));
        if let Some(semaphore) = semaphores.get_mut(number) {
            semaphore.value -= op;
        }
        if is_undone(operation)
            && let Some(place) = undo.as_mut().and_then(|all| all.get_mut(number))
        {
            *place += op;
        }
    }
}

/// A call that waits.
pub(super) struct Pending {
    operations: Vec<SemBuf>,
    pid: Pid,
    /// The operation that could not proceed when last tried.
    pub(super) blocking: Cell<SemBuf>,
    result: RefCell<Option<SysResult<()>>>,
    finished: WaitQueue,
}

impl Pending {
    pub(super) fn new(operations: Vec<SemBuf>, pid: Pid, blocking: SemBuf) -> Rc<Self> {
        Rc::new(Self {
            operations,
            pid,
            blocking: Cell::new(blocking),
            result: RefCell::default(),
            finished: WaitQueue::new(),
        })
    }

    pub(super) fn finish(&self, result: SysResult<()>) {
        *self.result.borrow_mut() = Some(result);
        self.finished.wake(PollEvents::IN);
    }
}

/// A call that waits for its turn. Dropping it gives the place up.
pub struct SemWait {
    set: Weak<SemSet>,
    pending: Rc<Pending>,
}

impl SemWait {
    pub(super) fn new(set: &Rc<SemSet>, pending: Rc<Pending>) -> Self {
        Self { set: Rc::downgrade(set), pending }
    }

    /// Completes when the operations were carried out, or cannot be any more.
    pub async fn finished(&self) -> SysResult<()> {
        loop {
            if let Some(result) = self.result() {
                return result;
            }
            self.pending.finished.wait(PollEvents::IN).await;
        }
    }

    /// The result, if there is one.
    pub fn result(&self) -> Option<SysResult<()>> {
        *self.pending.result.borrow()
    }
}

impl Drop for SemWait {
    fn drop(&mut self) {
        if let Some(set) = self.set.upgrade() {
            set.pending.borrow_mut().retain(|other| !Rc::ptr_eq(other, &self.pending));
        }
    }
}
