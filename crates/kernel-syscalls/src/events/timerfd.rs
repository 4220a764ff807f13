//! `timerfd_create(2)`, `timerfd_settime(2)`, `timerfd_gettime(2)`.

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_core::memory::UserPtr;
use kernel_events::timerfd::TimerFd;
use kernel_files::OpenFile;
use kernel_tasks::Thread;
use linux_abi::events::TimerFdFlags;
use linux_abi::files::OpenFlags;
use linux_abi::time::{Itimerspec, clock};
use linux_abi::{Errno, Fd, SysResult};

/// Makes a timer that is read.
pub(crate) fn timerfd_create(thread: &Rc<Thread>, clock_id: i32, flags: u32) -> SysResult<Fd> {
    let flags = OpenFlags::from_bits(flags).ok_or(Errno::EINVAL)?;
    if !(OpenFlags::CLOEXEC | OpenFlags::NONBLOCK).contains(flags) {
        return Err(Errno::EINVAL);
    }
    let file = TimerFd::open(&thread.kernel().timers, clock_id, flags)?;
    if matches!(clock_id, clock::REALTIME_ALARM | clock::BOOTTIME_ALARM) {
        require_wake_alarm(thread)?;
    }
    thread.add_file(file, flags.contains(OpenFlags::CLOEXEC))
}

/// Sets the timer, and says what was set before.
pub(crate) fn timerfd_settime(
    thread: &Rc<Thread>,
    fd: Fd,
    flags: u32,
    new: UserPtr<Itimerspec>,
    old: UserPtr<Itimerspec>,
) -> SysResult<()> {
    let new = new.read(&thread.memory())?;
    let flags = TimerFdFlags::from_bits(flags).ok_or(Errno::EINVAL)?;
    if new.it_value.to_nanos().is_none() || new.it_interval.to_nanos().is_none() {
        return Err(Errno::EINVAL);
    }
    let file = thread.file(fd)?;
    let timer = timer_of(&file)?;
    if timer.is_alarm() {
        require_wake_alarm(thread)?;
    }
    let previous = timer.set(new, flags)?;
    old.write_if_wanted(&thread.memory(), &previous)
}

/// How long until the timer goes off.
pub(crate) fn timerfd_gettime(
    thread: &Rc<Thread>,
    fd: Fd,
    current: UserPtr<Itimerspec>,
) -> SysResult<()> {
    let file = thread.file(fd)?;
    let setting = timer_of(&file)?.get();
    current.write(&thread.memory(), &setting)
}

fn timer_of(file: &OpenFile) -> SysResult<&TimerFd> {
    file.ops_as().ok_or(Errno::EINVAL)
}

fn require_wake_alarm(thread: &Rc<Thread>) -> SysResult<()> {
    if thread.credentials().has(cap::WAKE_ALARM) { Ok(()) } else { Err(Errno::EPERM) }
}
