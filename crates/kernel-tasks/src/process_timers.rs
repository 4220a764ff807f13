//! The timers of a process: `setitimer(2)`, `timer_create(2)`, and the limit on CPU time.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use linux_abi::signals::{SigInfo, Signal};
use linux_abi::tasks::{RLIM_INFINITY, rlimit};
use linux_abi::time::NANOS_PER_SEC;
use linux_abi::{Errno, SysResult};

use crate::Process;
use crate::clock_timer::{ClockTimer, Expiry, Setting};
use crate::clocks::{Clock, CpuKind};
use crate::posix_timer::PosixTimer;
use crate::signals::send_to_process;

/// One of the three interval timers, or the limit on CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IntervalKind {
    /// `ITIMER_REAL`.
    Real,
    /// `ITIMER_VIRTUAL`.
    Virtual,
    /// `ITIMER_PROF`.
    Profiling,
    /// `RLIMIT_CPU`.
    CpuLimit,
}

impl IntervalKind {
    fn signal(self) -> Signal {
        match self {
            Self::Real => Signal::SIGALRM,
            Self::Virtual => Signal::SIGVTALRM,
            Self::Profiling => Signal::SIGPROF,
            Self::CpuLimit => Signal::SIGXCPU,
        }
    }
}

struct IntervalTimer {
    kind: IntervalKind,
    process: Weak<Process>,
    timer: ClockTimer,
}

impl Expiry for IntervalTimer {
    fn expired(&self) {
        if !self.timer.has_come() {
            return;
        }
        let Some(process) = self.process.upgrade() else { return };
        let now = self.timer.clock().now();
        self.timer.advance();
        if self.kind == IntervalKind::CpuLimit && process.is_over_hard_cpu_limit(now) {
            process.kill();
            return;
        }
        let signal = self.kind.signal();
        // A standard signal from the kernel is never refused.
        let _ = send_to_process(&process, signal, SigInfo::kernel(signal));
    }
}

/// The timers of a process.
#[derive(Default)]
pub struct ProcessTimers {
    intervals: RefCell<BTreeMap<IntervalKind, Rc<IntervalTimer>>>,
    posix: RefCell<BTreeMap<i32, Rc<PosixTimer>>>,
    next_id: Cell<i32>,
}

impl ProcessTimers {
    /// The POSIX timer with this id.
    pub fn posix(&self, id: i32) -> SysResult<Rc<PosixTimer>> {
        self.posix.borrow().get(&id).cloned().ok_or(Errno::EINVAL)
    }

    /// An id for a new POSIX timer; `EAGAIN` if there are `maximum` already.
    pub(crate) fn new_id(&self, maximum: u64) -> SysResult<i32> {
        let timers = self.posix.borrow();
        if timers.len() as u64 >= maximum {
            return Err(Errno::EAGAIN);
        }
        let mut id = self.next_id.get();
        while timers.contains_key(&id) {
            id = id.checked_add(1).unwrap_or(0);
        }
        self.next_id.set(id.checked_add(1).unwrap_or(0));
        Ok(id)
    }

    pub(crate) fn add(&self, timer: Rc<PosixTimer>) {
        self.posix.borrow_mut().insert(timer.id, timer);
    }

    /// Deletes a POSIX timer.
    pub fn delete(&self, id: i32) -> SysResult<()> {
        let timer = self.posix.borrow_mut().remove(&id);
        timer.map(drop).ok_or(Errno::EINVAL)
    }

    /// Deletes all POSIX timers, as `execve` does.
    pub(crate) fn delete_posix(&self) {
        let timers = std::mem::take(&mut *self.posix.borrow_mut());
        drop(timers);
    }

    pub(crate) fn delete_all(&self) {
        self.delete_posix();
        let intervals = std::mem::take(&mut *self.intervals.borrow_mut());
        drop(intervals);
    }
}

impl Process {
    fn interval_timer(self: &Rc<Self>, kind: IntervalKind) -> Rc<IntervalTimer> {
        let make = || {
            let process = Rc::downgrade(self);
            let clock = match kind {
                IntervalKind::Real => Clock::Monotonic,
                IntervalKind::Virtual => Clock::OfProcess(process.clone(), CpuKind::User),
                IntervalKind::Profiling | IntervalKind::CpuLimit => {
                    Clock::OfProcess(process.clone(), CpuKind::Both)
                }
            };
            Rc::new_cyclic(|this: &Weak<IntervalTimer>| IntervalTimer {
                kind,
                process,
                timer: ClockTimer::new(&self.kernel().timers, clock, this.clone()),
            })
        };
        Rc::clone(self.timers.intervals.borrow_mut().entry(kind).or_insert_with(make))
    }

    /// How long until an interval timer expires, and how often after that; zeroes if it is not
    /// set.
    pub fn interval(self: &Rc<Self>, kind: IntervalKind) -> (u64, u64) {
        let timer = self.timers.intervals.borrow().get(&kind).cloned();
        timer.map_or((0, 0), |timer| {
            (timer.timer.left().unwrap_or(0), timer.timer.setting().interval)
        })
    }

    /// Sets an interval timer to expire after `value` nanoseconds, or not at all if that is 0.
    pub fn set_interval(self: &Rc<Self>, kind: IntervalKind, value: u64, interval: u64) {
        let timer = self.interval_timer(kind);
        let next = match value {
            0 => 0,
            value => timer.timer.clock().now().saturating_add(value),
        };
        timer.timer.set(Setting { next, interval });
    }

    /// `RLIMIT_CPU` was set or inherited: once it is reached, the process hears of it each second.
    pub(crate) fn watch_cpu_limit(self: &Rc<Self>) {
        let limit = self.limit(rlimit::CPU).map_or(RLIM_INFINITY, |limit| limit.current);
        if limit == RLIM_INFINITY {
            self.timers.intervals.borrow_mut().remove(&IntervalKind::CpuLimit);
            return;
        }
        let next = limit.saturating_mul(NANOS_PER_SEC).max(1);
        let timer = self.interval_timer(IntervalKind::CpuLimit);
        timer.timer.set(Setting { next, interval: NANOS_PER_SEC });
    }

    fn is_over_hard_cpu_limit(&self, used: u64) -> bool {
        let limit = self.limit(rlimit::CPU).map_or(RLIM_INFINITY, |limit| limit.maximum);
        used >= limit.saturating_mul(NANOS_PER_SEC)
    }
}
