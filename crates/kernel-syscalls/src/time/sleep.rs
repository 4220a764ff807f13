//! `nanosleep(2)`, `clock_nanosleep(2)`, `restart_syscall(2)`.
//!
//! A relative sleep that is interrupted leaves its end behind as a continuation, so that stops and
//! signals without handlers make it neither longer nor shorter.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_tasks::Thread;
use kernel_tasks::clocks::Clock;
use linux_abi::time::{TIMER_ABSTIME, Timespec, clock};
use linux_abi::{Errno, Interrupted, Restart, WaitResult};

/// Sleeps for some time.
pub(crate) async fn nanosleep(
    thread: Rc<Thread>,
    time: UserPtr<Timespec>,
    left: UserPtr<Timespec>,
) -> WaitResult<u64> {
    let time = time.read(&thread.memory())?.to_nanos().ok_or(Errno::EINVAL)?;
    let end = Clock::Monotonic.now().saturating_add(time);
    sleep_relative(thread, Clock::Monotonic, end, left).await
}

/// Sleeps for some time, or until some time, on a clock.
pub(crate) async fn clock_nanosleep(
    thread: Rc<Thread>,
    id: i32,
    flags: u32,
    time: UserPtr<Timespec>,
    left: UserPtr<Timespec>,
) -> WaitResult<u64> {
    let clock = Clock::find(&thread, id)?;
    match id {
        clock::MONOTONIC_RAW | clock::REALTIME_COARSE | clock::MONOTONIC_COARSE => {
            return Err(Errno::EOPNOTSUPP.into());
        }
        // A thread that sleeps does not use the time it would sleep for.
        clock::THREAD_CPUTIME_ID => return Err(Errno::EINVAL.into()),
        _ => {}
    }
    let time = time.read(&thread.memory())?.to_nanos().ok_or(Errno::EINVAL)?;
    if flags & TIMER_ABSTIME != 0 {
        sleep(&thread, Restart::IfNoHandler, &clock, time).await?;
        return Ok(0);
    }
    // What the clock shows may jump; how long a time is does not.
    let clock = if clock.is_cpu_clock() { clock } else { Clock::Monotonic };
    let end = clock.now().saturating_add(time);
    sleep_relative(thread, clock, end, left).await
}

async fn sleep_relative(
    thread: Rc<Thread>,
    clock: Clock,
    end: u64,
    left: UserPtr<Timespec>,
) -> WaitResult<u64> {
    match sleep(&thread, Restart::Continuation, &clock, end).await {
        Ok(()) => Ok(0),
        Err(interrupted @ Interrupted::Signal(_)) => {
            let rest = end.saturating_sub(clock.now());
            if rest == 0 {
                return Ok(0);
            }
            left.write_if_wanted(&thread.memory(), &Timespec::from_nanos(rest))?;
            thread.set_continuation(Box::new(move |thread| {
                Box::pin(sleep_relative(thread, clock, end, left))
            }));
            Err(interrupted)
        }
        Err(other) => Err(other),
    }
}

async fn sleep(thread: &Thread, restart: Restart, clock: &Clock, end: u64) -> WaitResult<()> {
    while clock.now() < end {
        let timer = thread.kernel().timers.sleep_until(clock.deadline(end));
        thread.interruptible(restart, timer).await?;
    }
    Ok(())
}

/// Goes on with the call that was interrupted last.
pub(crate) async fn restart_syscall(thread: Rc<Thread>) -> WaitResult<u64> {
    match thread.take_continuation() {
        Some(continuation) => continuation(thread).await,
        None => Err(Errno::EINTR.into()),
    }
}
