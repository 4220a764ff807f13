//! What the kernel process holds for its guests: counted by kind, where it is allocated, against one limit.
//!
//! Whatever grows because a guest asks for it carries a [`Charge`], which gives back when it is dropped. A charge that does
//! not fit fails with [`Full`], and the caller answers with the error that Linux gives for that call. The kernel process
//! has one thread, so there is one ledger per sandbox, and its numbers are plain cells.
//!
//! The limit covers the guests' own memory as well. Only the host knows that: [`Outside`] tells it, steadily and before
//! anything is refused. What is held without a charge (small things, and what the allocator cannot give back) shows in the
//! kernel process's resident memory, which [`held`] takes into account.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::timers;

/// What something is held for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes of files in memory.
    FileData,
    /// Files in memory, their names and attributes.
    Inodes,
    /// Remembered names.
    Dentries,
    /// Blocks of memory files that guests can map. They are the host's, no part of the kernel process's own memory.
    SharedMemory,
    /// Pipes.
    Pipes,
    /// Pipes of the host's, no part of the kernel process's own memory.
    HostPipes,
    /// Sockets and what waits in them.
    Sockets,
    /// Queues of messages and of events.
    Queues,
    /// Open files, and what watches them.
    OpenFiles,
    /// Locks on files.
    Locks,
    /// Timers and pending signals.
    Signals,
    /// Terminals.
    Terminals,
}

/// What an allocation takes beside its bytes: the allocator's own words, and the place in a table.
pub const ALLOCATION: u64 = 48;

/// Charges leave one part in this many of the limit, so that what needs no charge still fits: who is refused has time to
/// give back, and is not killed. Half of it is for what every program needs to go on.
const RESERVED_PART: u64 = 32;

/// What is outside is looked at again before a charge is refused, but not more often than this ...
const LOOK_INTERVAL_NANOS: u64 = 2_000_000;
/// ... nor than this many times what the last look took: a guest that goes on asking is not to keep the kernel process
/// busy with looking.
const LOOK_SHARE: u64 = 20;

/// There is no room for a charge. What that means to the guest is for the call to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// What only the host knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Private memory of all guest processes.
    pub guests: u64,
    /// Resident memory of the kernel process, beyond what it had when the guest started.
    pub own: u64,
}

/// Measures what only the host knows.
pub trait Outside {
    /// Looks now. May bring charges up to date as well.
    fn measure(&self) -> Measured;

    /// From now on guests can fill one more memory file without a call.
    fn can_fill(&self);
}

struct Ledger {
    limit: Cell<u64>,
    /// Charged for what is in the kernel process's own memory, by kind.
    by_kind: [Cell<u64>; Kind::Terminals as usize + 1],
    /// The sum of those kinds that are the kernel process's own memory, and of those that are the host's.
    own: Cell<u64>,
    on_host: Cell<u64>,
    measured: Cell<Measured>,
    measured_at: Cell<u64>,
    /// What the last look before a refusal took, in nanoseconds.
    look_took: Cell<u64>,
}

thread_local! {
    static LEDGER: Ledger = const {
        Ledger {
            limit: Cell::new(u64::MAX),
            by_kind: [const { Cell::new(0) }; Kind::Terminals as usize + 1],
            own: Cell::new(0),
            on_host: Cell::new(0),
            measured: Cell::new(Measured { guests: 0, own: 0 }),
            measured_at: Cell::new(0),
            look_took: Cell::new(0),
        }
    };
    static OUTSIDE: RefCell<Option<Rc<dyn Outside>>> = const { RefCell::new(None) };
}

impl Ledger {
    fn held(&self) -> u64 {
        self.own.get().max(self.measured.get().own).saturating_add(self.on_host.get())
    }

    fn held_with_guests(&self) -> u64 {
        self.held().saturating_add(self.measured.get().guests)
    }

    /// How much more fits if one part in so many of the limit is left alone.
    fn room(&self, reserved_part: u64) -> u64 {
        let limit = self.limit.get();
        (limit - limit / reserved_part).saturating_sub(self.held_with_guests())
    }

    /// A charge of this kind, which was `from` bytes, is now `to`. What a charge gives back it has taken before, so that
    /// no number goes below zero.
    fn change(&self, kind: Kind, from: u64, to: u64) {
        let is_on_host = matches!(kind, Kind::SharedMemory | Kind::HostPipes);
        let sum = if is_on_host { &self.on_host } else { &self.own };
        for place in self.by_kind.get(kind as usize).into_iter().chain([sum]) {
            place.set(place.get().saturating_sub(from).saturating_add(to));
        }
    }
}

/// Sets how many bytes kernel process and guests may hold together.
pub fn set_limit(bytes: u64) {
    LEDGER.with(|ledger| ledger.limit.set(bytes));
}

/// How many bytes they may hold together; `None` is no limit.
pub fn limit() -> Option<u64> {
    Some(LEDGER.with(|ledger| ledger.limit.get())).filter(|&limit| limit != u64::MAX)
}

/// Sets who measures what only the host knows.
pub fn set_outside(outside: Rc<dyn Outside>) {
    OUTSIDE.with_borrow_mut(|place| *place = Some(outside));
}

/// What was measured just now.
pub fn note(measured: Measured) {
    LEDGER.with(|ledger| {
        ledger.measured.set(measured);
        ledger.measured_at.set(timers::now().0);
    });
}

/// From now on guests can fill one more memory file without a call.
pub fn can_fill() {
    if let Some(outside) = OUTSIDE.with_borrow(Clone::clone) {
        outside.can_fill();
    }
}

/// How many bytes are charged for one kind.
pub fn held_by(kind: Kind) -> u64 {
    LEDGER.with(|ledger| ledger.by_kind.get(kind as usize).map_or(0, Cell::get))
}

/// How many bytes the kernel process holds for guests: what is charged, or what the host says that it has if that is more.
pub fn held() -> u64 {
    LEDGER.with(Ledger::held)
}

/// How many bytes of the kernel process's own memory are charged.
pub fn charged_own() -> u64 {
    LEDGER.with(|ledger| ledger.own.get())
}

/// How many bytes kernel process and guests hold together, as far as is known.
pub fn held_with_guests() -> u64 {
    LEDGER.with(Ledger::held_with_guests)
}

/// How many bytes may still be charged, as far as is known.
pub fn room() -> u64 {
    LEDGER.with(|ledger| ledger.room(RESERVED_PART))
}

/// Whether so much more fits. Looks again before it says no.
fn fits(more: u64, reserved_part: u64) -> bool {
    let has_room = || LEDGER.with(|ledger| more <= ledger.room(reserved_part));
    has_room() || look_again() && has_room()
}

/// Measures what is outside, if that was not done just now.
#[cold]
fn look_again() -> bool {
    let (last, took) = LEDGER.with(|ledger| (ledger.measured_at.get(), ledger.look_took.get()));
    let pause = LOOK_INTERVAL_NANOS.max(took.saturating_mul(LOOK_SHARE));
    let started = timers::now().0;
    if started.saturating_sub(last) < pause {
        return false;
    }
    let Some(outside) = OUTSIDE.with_borrow(Clone::clone) else { return false };
    note(outside.measure());
    LEDGER.with(|ledger| {
        let ended = ledger.measured_at.get();
        ledger.look_took.set(ended.saturating_sub(started));
    });
    true
}

/// How much of what is wanted may be charged. Looks again before it says less.
pub fn room_for(wanted: u64) -> u64 {
    if fits(wanted, RESERVED_PART) { wanted } else { room() }
}

/// Whether there are so many bytes for what every program needs to go on, such as a descriptor or a child.
pub fn has_room_to_go_on(bytes: u64) -> bool {
    fits(bytes, 2 * RESERVED_PART)
}

/// A share of what the kernel process may hold. Gives it back when it goes.
#[derive(Debug)]
pub struct Charge {
    kind: Kind,
    bytes: u64,
}

impl Charge {
    /// Nothing as yet.
    pub const fn none(kind: Kind) -> Self {
        Self { kind, bytes: 0 }
    }

    /// So many bytes, if there is room.
    pub fn new(kind: Kind, bytes: u64) -> Result<Self, Full> {
        let mut charge = Self::none(kind);
        charge.resize(bytes)?;
        Ok(charge)
    }

    /// So many bytes, which are there already or were checked before.
    pub fn forced(kind: Kind, bytes: u64) -> Self {
        let mut charge = Self::none(kind);
        charge.force(bytes);
        charge
    }

    /// The memory of a value, and of what the allocator needs for it.
    pub fn of<T>(kind: Kind) -> Result<Self, Full> {
        Self::new(kind, size_of::<T>() as u64 + ALLOCATION)
    }

    /// How many bytes it is.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes it so many bytes. Less always fits; if more does not, it stays as it is.
    pub fn resize(&mut self, bytes: u64) -> Result<(), Full> {
        if bytes > self.bytes && !fits(bytes - self.bytes, RESERVED_PART) {
            return Err(Full);
        }
        self.force(bytes);
        Ok(())
    }

    /// Makes it so many bytes, which are there already.
    pub fn force(&mut self, bytes: u64) {
        if bytes != self.bytes {
            LEDGER.with(|ledger| ledger.change(self.kind, self.bytes, bytes));
            self.bytes = bytes;
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.force(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of which 1000 can be charged, and 16 more are for what every program needs.
    const ALL: u64 = 1032;

    #[test]
    fn what_is_dropped_is_given_back() {
        set_limit(ALL);
        let one = Charge::new(Kind::Pipes, 600).unwrap();
        let two = Charge::new(Kind::Sockets, 400).unwrap();
        assert_eq!((held(), held_by(Kind::Pipes), room()), (1000, 600, 0));
        drop(one);
        assert_eq!((held(), held_by(Kind::Pipes), room()), (400, 0, 600));
        drop(two);
        assert_eq!((held(), charged_own(), room()), (0, 0, 1000));
    }

    #[test]
    fn what_does_not_fit_is_refused_and_changes_nothing() {
        set_limit(ALL);
        let mut charge = Charge::new(Kind::Queues, 400).unwrap();
        assert_eq!(Charge::new(Kind::Locks, 601).err(), Some(Full));
        assert_eq!(charge.resize(1001), Err(Full));
        assert_eq!((charge.bytes(), held(), held_by(Kind::Locks)), (400, 400, 0));
        charge.resize(1000).unwrap();
        assert_eq!(charge.resize(u64::MAX), Err(Full));
    }

    #[test]
    fn less_always_fits() {
        set_limit(ALL);
        let mut charge = Charge::forced(Kind::OpenFiles, 5000);
        assert_eq!((held(), room()), (5000, 0));
        charge.resize(4000).unwrap();
        assert_eq!(charge.resize(4001), Err(Full));
        charge.resize(10).unwrap();
        assert_eq!((held(), room()), (10, 990));
    }

    #[test]
    fn no_number_goes_below_zero() {
        set_limit(ALL);
        let kept = Charge::new(Kind::Signals, 100).unwrap();
        for n in 0..1000 {
            let mut charge = Charge::new(Kind::Signals, n % 7).unwrap();
            charge.force(n * 31 % 500);
            charge.force(n % 3);
        }
        assert_eq!((held(), held_by(Kind::Signals)), (100, 100));
        drop(kept);
        assert_eq!((held(), held_by(Kind::Signals)), (0, 0));
    }

    #[test]
    fn programs_can_go_on_where_charges_are_refused() {
        set_limit(ALL);
        let mut charge = Charge::new(Kind::FileData, 1000).unwrap();
        assert_eq!((room_for(1), has_room_to_go_on(16)), (0, true));
        assert!(!has_room_to_go_on(17));
        charge.force(1016);
        assert!(!has_room_to_go_on(1));
    }

    #[test]
    fn memory_that_nobody_charged_is_held_too() {
        set_limit(ALL);
        let _files = Charge::new(Kind::FileData, 100).unwrap();
        let _shared = Charge::new(Kind::SharedMemory, 50).unwrap();
        note(Measured { guests: 200, own: 70 });
        assert_eq!((held(), held_with_guests()), (150, 350));
        note(Measured { guests: 200, own: 300 });
        assert_eq!((held(), held_with_guests(), room()), (350, 550, 450));
    }

    #[test]
    fn whoever_is_refused_again_and_again_does_not_keep_the_host_busy() {
        /// Looks that take long, counted.
        struct Dear(Cell<u32>);
        impl Outside for Dear {
            fn measure(&self) -> Measured {
                self.0.set(self.0.get() + 1);
                std::thread::sleep(std::time::Duration::from_millis(10));
                Measured { guests: 5000, own: 0 }
            }

            fn can_fill(&self) {}
        }
        set_limit(ALL);
        note(Measured { guests: 5000, own: 0 });
        let outside = Rc::new(Dear(Cell::new(0)));
        set_outside(Rc::<Dear>::clone(&outside));
        let started = timers::now().0;
        while timers::now().0 - started < 150_000_000 {
            assert!(Charge::new(Kind::Queues, 20).is_err());
        }
        assert_eq!(outside.0.get(), 1);
    }

    #[test]
    fn the_host_is_asked_before_anything_is_refused() {
        struct Fixed;
        impl Outside for Fixed {
            fn measure(&self) -> Measured {
                Measured { guests: 10, own: 0 }
            }

            fn can_fill(&self) {}
        }
        set_limit(ALL);
        LEDGER.with(|ledger| ledger.measured.set(Measured { guests: 990, own: 0 }));
        assert!(Charge::new(Kind::Queues, 20).is_err());
        set_outside(Rc::new(Fixed));
        let _charge = Charge::new(Kind::Queues, 20).unwrap();
        assert_eq!(room_for(2000), 970);
        assert_eq!(room_for(5), 5);
    }
}
