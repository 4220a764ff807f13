//! `timer_create(2)`, `timer_settime(2)`, `timer_gettime(2)`, `timer_getoverrun(2)`,
//! `timer_delete(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_tasks::Thread;
use kernel_tasks::clocks::Clock;
use kernel_tasks::posix_timer::{Notification, PosixTimer};
use linux_abi::signals::{Sigevent, Signal, notify};
use linux_abi::time::{Itimerspec, TIMER_ABSTIME, Timespec, clock};
use linux_abi::{Errno, Pid, SysResult};

/// Makes a timer.
pub(crate) fn timer_create(
    thread: &Rc<Thread>,
    clock_id: i32,
    event: UserPtr<Sigevent>,
    place: UserPtr<i32>,
) -> SysResult<()> {
    let memory = thread.memory();
    let event = event.non_null().map(|event| event.read(&memory)).transpose()?;
    let clock = Clock::find(thread, clock_id)?;
    match clock_id {
        clock::MONOTONIC_RAW | clock::REALTIME_COARSE | clock::MONOTONIC_COARSE => {
            return Err(Errno::EOPNOTSUPP);
        }
        // Nobody may wake the machine from sleep.
        clock::REALTIME_ALARM | clock::BOOTTIME_ALARM => return Err(Errno::EPERM),
        _ => {}
    }
    let notification = match &event {
        None => Notification::Process(Signal::SIGALRM),
        Some(event) => notification(thread, event)?,
    };
    let value = event.map(|event| event.value);
    let timer = PosixTimer::create(thread.process(), clock, notification, value)?;
    place.write(&memory, &timer.id).inspect_err(|_| {
        // The guest never learnt of it.
        let _ = thread.process().timers.delete(timer.id);
    })
}

fn notification(thread: &Rc<Thread>, event: &Sigevent) -> SysResult<Notification> {
    let signal = || Signal::new(event.signal.cast_unsigned()).ok_or(Errno::EINVAL);
    Ok(match event.notify {
        notify::NONE => Notification::Nothing,
        notify::SIGNAL | notify::THREAD => Notification::Process(signal()?),
        notify::THREAD_ID => {
            let tid = u32::try_from(event.thread_id).map_err(|_| Errno::EINVAL)?;
            let target = thread.process().thread(Pid(tid)).ok_or(Errno::EINVAL)?;
            Notification::Thread(signal()?, Rc::downgrade(&target))
        }
        _ => return Err(Errno::EINVAL),
    })
}

fn shown((left, interval): (u64, u64)) -> Itimerspec {
    Itimerspec { it_interval: Timespec::from_nanos(interval), it_value: Timespec::from_nanos(left) }
}

/// Sets a timer.
pub(crate) fn timer_settime(
    thread: &Rc<Thread>,
    id: i32,
    flags: u32,
    new: UserPtr<Itimerspec>,
    old: UserPtr<Itimerspec>,
) -> SysResult<()> {
    if new.is_null() {
        return Err(Errno::EINVAL);
    }
    let memory = thread.memory();
    let new = new.read(&memory)?;
    let nanos = |time: Timespec| time.to_nanos().ok_or(Errno::EINVAL);
    let (value, interval) = (nanos(new.it_value)?, nanos(new.it_interval)?);
    let timer = thread.process().timers.posix(id)?;
    let previous = timer.get();
    let next = match value {
        0 => 0,
        value if flags & TIMER_ABSTIME != 0 => value,
        value => timer.clock_now().saturating_add(value),
    };
    timer.set(next, interval);
    old.write_if_wanted(&memory, &shown(previous))
}

/// How long until a timer expires.
pub(crate) fn timer_gettime(
    thread: &Rc<Thread>,
    id: i32,
    place: UserPtr<Itimerspec>,
) -> SysResult<()> {
    let timer = thread.process().timers.posix(id)?;
    place.write(&thread.memory(), &shown(timer.get()))
}

/// How many expirations the last signal stood for, beyond one.
pub(crate) fn timer_getoverrun(thread: &Rc<Thread>, id: i32) -> SysResult<i32> {
    Ok(thread.process().timers.posix(id)?.overrun())
}

/// Deletes a timer.
pub(crate) fn timer_delete(thread: &Rc<Thread>, id: i32) -> SysResult<()> {
    thread.process().timers.delete(id)
}
