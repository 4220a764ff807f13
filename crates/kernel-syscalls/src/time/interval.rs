//! `alarm(2)`, `getitimer(2)`, `setitimer(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_tasks::Thread;
use kernel_tasks::process_timers::IntervalKind;
use linux_abi::time::{Itimerval, NANOS_PER_SEC, Timeval};
use linux_abi::{Errno, SysResult};

fn kind_of(which: i32) -> SysResult<IntervalKind> {
    match which {
        0 => Ok(IntervalKind::Real),
        1 => Ok(IntervalKind::Virtual),
        2 => Ok(IntervalKind::Profiling),
        _ => Err(Errno::EINVAL),
    }
}

fn current(thread: &Thread, kind: IntervalKind) -> Itimerval {
    let (left, interval) = thread.process().interval(kind);
    // A timer that is set never shows zero.
    let left = if left == 0 { 0 } else { left.max(1000) };
    Itimerval { it_interval: Timeval::from_nanos(interval), it_value: Timeval::from_nanos(left) }
}

/// How long until an interval timer expires.
pub(crate) fn getitimer(
    thread: &Rc<Thread>,
    which: i32,
    place: UserPtr<Itimerval>,
) -> SysResult<()> {
    let kind = kind_of(which)?;
    place.write(&thread.memory(), &current(thread, kind))
}

/// Sets an interval timer.
pub(crate) fn setitimer(
    thread: &Rc<Thread>,
    which: i32,
    new: UserPtr<Itimerval>,
    old: UserPtr<Itimerval>,
) -> SysResult<()> {
    let memory = thread.memory();
    // Linux takes a null pointer for a timer that is not to be set.
    let new = new.non_null().map_or(Ok(Itimerval::default()), |new| new.read(&memory))?;
    let nanos = |time: Timeval| time.to_nanos().ok_or(Errno::EINVAL);
    let (value, interval) = (nanos(new.it_value)?, nanos(new.it_interval)?);
    let kind = kind_of(which)?;
    let previous = current(thread, kind);
    thread.process().set_interval(kind, value, interval);
    old.write_if_wanted(&memory, &previous)
}

/// Has `SIGALRM` sent in some seconds. Returns how many were left of the alarm before.
pub(crate) fn alarm(thread: &Rc<Thread>, seconds: u32) -> SysResult<u64> {
    let process = thread.process();
    let (left, _) = process.interval(IntervalKind::Real);
    process.set_interval(IntervalKind::Real, u64::from(seconds) * NANOS_PER_SEC, 0);
    let (whole, part) = (left / NANOS_PER_SEC, left % NANOS_PER_SEC);
    // Rounded, but never down to the zero that means that there was none.
    let round_up = whole == 0 && part > 0 || part >= NANOS_PER_SEC / 2;
    Ok(whole + u64::from(round_up))
}
