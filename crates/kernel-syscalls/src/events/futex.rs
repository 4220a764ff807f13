//! `futex(2)`: the operations that the host cannot serve, because they store thread ids.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::timers::{Instant, now, real_time};
use kernel_events::futex::{FutexKey, FutexWait, FutexWord, IfLocked};
use kernel_tasks::Thread;
use linux_abi::events::futex::op;
use linux_abi::time::Timespec;
use linux_abi::{Errno, Interrupted, Pid, Restart, SysResult, WaitResult};

use crate::handler::FromRegister;

/// Locks, unlocks and moves waiters of futexes with priority inheritance.
pub(crate) async fn futex(
    thread: Rc<Thread>,
    address: u64,
    operation: u32,
    value: u32,
    timeout_or_count: u64,
    address2: u64,
    value3: u32,
) -> WaitResult<u64> {
    let command = operation & !(op::PRIVATE_FLAG | op::CLOCK_REALTIME);
    let is_real_time = operation & op::CLOCK_REALTIME != 0;
    if is_real_time && !matches!(command, op::LOCK_PI2 | op::WAIT_REQUEUE_PI) {
        return Err(Errno::ENOSYS.into());
    }
    let clock = match command {
        op::LOCK_PI => Clock::Real,
        _ if is_real_time => Clock::Real,
        _ => Clock::Monotonic,
    };
    let timeout = UserPtr::new(timeout_or_count);
    match command {
        op::LOCK_PI | op::LOCK_PI2 => {
            let deadline = deadline_of(&thread, timeout, clock)?;
            lock(&thread, address, IfLocked::Wait, deadline).await
        }
        op::TRYLOCK_PI => lock(&thread, address, IfLocked::Fail, None).await,
        op::UNLOCK_PI => {
            let memory = thread.memory();
            let word = FutexWord { key: key_of(&thread, address)?, address, memory: &memory };
            thread.kernel().futexes.unlock(word, thread.tid())?;
            Ok(0)
        }
        op::WAIT_REQUEUE_PI => {
            let deadline = deadline_of(&thread, timeout, clock)?;
            wait_requeue(&thread, address, value, address2, deadline).await
        }
        op::CMP_REQUEUE_PI => {
            Ok(requeue(&thread, address, value, timeout_or_count, address2, value3)?)
        }
        _ => Err(Errno::ENOSYS.into()),
    }
}

/// Which clock an absolute time-out is of.
#[derive(Clone, Copy)]
enum Clock {
    Real,
    Monotonic,
}

fn deadline_of(
    thread: &Rc<Thread>,
    timeout: UserPtr<Timespec>,
    clock: Clock,
) -> SysResult<Option<Instant>> {
    let Some(timeout) = timeout.non_null() else { return Ok(None) };
    let nanos = timeout.read(&thread.memory())?.to_nanos().ok_or(Errno::EINVAL)?;
    Ok(Some(match clock {
        Clock::Real => now().after(nanos.saturating_sub(real_time())),
        Clock::Monotonic => Instant(nanos),
    }))
}

/// The word at an address of the caller. Also words in shared memory count as the process's own:
/// the host alone knows what memory two processes have in common.
fn key_of(thread: &Rc<Thread>, address: u64) -> SysResult<FutexKey> {
    if !address.is_multiple_of(size_of::<u32>() as u64) {
        return Err(Errno::EINVAL);
    }
    Ok(FutexKey { space: thread.process().pid.0.into(), address })
}

fn exists(thread: &Rc<Thread>) -> impl Fn(Pid) -> bool + '_ {
    |tid| thread.kernel().ids.thread(tid).is_some()
}

async fn lock(
    thread: &Rc<Thread>,
    address: u64,
    if_locked: IfLocked,
    deadline: Option<Instant>,
) -> WaitResult<u64> {
    let wait = {
        let memory = thread.memory();
        let word = FutexWord { key: key_of(thread, address)?, address, memory: &memory };
        thread.kernel().futexes.lock(word, thread.tid(), if_locked, exists(thread))?
    };
    match wait {
        Some(wait) => wait_for_lock(thread, wait, deadline).await,
        None => Ok(0),
    }
}

async fn wait_for_lock(
    thread: &Rc<Thread>,
    wait: FutexWait,
    deadline: Option<Instant>,
) -> WaitResult<u64> {
    match thread.interruptible_until(Restart::Always, deadline, wait.acquired()).await {
        Ok(Some(())) => Ok(0),
        Ok(None) => Err(Errno::ETIMEDOUT.into()),
        Err(interrupted) => Err(interrupted),
    }
}

async fn wait_requeue(
    thread: &Rc<Thread>,
    address: u64,
    expected: u32,
    address2: u64,
    deadline: Option<Instant>,
) -> WaitResult<u64> {
    let wait = {
        let memory = thread.memory();
        let word = FutexWord { key: key_of(thread, address)?, address, memory: &memory };
        let lock = key_of(thread, address2)?;
        thread.kernel().futexes.wait_requeue(word, expected, lock, thread.tid())?
    };
    match thread.interruptible_until(Restart::Always, deadline, wait.acquired()).await {
        Ok(Some(())) => Ok(0),
        Ok(None) => Err(Errno::ETIMEDOUT.into()),
        // The condition was met: to wait for it again would be to miss it.
        Err(Interrupted::Signal(_)) if wait.waits_for_lock() => Err(Errno::EAGAIN.into()),
        Err(interrupted) => Err(interrupted),
    }
}

fn requeue(
    thread: &Rc<Thread>,
    address: u64,
    n_wake: u32,
    n_requeue: u64,
    address2: u64,
    expected: u32,
) -> SysResult<u64> {
    // As in Linux, only the lower half of the register counts.
    let n_requeue = usize::try_from(i32::from_register(n_requeue)).map_err(|_| Errno::EINVAL)?;
    if n_wake != 1 {
        return Err(Errno::EINVAL);
    }
    let memory = thread.memory();
    let word = FutexWord { key: key_of(thread, address)?, address, memory: &memory };
    let lock = FutexWord { key: key_of(thread, address2)?, address: address2, memory: &memory };
    let max = n_requeue.saturating_add(1);
    let n = thread.kernel().futexes.requeue(word, expected, lock, max, exists(thread))?;
    Ok(n as u64)
}
