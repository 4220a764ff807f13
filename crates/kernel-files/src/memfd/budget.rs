//! How much memory all memfds of a sandbox may hold together.
//!
//! What a guest writes through a mapping is memory of its own processes, and counted there. What
//! the kernel writes for it into a file that nobody maps would be counted nowhere.

use std::cell::Cell;

/// The limit if nobody sets one.
const DEFAULT_LIMIT: u64 = 4 << 30;

thread_local! {
    static LIMIT: Cell<u64> = const { Cell::new(DEFAULT_LIMIT) };
    static CHARGED: Cell<u64> = const { Cell::new(0) };
}

/// Sets how many bytes all memfds may hold together.
pub fn set_limit(limit: u64) {
    LIMIT.set(limit);
}

/// How many bytes may still be taken.
pub(super) fn room() -> u64 {
    LIMIT.get().saturating_sub(CHARGED.get())
}

/// A file that held `before` bytes now holds `now`.
pub(super) fn recount(before: u64, now: u64) {
    CHARGED.set(CHARGED.get().saturating_sub(before).saturating_add(now));
}
