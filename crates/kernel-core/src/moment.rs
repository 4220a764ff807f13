//! How fresh a fact is that came from outside of the kernel.
//!
//! What the host says of a file holds for the guest's call that asked, and no longer: the next
//! call asks again. A moment is such a stretch in which nothing that the kernel knows has
//! changed; it ends with the call, or with a change that the kernel itself makes.

use std::cell::Cell;

use crate::timers::{self, Instant};

thread_local! {
    static CURRENT: Cell<u64> = const { Cell::new(0) };
    static TIME: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// When something was found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    number: u64,
    time: Instant,
}

impl Moment {
    /// This moment.
    pub fn now() -> Self {
        Self { number: CURRENT.get(), time: time() }
    }

    /// Whether it is still the same moment.
    pub fn is_now(self) -> bool {
        self.number == CURRENT.get()
    }

    /// Whether it was less than `nanos` ago.
    pub fn is_within(self, nanos: u64) -> bool {
        self.is_now() || time() < self.time.after(nanos)
    }
}

/// The moment is over: a new call begins, or the kernel has changed something.
pub fn pass() {
    CURRENT.set(CURRENT.get().wrapping_add(1));
    TIME.set(None);
}

/// The time of this moment: the clock is read once in it.
fn time() -> Instant {
    TIME.get().unwrap_or_else(|| {
        let now = timers::now();
        TIME.set(Some(now));
        now
    })
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
