//! How fresh a fact is that came from outside of the kernel.
//!
//! What the host says of a file holds for the guest's call that asked, and no longer: the next
//! call asks again. A moment is such a stretch in which nothing that the kernel knows has
//! changed; it ends with the call, or with a change that the kernel itself makes.

use std::cell::Cell;

use host_sys::{ticks, ticks_per_microsecond};

thread_local! {
    static CURRENT: Cell<u64> = const { Cell::new(0) };
    static TICKS: Cell<u64> = const { Cell::new(0) };
}

/// When something was found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    number: u64,
    ticks: u64,
}

impl Moment {
    /// This moment.
    pub fn now() -> Self {
        Self { number: CURRENT.get(), ticks: now() }
    }

    /// Whether it is still the same moment.
    pub fn is_now(self) -> bool {
        self.number == CURRENT.get()
    }

    /// Whether it was less than `nanos` ago.
    pub fn is_within(self, nanos: u64) -> bool {
        self.is_now() || {
            let limit = nanos.saturating_mul(ticks_per_microsecond()) / 1000;
            now().saturating_sub(self.ticks) < limit
        }
    }
}

/// The moment is over: a new call begins, or the kernel has changed something.
pub fn pass() {
    CURRENT.set(CURRENT.get().wrapping_add(1));
    TICKS.set(0);
}

/// The time of this moment: the counter is read once in it.
fn now() -> u64 {
    match TICKS.get() {
        0 => {
            let now = ticks();
            TICKS.set(now);
            now
        }
        known => known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_ends_when_it_is_passed() {
        let moment = Moment::now();
        assert!(moment.is_now());
        assert!(moment.is_within(0));
        pass();
        assert!(!moment.is_now());
        assert!(!moment.is_within(0));
        assert!(moment.is_within(u64::MAX));
    }
}
