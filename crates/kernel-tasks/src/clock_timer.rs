//! A timer on any clock, which tells its owner when it expires.

use std::cell::Cell;
use std::rc::Weak;

use kernel_core::timers::{TimerKey, Timers};

use crate::clocks::Clock;

/// Who is told.
pub(crate) trait Expiry {
    /// The time may have come: see [`ClockTimer::has_come`]. The timer stays there until the
    /// owner moves it on.
    fn expired(&self);
}

/// When a timer expires next, on its clock, and how often after that; in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// 0 if it is not set.
    pub next: u64,
    /// 0 if it expires once.
    pub interval: u64,
}

/// A timer.
pub(crate) struct ClockTimer {
    timers: Timers,
    clock: Clock,
    owner: Weak<dyn Expiry>,
    setting: Cell<Setting>,
    alarm: Cell<Option<TimerKey>>,
}

impl ClockTimer {
    pub(crate) fn new(timers: &Timers, clock: Clock, owner: Weak<dyn Expiry>) -> Self {
        Self {
            timers: timers.clone(),
            clock,
            owner,
            setting: Cell::default(),
            alarm: Cell::default(),
        }
    }

    pub(crate) fn setting(&self) -> Setting {
        self.setting.get()
    }

    /// The clock it runs on.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Replaces the setting and waits for its time, if it has one.
    pub(crate) fn set(&self, setting: Setting) {
        self.disarm();
        self.setting.set(setting);
        if setting.next != 0 {
            self.arm();
        }
    }

    /// How long until it expires; `None` if it is not set. One nanosecond if it is overdue.
    pub(crate) fn left(&self) -> Option<u64> {
        let next = self.setting.get().next;
        (next != 0).then(|| next.saturating_sub(self.clock.now()).max(1))
    }

    /// It has expired and was dealt with: moves it to its next time, if there is one. Returns how
    /// many more times have passed meanwhile.
    pub(crate) fn advance(&self) -> u64 {
        let Setting { next, interval } = self.setting.get();
        if interval == 0 {
            self.set(Setting::default());
            return 0;
        }
        let missed = self.clock.now().saturating_sub(next) / interval;
        let next = next.saturating_add(interval.saturating_mul(missed + 1));
        self.set(Setting { next, interval });
        missed
    }

    fn disarm(&self) {
        if let Some(key) = self.alarm.take() {
            self.timers.cancel(key);
        }
    }

    /// Has the owner look when the time may have come.
    fn arm(&self) {
        let owner = self.owner.clone();
        let next = self.setting.get().next;
        let key = self.timers.at(self.clock.deadline(next), move || {
            if let Some(owner) = owner.upgrade() {
                owner.expired();
            }
        });
        self.alarm.set(Some(key));
    }

    /// Whether the time has come. If it has not, waits on.
    pub(crate) fn has_come(&self) -> bool {
        let next = self.setting.get().next;
        if next == 0 {
            return false;
        }
        if self.clock.now() < next {
            self.disarm();
            self.arm();
            return false;
        }
        true
    }
}

impl Drop for ClockTimer {
    fn drop(&mut self) {
        self.disarm();
    }
}
