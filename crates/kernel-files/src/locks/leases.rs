//! Leases (`F_SETLEASE`): whoever holds one is told before somebody else uses the file.
//!
//! A conflicting open begins to *break* the lease: the holder gets a signal and some time to give
//! the lease up or to make do with less. After that time it is taken.

use std::cell::RefCell;

use kernel_core::timers::{self, Instant};
use kernel_core::wait::{PollEvents, WaitQueue};
use linux_abi::{Errno, SysResult};

use super::LockKind;

/// How long a holder has to give a lease up (`/proc/sys/fs/lease-break-time`).
pub const BREAK_SECONDS: u64 = 45;

struct Lease {
    /// The id of the open file that holds it.
    file: u64,
    kind: LockKind,
    breaking: Option<Breaking>,
    /// Signals the holder.
    tell: Box<dyn Fn()>,
}

/// A lease that somebody waits for.
#[derive(Clone, Copy)]
struct Breaking {
    /// What is left of it in the end.
    to: Option<LockKind>,
    until: Instant,
}

/// Who else has a file open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Others {
    /// Whether anybody can write to it, the asking file included.
    pub is_written: bool,
    /// Whether anybody but the asking file has it open.
    pub are_there: bool,
}

/// The leases of one file.
#[derive(Default)]
pub struct Leases {
    held: RefCell<Vec<Lease>>,
    /// Woken when a lease goes or gets weaker.
    pub queue: WaitQueue,
}

impl Leases {
    /// Gives an open file a lease, or changes the one it has. `EAGAIN` if others use the file so
    /// that it cannot have one.
    pub fn set(
        &self,
        file: u64,
        kind: LockKind,
        others: Others,
        tell: impl Fn() + 'static,
    ) -> SysResult<()> {
        let is_in_use = match kind {
            LockKind::Shared => others.is_written,
            LockKind::Exclusive => others.are_there,
        };
        self.take_overdue();
        let mut held = self.held.borrow_mut();
        let is_refused = |lease: &Lease| {
            let is_wanted_back = lease.breaking.is_some_and(|breaking| breaking.to.is_none());
            lease.file != file && (kind == LockKind::Exclusive || is_wanted_back)
        };
        if is_in_use || held.iter().any(is_refused) {
            return Err(Errno::EAGAIN);
        }
        match held.iter_mut().find(|lease| lease.file == file) {
            Some(own) => {
                own.kind = kind;
                // Less than somebody waits for is not enough.
                own.breaking = own.breaking.filter(|breaking| breaking.to.is_none());
            }
            None => held.push(Lease { file, kind, breaking: None, tell: Box::new(tell) }),
        }
        drop(held);
        self.queue.wake(PollEvents::MSG);
        Ok(())
    }

    /// Takes the lease of an open file away. Returns whether there was one.
    pub fn remove(&self, file: u64) -> bool {
        let mut held = self.held.borrow_mut();
        let before = held.len();
        held.retain(|lease| lease.file != file);
        let had_one = held.len() < before;
        drop(held);
        if had_one {
            self.queue.wake(PollEvents::MSG);
        }
        had_one
    }

    /// What lease an open file has, or will have once it is broken.
    pub fn kind_of(&self, file: u64) -> Option<LockKind> {
        self.take_overdue();
        let held = self.held.borrow();
        let lease = held.iter().find(|lease| lease.file == file)?;
        lease.breaking.map_or(Some(lease.kind), |breaking| breaking.to)
    }

    /// Somebody wants to use the file. If leases are in the way they are being broken from now on;
    /// the result is when they will be gone at the latest.
    pub fn breaks(&self, writes: bool) -> Option<Instant> {
        self.take_overdue();
        let until = Instant(timers::now().0.saturating_add(BREAK_SECONDS * 1_000_000_000));
        let to = if writes { None } else { Some(LockKind::Shared) };
        let mut held = self.held.borrow_mut();
        let in_the_way =
            held.iter_mut().filter(|lease| writes || lease.kind == LockKind::Exclusive);
        let mut last = None;
        for lease in in_the_way {
            let is_told = match lease.breaking {
                Some(Breaking { to: None, .. }) => true,
                Some(_) => !writes,
                None => false,
            };
            if !is_told {
                lease.breaking = Some(Breaking { to, until });
                (lease.tell)();
            }
            last = last.max(lease.breaking.map(|breaking| breaking.until));
        }
        last
    }

    /// Takes what was not given up in time.
    fn take_overdue(&self) {
        let now = timers::now();
        self.held.borrow_mut().retain_mut(|lease| match lease.breaking {
            Some(Breaking { to, until }) if until <= now => {
                lease.breaking = None;
                lease.kind = LockKind::Shared;
                to.is_some()
            }
            _ => true,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    const NOBODY: Others = Others { is_written: false, are_there: false };

    #[test]
    fn a_holder_is_told_once_and_may_keep_less() {
        let leases = Leases::default();
        let told = Rc::new(Cell::new(0));
        let count = Rc::clone(&told);
        leases.set(1, LockKind::Exclusive, NOBODY, move || count.set(count.get() + 1)).unwrap();
        assert!(leases.breaks(false).is_some());
        assert!(leases.breaks(false).is_some());
        assert_eq!((told.get(), leases.kind_of(1)), (1, Some(LockKind::Shared)));
        leases.set(1, LockKind::Shared, NOBODY, || {}).unwrap();
        assert!(leases.breaks(false).is_none());
        assert!(leases.breaks(true).is_some());
        assert_eq!((told.get(), leases.kind_of(1)), (2, None));
        assert_eq!(leases.set(2, LockKind::Shared, NOBODY, || {}), Err(Errno::EAGAIN));
        assert!(leases.remove(1));
        assert!(leases.breaks(true).is_none());
    }

    #[test]
    fn an_exclusive_lease_is_for_one_alone() {
        let leases = Leases::default();
        leases.set(1, LockKind::Shared, NOBODY, || {}).unwrap();
        leases.set(2, LockKind::Shared, NOBODY, || {}).unwrap();
        assert_eq!(leases.set(2, LockKind::Exclusive, NOBODY, || {}), Err(Errno::EAGAIN));
        let written = Others { is_written: true, are_there: false };
        assert_eq!(leases.set(3, LockKind::Shared, written, || {}), Err(Errno::EAGAIN));
    }
}
