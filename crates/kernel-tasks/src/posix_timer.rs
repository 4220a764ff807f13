//! POSIX timers.

use std::cell::Cell;
use std::rc::{Rc, Weak};

use kernel_core::ledger::{Charge, Kind};
use linux_abi::signals::{SigInfo, Signal};
use linux_abi::tasks::rlimit;
use linux_abi::{Errno, SysResult};

use crate::clock_timer::{ClockTimer, Expiry, Setting};
use crate::clocks::Clock;
use crate::signals::{SignalSource, send_from_source};
use crate::{Process, Thread};

/// What happens when a timer expires.
#[derive(Clone)]
pub enum Notification {
    /// Nothing; the time can be asked for.
    Nothing,
    /// A signal to the process.
    Process(Signal),
    /// A signal to one thread.
    Thread(Signal, Weak<Thread>),
}

/// A POSIX timer.
///
/// It has at most one signal queued. While that waits the timer rests; when it is taken, the
/// expirations that would have been are counted as overrun and the timer goes on.
pub struct PosixTimer {
    /// Its id in the process.
    pub id: i32,
    process: Weak<Process>,
    notification: Notification,
    value: u64,
    timer: ClockTimer,
    is_queued: Cell<bool>,
    overrun: Cell<i32>,
    this: Weak<Self>,
    _charge: Charge,
}

impl PosixTimer {
    /// A timer that is not set yet. `value` is what its signals carry; the id if `None`.
    pub fn create(
        process: &Rc<Process>,
        clock: Clock,
        notification: Notification,
        value: Option<u64>,
    ) -> SysResult<Rc<Self>> {
        let id = process.timers.new_id(process.limit(rlimit::SIGPENDING)?.current)?;
        let charge = Charge::of::<Self>(Kind::Signals).map_err(|_| Errno::EAGAIN)?;
        let timer = Rc::new_cyclic(|this: &Weak<Self>| Self {
            _charge: charge,
            id,
            process: Rc::downgrade(process),
            notification,
            value: value.unwrap_or(u64::from(id.cast_unsigned())),
            timer: ClockTimer::new(&process.kernel().timers, clock, this.clone()),
            is_queued: Cell::default(),
            overrun: Cell::default(),
            this: this.clone(),
        });
        process.timers.add(Rc::clone(&timer));
        Ok(timer)
    }

    /// How long until it expires, and how often after that; zeroes if it is not set.
    pub fn get(&self) -> (u64, u64) {
        let Setting { next, interval } = self.timer.setting();
        if next == 0 {
            return (0, interval);
        }
        let now = self.timer.clock().now();
        if next > now {
            return (next - now, interval);
        }
        // It rests until its signal is taken. What is told is when it would expire.
        match interval {
            0 => (1, 0),
            _ => (interval - (now - next) % interval, interval),
        }
    }

    /// Sets it to expire at `next` on its clock, or not at all if that is 0.
    pub fn set(&self, next: u64, interval: u64) {
        self.overrun.set(0);
        let interval = if next == 0 { 0 } else { interval };
        self.timer.set(Setting { next, interval });
    }

    /// What its clock shows.
    pub fn clock_now(&self) -> u64 {
        self.timer.clock().now()
    }

    /// How many expirations the last signal that was taken stood for, beyond one.
    pub fn overrun(&self) -> i32 {
        self.overrun.get()
    }

    fn send(&self) -> SysResult<bool> {
        let process = self.process.upgrade().ok_or(Errno::ESRCH)?;
        let this: Weak<dyn SignalSource> = self.this.clone();
        match &self.notification {
            Notification::Nothing => Ok(false),
            Notification::Process(signal) => {
                let info = SigInfo::timer(*signal, self.id, self.value);
                send_from_source(&process, None, *signal, info, this)
            }
            Notification::Thread(signal, thread) => {
                let info = SigInfo::timer(*signal, self.id, self.value);
                // When the thread has ended the process hears of it.
                let thread = thread.upgrade().filter(|thread| !thread.has_exited());
                send_from_source(&process, thread.as_ref(), *signal, info, this)
            }
        }
    }
}

impl Expiry for PosixTimer {
    fn expired(&self) {
        if self.is_queued.get() || !self.timer.has_come() {
            return;
        }
        if self.send() == Ok(true) {
            self.is_queued.set(true);
        } else {
            // Nobody takes what was ignored, so the timer goes on at once.
            self.timer.advance();
        }
    }
}

impl SignalSource for PosixTimer {
    fn taken(&self, info: &mut SigInfo) {
        self.is_queued.set(false);
        let Setting { next, .. } = self.timer.setting();
        if next == 0 || next > self.timer.clock().now() {
            // It was set anew since the signal was sent.
            return;
        }
        let overrun = i32::try_from(self.timer.advance()).unwrap_or(i32::MAX);
        self.overrun.set(overrun);
        info.set_overrun(overrun);
    }
}
