//! Time, and what shall happen at a time.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use host_sys::rustix::time::{ClockId, clock_gettime};
use linux_abi::time::NANOS_PER_SEC;

/// A point on the monotonic clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(pub u64);

impl Instant {
    /// A time that does not come.
    pub const NEVER: Self = Self(u64::MAX);

    /// This time, `nanos` later.
    #[must_use]
    pub const fn after(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }
}

/// Now, on the host's monotonic clock (which the guest sees unchanged through the vDSO).
pub fn now() -> Instant {
    Instant(read_clock(ClockId::Monotonic))
}

/// Nanoseconds since 1970, on the host's real-time clock.
pub fn real_time() -> u64 {
    read_clock(ClockId::Realtime)
}

/// Nanoseconds since the host started, sleep included.
pub fn boot_time() -> u64 {
    read_clock(ClockId::Boottime)
}

fn read_clock(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec
        .cast_unsigned()
        .saturating_mul(NANOS_PER_SEC)
        .saturating_add(time.tv_nsec.cast_unsigned())
}

enum Due {
    Wake(Waker),
    Call(Box<dyn FnOnce()>),
}

#[derive(Default)]
struct Inner {
    /// Ordered by time, then by age.
    due: RefCell<BTreeMap<(Instant, u64), Due>>,
    next_id: Cell<u64>,
}

/// Everything that waits for a time. Cloning makes another handle to the same set.
#[derive(Clone, Default)]
pub struct Timers {
    inner: Rc<Inner>,
}

/// Names a timer that was set, to cancel it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerKey(Instant, u64);

impl Timers {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Completes at `deadline`.
    pub fn sleep_until(&self, deadline: Instant) -> Sleep {
        Sleep { timers: self.clone(), deadline, key: None }
    }

    /// Runs `call` at `deadline`, on the kernel's thread, between system calls.
    pub fn at(&self, deadline: Instant, call: impl FnOnce() + 'static) -> TimerKey {
        self.add(deadline, Due::Call(Box::new(call)))
    }

    /// Takes a timer back. Without effect if it has fired.
    pub fn cancel(&self, key: TimerKey) {
        self.inner.due.borrow_mut().remove(&(key.0, key.1));
    }

    /// When the next timer is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.inner.due.borrow().first_key_value().map(|((deadline, _), _)| *deadline)
    }

    /// Fires what is due at `now`. Returns whether anything was.
    pub fn fire(&self, now: Instant) -> bool {
        let mut fired = false;
        loop {
            let due = {
                let mut due = self.inner.due.borrow_mut();
                match due.first_entry() {
                    Some(first) if first.key().0 <= now => first.remove(),
                    _ => return fired,
                }
            };
            fired = true;
            match due {
                Due::Wake(waker) => waker.wake(),
                Due::Call(call) => call(),
            }
        }
    }

    fn add(&self, deadline: Instant, due: Due) -> TimerKey {
        let id = self.inner.next_id.get();
        self.inner.next_id.set(id + 1);
        self.inner.due.borrow_mut().insert((deadline, id), due);
        TimerKey(deadline, id)
    }
}

/// The future of [`Timers::sleep_until`].
pub struct Sleep {
    timers: Timers,
    deadline: Instant,
    key: Option<TimerKey>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if now() >= self.deadline {
            return Poll::Ready(());
        }
        if self.key.is_none() && self.deadline != Instant::NEVER {
            let due = Due::Wake(context.waker().clone());
            self.key = Some(self.timers.add(self.deadline, due));
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.timers.cancel(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fires_in_order_of_time_and_not_early() {
        let timers = Timers::new();
        let order = Rc::new(RefCell::new(Vec::new()));
        for at in [30, 10, 20] {
            let order = Rc::clone(&order);
            timers.at(Instant(at), move || order.borrow_mut().push(at));
        }
        assert!(timers.fire(Instant(20)));
        assert_eq!(*order.borrow(), [10, 20]);
        assert_eq!(timers.next_deadline(), Some(Instant(30)));
    }

    #[test]
    fn a_cancelled_timer_does_not_fire() {
        let timers = Timers::new();
        let key = timers.at(Instant(5), || panic!("fired"));
        timers.cancel(key);
        assert!(!timers.fire(Instant(10)));
    }
}
