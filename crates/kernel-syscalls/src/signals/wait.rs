//! `rt_sigpending(2)`, `rt_sigtimedwait(2)`, `rt_sigsuspend(2)`, `pause(2)`, `rt_sigprocmask(2)`.

use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::task::Poll;

use kernel_core::memory::{UserMemory, UserPtr};
use kernel_core::timers::now;
use kernel_tasks::Thread;
use linux_abi::signals::{SigInfo, SigSet, how};
use linux_abi::time::Timespec;
use linux_abi::{Errno, Interrupted, Restart, SysResult, WaitResult};
use zerocopy::IntoBytes;

use super::check_set_size;

/// The blocked signals that wait.
pub(crate) fn rt_sigpending(
    thread: &Rc<Thread>,
    place: UserPtr<SigSet>,
    set_size: usize,
) -> SysResult<()> {
    if set_size > size_of::<SigSet>() {
        return Err(Errno::EINVAL);
    }
    let pending = thread.pending_signals().and(thread.mask());
    let bytes = pending.as_bytes().get(..set_size).unwrap_or_default();
    thread.memory().write(place.address(), bytes)
}

/// Changes the mask. The shim does this by itself; a request that arrives here is answered alike.
pub(crate) fn rt_sigprocmask(
    thread: &Rc<Thread>,
    operation: u32,
    new: UserPtr<SigSet>,
    old: UserPtr<SigSet>,
    set_size: u64,
) -> SysResult<()> {
    check_set_size(set_size)?;
    let memory = thread.memory();
    let previous = thread.mask();
    if let Some(new) = new.non_null() {
        let set = new.read(&memory)?;
        thread.set_mask(match operation {
            how::BLOCK => previous.union(set),
            how::UNBLOCK => previous.without(set),
            how::SETMASK => set,
            _ => return Err(Errno::EINVAL),
        });
    }
    old.write_if_wanted(&memory, &previous)
}

/// Takes one of some blocked signals, or waits for one.
pub(crate) async fn rt_sigtimedwait(
    thread: Rc<Thread>,
    wanted: UserPtr<SigSet>,
    info: UserPtr<SigInfo>,
    timeout: UserPtr<Timespec>,
    set_size: u64,
) -> WaitResult<u32> {
    check_set_size(set_size)?;
    let memory = thread.memory();
    let wanted = wanted.read(&memory)?.without(SigSet::UNBLOCKABLE);
    let deadline = match timeout.non_null() {
        Some(timeout) => {
            let nanos = timeout.read(&memory)?.to_nanos().ok_or(Errno::EINVAL)?;
            Some(now().after(nanos))
        }
        None => None,
    };
    // An arrival kicks this thread, which has the attempt made again.
    let arrival = poll_fn(|_| match thread.take_signal(wanted) {
        Some(taken) => Poll::Ready(taken),
        None => Poll::Pending,
    });
    thread.set_waits_for(wanted);
    let result = thread.interruptible_until(Restart::IfAsked, deadline, arrival).await;
    thread.set_waits_for(SigSet::EMPTY);
    let (signal, taken) = match result {
        Ok(Some(taken)) => taken,
        Ok(None) => return Err(Errno::EAGAIN.into()),
        // Another signal came. The call is not made again whatever its handler wants.
        Err(Interrupted::Signal(_)) => return Err(Errno::EINTR.into()),
        Err(other) => return Err(other),
    };
    info.write_if_wanted(&memory, &taken)?;
    Ok(signal.number())
}

/// Waits under another mask for a signal that has a handler.
pub(crate) async fn rt_sigsuspend(
    thread: Rc<Thread>,
    mask: UserPtr<SigSet>,
    set_size: u64,
) -> WaitResult<()> {
    check_set_size(set_size)?;
    let mask = mask.read(&thread.memory())?;
    let wait = thread.interruptible(Restart::IfNoHandler, pending::<()>());
    thread.with_mask(Some(mask), wait).await
}

/// Waits for a signal that has a handler.
pub(crate) async fn pause(thread: Rc<Thread>) -> WaitResult<()> {
    thread.interruptible(Restart::IfNoHandler, pending::<()>()).await
}
