//! Ranges of bytes that are locked.

use super::{LockKind, LockOwner};

/// A range of bytes, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeLock {
    /// The first byte.
    pub first: u64,
    /// The last byte.
    pub last: u64,
}

impl RangeLock {
    /// Everything.
    pub const WHOLE: Self = Self { first: 0, last: u64::MAX };

    fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// A locked range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordLock {
    /// Which bytes.
    pub range: RangeLock,
    /// How.
    pub kind: LockKind,
    /// By whom.
    pub owner: LockOwner,
    /// The process id that `F_GETLK` tells.
    pub pid: u32,
}

/// The locked ranges of a file. Those of one owner do not overlap.
#[derive(Default)]
pub(super) struct Ranges {
    locks: Vec<RecordLock>,
}

impl Ranges {
    pub(super) fn len(&self) -> usize {
        self.locks.len()
    }

    pub(super) fn all(&self) -> Vec<RecordLock> {
        self.locks.clone()
    }

    pub(super) fn find_conflict(&self, wanted: &RecordLock) -> Option<RecordLock> {
        let conflicts = |lock: &&RecordLock| {
            lock.owner != wanted.owner
                && lock.range.overlaps(wanted.range)
                && (lock.kind == LockKind::Exclusive || wanted.kind == LockKind::Exclusive)
        };
        self.locks.iter().filter(conflicts).min_by_key(|lock| lock.range.first).copied()
    }

    /// Puts `new`, or nothing, in the place of what `owner` has in `range`. Says whether anything
    /// was taken away or made weaker.
    pub(super) fn replace(
        &mut self,
        owner: LockOwner,
        range: RangeLock,
        new: Option<RecordLock>,
    ) -> bool {
        let mut eased = false;
        let mut kept = Vec::with_capacity(self.locks.len() + 2);
        for lock in self.locks.drain(..) {
            if lock.owner != owner || !lock.range.overlaps(range) {
                kept.push(lock);
                continue;
            }
            eased |= new.is_none_or(|new| new.kind != lock.kind);
            if lock.range.first < range.first {
                let range = RangeLock { first: lock.range.first, last: range.first - 1 };
                kept.push(RecordLock { range, ..lock });
            }
            if lock.range.last > range.last {
                let range = RangeLock { first: range.last + 1, last: lock.range.last };
                kept.push(RecordLock { range, ..lock });
            }
        }
        kept.extend(new);
        self.locks = kept;
        self.merge(owner);
        eased
    }

    /// Joins neighbours of the same kind, so that locking byte by byte does not grow the list.
    fn merge(&mut self, owner: LockOwner) {
        let (mut own, others): (Vec<_>, Vec<_>) =
            self.locks.drain(..).partition(|lock| lock.owner == owner);
        own.sort_by_key(|lock| lock.range.first);
        self.locks = others;
        let mut own = own.into_iter();
        let Some(mut current) = own.next() else { return };
        for next in own {
            let touches = current.range.last.checked_add(1) == Some(next.range.first);
            if touches && next.kind == current.kind {
                current.range.last = next.range.last;
            } else {
                self.locks.push(current);
                current = next;
            }
        }
        self.locks.push(current);
    }
}
