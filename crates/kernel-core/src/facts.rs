//! What guests may remember of an answer, and when they must ask again.
//!
//! A question about a file, asked twice, has one answer as long as nothing changes. The shim
//! keeps such answers and gives them again without asking, for as long as the kernel's count of
//! changes stands still. Every change of a name or an attribute, by whomever, moves the count;
//! answers that may change without the kernel (the host's files, `/proc`) are never kept.

use std::cell::Cell;

use crate::moment;

/// How often what guests may have kept has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Changes of names, attributes, and of who may see what.
    pub names: u64,
    /// Changes of what a descriptor stands for.
    pub descriptors: u64,
}

thread_local! {
    // From 1 on: memory that was never written keeps no answer.
    static FACTS: Cell<Facts> = const { Cell::new(Facts { names: 1, descriptors: 1 }) };
    static WAYS: Cell<u64> = const { Cell::new(1) };
    static CAME_FROM_OUTSIDE: Cell<bool> = const { Cell::new(false) };
    static IS_STEADY: Cell<bool> = const { Cell::new(false) };
}

/// A call begins: what the one before it found out is not its own.
pub fn begin_call() {
    moment::pass();
    CAME_FROM_OUTSIDE.set(false);
    IS_STEADY.set(false);
}

/// A name, an attribute or somebody's view of them has changed.
pub fn changed() {
    WAYS.set(WAYS.get() + 1);
    files_changed();
}

/// A name or an attribute has changed, such that every path that led to a directory still leads there,
/// and may be gone by the same people.
pub fn files_changed() {
    let facts = FACTS.get();
    FACTS.set(Facts { names: facts.names + 1, ..facts });
    moment::pass();
}

/// A descriptor stands for another file, or for none.
pub fn descriptors_changed() {
    let facts = FACTS.get();
    FACTS.set(Facts { descriptors: facts.descriptors + 1, ..facts });
}

/// How often a path that led to a directory may have changed.
pub fn ways() -> u64 {
    WAYS.get()
}

/// The counts now.
pub fn now() -> Facts {
    FACTS.get()
}

/// A part of the call's answer came from where things change without the kernel.
pub fn came_from_outside() {
    CAME_FROM_OUTSIDE.set(true);
}

/// Whether any part of the call's answer did, so far.
pub fn is_from_outside() -> bool {
    CAME_FROM_OUTSIDE.get()
}

/// The call's answer is about a file whose names and attributes change only with [`changed`], or
/// not so.
pub fn answered_from(is_steady: bool) {
    IS_STEADY.set(is_steady);
}

/// Whether the call's answer stays the same until something has changed.
pub fn is_steady() -> bool {
    IS_STEADY.get() && !CAME_FROM_OUTSIDE.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_steady_answers_are_kept() {
        begin_call();
        assert!(!is_steady());
        answered_from(true);
        assert!(is_steady());
        came_from_outside();
        assert!(!is_steady());
        begin_call();
        assert!(!is_steady());
    }

    #[test]
    fn changes_are_counted_apart() {
        let (before, ways_before) = (now(), ways());
        changed();
        assert_eq!(now(), Facts { names: before.names + 1, ..before });
        assert_eq!(ways(), ways_before + 1);
        files_changed();
        assert_eq!(now().names, before.names + 2);
        assert_eq!(ways(), ways_before + 1);
        descriptors_changed();
        assert_eq!(now().descriptors, before.descriptors + 1);
    }
}
