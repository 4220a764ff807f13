//! Processes and threads that the kernel was not told of, and when they prove an attack.
//!
//! Only code that goes around its shim makes them. But one that ends may be listed for a moment after
//! it is forgotten: so what is seen counts when it lasts.

use std::cell::Cell;

use kernel_core::timers::Instant;

use crate::engine::census::Census;

/// So many looks in a row must find hidden processes ...
const LOOKS_AT_HIDDEN: u32 = 3;
/// ... and for so long.
const HIDDEN_NANOS: u64 = 400_000_000;
/// Those that have had time to say who they are: they were waited for already.
const LOOKS_AT_OVERDUE: u32 = 2;
/// Threads end by themselves after they were told to, and on a busy machine many take their time.
const THREADS_NANOS: u64 = 2_000_000_000;
/// So many threads may begin and end.
const OTHER_THREADS: u64 = 200;

/// Something that is seen, or not, in each look.
#[derive(Default)]
struct Lasting(Cell<Option<(u32, Instant)>>);

impl Lasting {
    /// Whether it was seen in so many looks in a row, and for so long.
    fn lasts(&self, is_seen: bool, now: Instant, n_looks: u32, nanos: u64) -> bool {
        if !is_seen {
            self.0.set(None);
            return false;
        }
        let (n_before, since) = self.0.get().unwrap_or((0, now));
        let n_seen = n_before.saturating_add(1);
        self.0.set(Some((n_seen, since)));
        n_seen >= n_looks && since.after(nanos) <= now
    }

    fn is_seen(&self) -> bool {
        self.0.get().is_some()
    }
}

/// What was seen of hidden processes and threads.
#[derive(Default)]
pub struct Hidden {
    processes: Lasting,
    overdue: Lasting,
    threads: Lasting,
}

impl Hidden {
    /// Whether a census, after those before it, proves an attack. `n_threads` is how many threads the
    /// kernel knows.
    pub fn is_proved(&self, census: &Census, n_threads: u64, now: Instant) -> bool {
        // The shim may keep the first thread of a process after its guest thread has ended.
        let n_most = n_threads + census.processes.len() as u64 + OTHER_THREADS;
        let (hidden, overdue) = (census.n_hidden > 0, census.n_overdue > 0);
        let has_threads = census.n_threads() > n_most;
        // Each is to be told of every look.
        let proofs = [
            self.processes.lasts(hidden, now, LOOKS_AT_HIDDEN, HIDDEN_NANOS),
            self.overdue.lasts(overdue, now, LOOKS_AT_OVERDUE, 0),
            self.threads.lasts(has_threads, now, LOOKS_AT_HIDDEN, THREADS_NANOS),
        ];
        census.is_flood() || proofs.contains(&true)
    }

    /// Whether the last look found something hidden.
    pub fn is_suspected(&self) -> bool {
        self.processes.is_seen() || self.threads.is_seen()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_counts_when_it_lasts() {
        let hidden = Hidden::default();
        let census = Census { n_hidden: 1, n_unknown: 1, ..Census::default() };
        assert!(!hidden.is_proved(&census, 1, Instant(0)));
        assert!(!hidden.is_proved(&census, 1, Instant(HIDDEN_NANOS)), "two looks");
        assert!(hidden.is_proved(&census, 1, Instant(HIDDEN_NANOS)));
        assert!(!hidden.is_proved(&Census::default(), 1, Instant(HIDDEN_NANOS)));
        assert!(!hidden.is_suspected());
        assert!(!hidden.is_proved(&census, 1, Instant(2 * HIDDEN_NANOS)), "it begins again");
    }

    #[test]
    fn who_is_overdue_is_waited_for_no_longer() {
        let hidden = Hidden::default();
        let census = Census { n_hidden: 1, n_overdue: 1, n_unknown: 1, ..Census::default() };
        assert!(!hidden.is_proved(&census, 1, Instant(5)));
        assert!(hidden.is_proved(&census, 1, Instant(6)));
    }
}
