//! The clocks that a guest can name.

use std::rc::{Rc, Weak};

use host_sys::rustix::time::{
    ClockId, DynamicClockId, Timespec, clock_gettime, clock_gettime_dynamic,
};
use kernel_core::timers::{self, Instant};
use linux_abi::time::{NANOS_PER_SEC, clock};
use linux_abi::{Errno, Pid, SysResult};

use crate::process::CpuTimes;
use crate::{Process, Thread};

/// Of a CPU clock: which time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuKind {
    /// User and system time.
    Both,
    /// User time only.
    User,
}

impl CpuKind {
    fn of(self, times: CpuTimes) -> u64 {
        match self {
            Self::Both => times.total(),
            Self::User => times.user,
        }
    }
}

/// A clock.
#[derive(Clone)]
pub enum Clock {
    /// Time since 1970.
    Real,
    /// The same, without leap seconds.
    Atomic,
    /// Time since some point in the past.
    Monotonic,
    /// The same, as the hardware counts it.
    MonotonicRaw,
    /// Time since the host started.
    Boot,
    /// CPU time of a process.
    OfProcess(Weak<Process>, CpuKind),
    /// CPU time of a thread.
    OfThread(Weak<Thread>, CpuKind),
}

/// CPU clocks are looked at again after this time at the earliest.
const CPU_CLOCK_STEP_NS: u64 = 1_000_000;

impl Clock {
    /// The clock with this id, as `thread` names it; `EINVAL` if there is none.
    pub fn find(thread: &Rc<Thread>, id: i32) -> SysResult<Self> {
        Ok(match id {
            clock::REALTIME | clock::REALTIME_COARSE | clock::REALTIME_ALARM => Self::Real,
            clock::MONOTONIC | clock::MONOTONIC_COARSE => Self::Monotonic,
            clock::MONOTONIC_RAW => Self::MonotonicRaw,
            clock::BOOTTIME | clock::BOOTTIME_ALARM => Self::Boot,
            clock::TAI => Self::Atomic,
            clock::PROCESS_CPUTIME_ID => {
                Self::OfProcess(Rc::downgrade(thread.process()), CpuKind::Both)
            }
            clock::THREAD_CPUTIME_ID => Self::OfThread(Rc::downgrade(thread), CpuKind::Both),
            ..0 => Self::find_cpu_clock(thread, id)?,
            _ => return Err(Errno::EINVAL),
        })
    }

    /// A negative id names the CPU clock of any task: the inverted id above three bits of kind.
    fn find_cpu_clock(thread: &Rc<Thread>, id: i32) -> SysResult<Self> {
        const OF_THREAD: i32 = 4;
        const PROF: i32 = 0;
        const VIRT: i32 = 1;
        const SCHED: i32 = 2;
        let kind = match id & 3 {
            PROF | SCHED => CpuKind::Both,
            VIRT => CpuKind::User,
            // A clock that is a device behind a descriptor: there are none.
            _ => return Err(Errno::EINVAL),
        };
        let pid = Pid(!(id >> 3).cast_unsigned());
        let ids = &thread.kernel().ids;
        if id & OF_THREAD != 0 {
            let target = match pid.0 {
                0 => Rc::clone(thread),
                _ => ids.thread(pid).ok_or(Errno::EINVAL)?,
            };
            if !Rc::ptr_eq(target.process(), thread.process()) {
                return Err(Errno::EINVAL);
            }
            return Ok(Self::OfThread(Rc::downgrade(&target), kind));
        }
        let target = match pid.0 {
            0 => Rc::clone(thread.process()),
            _ => ids.process(pid).ok_or(Errno::EINVAL)?,
        };
        Ok(Self::OfProcess(Rc::downgrade(&target), kind))
    }

    /// What it shows, in nanoseconds.
    pub fn now(&self) -> u64 {
        match self {
            Self::Real => timers::real_time(),
            // A host without this clock shows the one that differs by leap seconds only.
            Self::Atomic => clock_gettime_dynamic(DynamicClockId::Tai)
                .map_or_else(|_| timers::real_time(), nanos),
            Self::Monotonic => timers::now().0,
            Self::MonotonicRaw => nanos(clock_gettime(ClockId::MonotonicRaw)),
            Self::Boot => timers::boot_time(),
            Self::OfProcess(process, kind) => {
                process.upgrade().map_or(0, |process| kind.of(process.cpu_times()))
            }
            Self::OfThread(thread, kind) => thread
                .upgrade()
                .filter(|thread| !thread.has_exited())
                .map_or(0, |thread| kind.of(thread.cpu_times())),
        }
    }

    /// Whether it counts CPU time.
    pub fn is_cpu_clock(&self) -> bool {
        matches!(self, Self::OfProcess(..) | Self::OfThread(..))
    }

    /// When it shall be looked at to see whether it shows `target`. Exact for clocks that run by
    /// themselves, unless somebody sets the host's clock; a CPU clock cannot be there earlier.
    pub fn deadline(&self, target: u64) -> Instant {
        let left = target.saturating_sub(self.now());
        let left = match self {
            Self::OfProcess(process, _) => {
                let n = process.upgrade().map_or(1, |process| process.n_threads().max(1));
                (left / n as u64).max(CPU_CLOCK_STEP_NS)
            }
            Self::OfThread(..) => left.max(CPU_CLOCK_STEP_NS),
            _ => left,
        };
        timers::now().after(left)
    }
}

fn nanos(time: Timespec) -> u64 {
    time.tv_sec
        .cast_unsigned()
        .saturating_mul(NANOS_PER_SEC)
        .saturating_add(time.tv_nsec.cast_unsigned())
}
