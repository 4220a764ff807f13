//! Ports of connections that are over.
//!
//! Who closes a TCP connection first keeps its port for a minute, so that late packets do not meet
//! a new connection. There are none here, but programs see it: without `SO_REUSEADDR` a server
//! cannot be started again at once.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;

use kernel_core::timers::{self, Instant};

use super::ports::BindingKey;

/// How long a port is held (Linux: `TCP_TIMEWAIT_LEN`).
const NANOS: u64 = 60_000_000_000;

/// So many are held at most; then the oldest goes. It is less than a third of the ports that the
/// kernel chooses from, so that there are always free ones.
const MAX_HELD: usize = 8192;

/// Names a port that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HoldKey(u64);

/// A connection that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parted {
    /// The address of the end that closed first.
    pub local: SocketAddr,
    /// That of the other one.
    pub remote: SocketAddr,
    /// The family of the socket that it was.
    pub family: u16,
    /// Whether the other end is closed as well.
    pub is_closed: bool,
}

/// The ports that are held, the oldest first.
#[derive(Default)]
pub(super) struct Held {
    until: RefCell<BTreeMap<HoldKey, (Instant, BindingKey, Parted)>>,
    next: Cell<u64>,
}

impl Held {
    /// Holds a port from now on. If there are too many then, the oldest is returned.
    pub(super) fn add(&self, key: BindingKey, parted: Parted) -> (HoldKey, Option<BindingKey>) {
        let hold = HoldKey(self.next.replace(self.next.get() + 1));
        let mut until = self.until.borrow_mut();
        until.insert(hold, (timers::now().after(NANOS), key, parted));
        let is_full = until.len() > MAX_HELD;
        let oldest = if is_full { until.pop_first() } else { None };
        (hold, oldest.map(|(_, (_, key, _))| key))
    }

    /// Ends a hold.
    pub(super) fn remove(&self, hold: HoldKey) -> Option<(BindingKey, Parted)> {
        self.until.borrow_mut().remove(&hold).map(|(_, key, parted)| (key, parted))
    }

    /// The connections, with how many nanoseconds they have left.
    pub(super) fn list(&self) -> Vec<(u64, Parted)> {
        let now = timers::now();
        let until = self.until.borrow();
        let left = until.values().map(|(at, _, parted)| (at.0.saturating_sub(now.0), *parted));
        left.filter(|(left, _)| *left > 0).collect()
    }

    /// Takes those out whose time is over.
    pub(super) fn take_overdue(&self) -> Vec<BindingKey> {
        let mut until = self.until.borrow_mut();
        let mut overdue = Vec::new();
        if until.is_empty() {
            return overdue;
        }
        let now = timers::now();
        while let Some(first) = until.first_entry().filter(|first| first.get().0 <= now) {
            overdue.push(first.remove().1);
        }
        overdue
    }
}
