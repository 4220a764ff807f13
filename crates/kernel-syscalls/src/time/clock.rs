//! `clock_gettime(2)`, `clock_getres(2)`, `clock_settime(2)`, `gettimeofday(2)`, `time(2)`,
//! `settimeofday(2)`, `adjtimex(2)`, `clock_adjtime(2)`.
//!
//! Guests read clocks without a call through the vDSO; what comes here is what it does not answer.
//! Clocks are the host's, so no guest sets one.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::timers::real_time;
use kernel_tasks::Thread;
use kernel_tasks::clocks::Clock;
use linux_abi::time::{NANOS_PER_SEC, Timespec, Timeval, Timex, Timezone, clock};
use linux_abi::{Errno, SysResult};

/// The tick of the coarse clocks.
const COARSE_NS: u64 = 4_000_000;

/// Reads a clock.
pub(crate) fn clock_gettime(
    thread: &Rc<Thread>,
    id: i32,
    place: UserPtr<Timespec>,
) -> SysResult<()> {
    let now = Clock::find(thread, id)?.now();
    place.write(&thread.memory(), &Timespec::from_nanos(now))
}

/// How fine a clock is.
pub(crate) fn clock_getres(
    thread: &Rc<Thread>,
    id: i32,
    place: UserPtr<Timespec>,
) -> SysResult<()> {
    Clock::find(thread, id)?;
    let nanos = match id {
        clock::REALTIME_COARSE | clock::MONOTONIC_COARSE => COARSE_NS,
        _ => 1,
    };
    place.write_if_wanted(&thread.memory(), &Timespec::from_nanos(nanos))
}

/// Setting is refused, after what Linux checks first.
pub(crate) fn clock_settime(thread: &Rc<Thread>, id: i32, new: UserPtr<Timespec>) -> SysResult<()> {
    if id != clock::REALTIME && !(Clock::find(thread, id)?.is_cpu_clock()) {
        return Err(Errno::EINVAL);
    }
    let new = new.read(&thread.memory())?;
    new.to_nanos().ok_or(Errno::EINVAL)?;
    Err(Errno::EPERM)
}

/// The time of day.
pub(crate) fn gettimeofday(
    thread: &Rc<Thread>,
    time: UserPtr<Timeval>,
    zone: UserPtr<Timezone>,
) -> SysResult<()> {
    let memory = thread.memory();
    time.write_if_wanted(&memory, &Timeval::from_nanos(real_time()))?;
    zone.write_if_wanted(&memory, &Timezone::default())
}

/// The time of day in seconds.
pub(crate) fn time(thread: &Rc<Thread>, place: UserPtr<u64>) -> SysResult<u64> {
    let seconds = real_time() / NANOS_PER_SEC;
    place.write_if_wanted(&thread.memory(), &seconds)?;
    Ok(seconds)
}

/// Setting is refused, after what Linux checks first.
pub(crate) fn settimeofday(
    thread: &Rc<Thread>,
    time: UserPtr<Timeval>,
    zone: UserPtr<Timezone>,
) -> SysResult<()> {
    let memory = thread.memory();
    if let Some(time) = time.non_null() {
        let time = time.read(&memory)?;
        if !(0..=1_000_000).contains(&time.tv_usec) {
            return Err(Errno::EINVAL);
        }
    }
    if let Some(zone) = zone.non_null() {
        zone.read(&memory)?;
    }
    Err(Errno::EPERM)
}

/// The clock has no discipline that a guest could see.
const STA_UNSYNC: i32 = 0x40;
/// What `adjtimex` returns for a clock that is not synchronised.
const TIME_ERROR: u32 = 5;
const TICK_MICROS: i64 = 10_000;

/// Tells how the clock is adjusted; adjusting is refused.
pub(crate) fn adjtimex(thread: &Rc<Thread>, place: UserPtr<Timex>) -> SysResult<u32> {
    let asked = place.read(&thread.memory())?;
    if asked.modes != 0 {
        return Err(Errno::EPERM);
    }
    let answer = Timex {
        status: STA_UNSYNC,
        precision: 1,
        tick: TICK_MICROS,
        time: Timeval::from_nanos(real_time()),
        ..Timex::default()
    };
    place.write(&thread.memory(), &answer)?;
    Ok(TIME_ERROR)
}

/// Like [`adjtimex`], for the one clock that can be adjusted.
pub(crate) fn clock_adjtime(thread: &Rc<Thread>, id: i32, place: UserPtr<Timex>) -> SysResult<u32> {
    if id != clock::REALTIME {
        Clock::find(thread, id)?;
        return Err(Errno::EOPNOTSUPP);
    }
    adjtimex(thread, place)
}
