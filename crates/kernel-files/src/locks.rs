//! File locks: `flock`, record locks of processes, record locks of open files, and leases.
//!
//! They hang on the inode. Record locks belong to a descriptor table (POSIX) or to an open file;
//! both kinds see each other. `flock` locks are a world of their own, as on Linux.

mod leases;
mod range;

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use kernel_core::ledger::{ALLOCATION, Charge, Kind};
use kernel_core::timers::Instant;
use kernel_core::wait::{PollEvents, WaitQueue};
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, SysResult};

use crate::inode::Inode;
use crate::open_file::OpenFile;
use crate::text_busy;
use leases::{Leases, Others};
use range::Ranges;

pub use leases::BREAK_SECONDS;
pub use range::{RangeLock, RecordLock};

/// How many records of one file may be locked.
pub const MAX_RECORDS: usize = 10_000;

/// Shared with others, or for oneself alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// Others may have it too.
    Shared,
    /// Nobody else may have it.
    Exclusive,
}

/// Who holds a record lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockOwner {
    /// A process, by the id of its descriptor table.
    Table(u64),
    /// An open file, by its id.
    File(u64),
}

/// The locks of one file; hangs on its inode.
pub struct FileLocks {
    whole: RefCell<Vec<(u64, LockKind)>>,
    ranges: RefCell<Ranges>,
    /// Woken when a lock goes.
    pub queue: WaitQueue,
    /// The leases.
    pub leases: Leases,
    charge: RefCell<Charge>,
}

impl Default for FileLocks {
    fn default() -> Self {
        Self {
            whole: RefCell::default(),
            ranges: RefCell::default(),
            queue: WaitQueue::default(),
            leases: Leases::default(),
            charge: RefCell::new(Charge::none(Kind::Locks)),
        }
    }
}

/// What a lock takes.
const LOCK_BYTES: u64 = 2 * size_of::<RecordLock>() as u64;

/// What so many locked ranges take.
fn memory_of(n_ranges: usize) -> u64 {
    if n_ranges == 0 { 0 } else { n_ranges as u64 * LOCK_BYTES + ALLOCATION }
}

thread_local! {
    /// Whom each process waits for, to find circles.
    static WAITING: RefCell<HashMap<LockOwner, LockOwner>> = RefCell::default();
}

/// The locks of a file. They are made when they are first asked for.
pub fn of(file: &OpenFile) -> Rc<FileLocks> {
    file.object_attachments().get_or_attach(FileLocks::default)
}

impl FileLocks {
    /// Sets, changes or (with `None`) removes the `flock` lock of an open file. `EAGAIN` if
    /// somebody has one that does not go with it. As on Linux, a change that fails loses the lock.
    pub fn set_whole(&self, file: u64, kind: Option<LockKind>) -> SysResult<()> {
        let mut whole = self.whole.borrow_mut();
        if let Some(kind) = kind
            && whole.contains(&(file, kind))
        {
            return Ok(());
        }
        let before = whole.len();
        whole.retain(|(owner, _)| *owner != file);
        let lost = whole.len() < before;
        let result = match kind {
            None => Ok(()),
            Some(kind) => {
                let fits = |other: &(u64, LockKind)| {
                    kind == LockKind::Shared && other.1 == LockKind::Shared
                };
                if whole.iter().all(fits) {
                    whole.push((file, kind));
                    Ok(())
                } else {
                    Err(Errno::EAGAIN)
                }
            }
        };
        drop(whole);
        if lost {
            self.queue.wake(PollEvents::MSG);
        }
        result
    }

    /// The first record lock that does not go with `wanted`.
    pub fn find_conflict(&self, wanted: &RecordLock) -> Option<RecordLock> {
        self.ranges.borrow().find_conflict(wanted)
    }

    /// Locks a range; `EAGAIN` if somebody has a lock that does not go with it.
    pub fn lock(&self, wanted: &RecordLock) -> SysResult<()> {
        if self.find_conflict(wanted).is_some() {
            return Err(Errno::EAGAIN);
        }
        let eased = {
            let mut ranges = self.ranges.borrow_mut();
            // What is locked may be split in three.
            if ranges.len() >= MAX_RECORDS
                || self.charge.borrow_mut().resize(memory_of(ranges.len() + 2)).is_err()
            {
                return Err(Errno::ENOLCK);
            }
            let eased = ranges.replace(wanted.owner, wanted.range, Some(*wanted));
            self.charge.borrow_mut().force(memory_of(ranges.len()));
            eased
        };
        if eased {
            self.queue.wake(PollEvents::MSG);
        }
        Ok(())
    }

    /// Unlocks a range.
    pub fn unlock(&self, owner: LockOwner, range: RangeLock) {
        let mut ranges = self.ranges.borrow_mut();
        let eased = ranges.replace(owner, range, None);
        self.charge.borrow_mut().force(memory_of(ranges.len()));
        drop(ranges);
        if eased {
            self.queue.wake(PollEvents::MSG);
        }
    }

    /// All record locks, for `/proc/locks`.
    pub fn records(&self) -> Vec<RecordLock> {
        self.ranges.borrow().all()
    }
}

/// Somebody is about to wait for a record lock. `EDEADLK` if that would wait for the waiter itself.
/// Dropping the result ends the wait.
pub fn wait_for(waiter: LockOwner, holder: LockOwner) -> SysResult<Waiting> {
    WAITING.with_borrow_mut(|waiting| {
        let mut at = holder;
        let mut steps = 0;
        while let Some(next) = waiting.get(&at) {
            steps += 1;
            if *next == waiter || steps > waiting.len() {
                return Err(Errno::EDEADLK);
            }
            at = *next;
        }
        waiting.insert(waiter, holder);
        Ok(Waiting(waiter))
    })
}

/// Somebody waits for a record lock.
pub struct Waiting(LockOwner);

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING.with_borrow_mut(|waiting| waiting.remove(&self.0));
    }
}

/// A descriptor of the table has been closed: the process loses its record locks of that file,
/// whatever other descriptors it has.
pub fn descriptor_closed(file: &OpenFile, table: u64) {
    if let Some(locks) = file.object_attachments().get::<FileLocks>() {
        locks.unlock(LockOwner::Table(table), RangeLock::WHOLE);
    }
}

/// The lease of an open file.
pub fn lease_of(file: &OpenFile) -> Option<LockKind> {
    file.object_attachments().get::<FileLocks>()?.leases.kind_of(file.id())
}

/// Who uses a file beside an open file of it with these flags.
pub fn others(inode: &dyn Inode, flags: OpenFlags) -> Others {
    let n_writers = text_busy::n_writers(inode);
    let n_readers = inode.attachments().n_readers.get();
    let own_writers = i64::from(flags.can_write());
    let own_readers = u32::from(!flags.can_write());
    Others {
        is_written: n_writers > 0,
        are_there: n_writers != own_writers || n_readers != own_readers,
    }
}

/// Somebody opens a file: if leases are in the way, begins to break them, and says on which locks
/// to wait and until when.
pub fn break_leases(inode: &dyn Inode, writes: bool) -> Option<(Rc<FileLocks>, Instant)> {
    let locks = inode.attachments().get::<FileLocks>()?;
    let until = locks.leases.breaks(writes)?;
    Some((locks, until))
}

/// An open file is gone, and its locks with it.
pub(crate) fn file_released(file: &OpenFile) {
    if let Some(locks) = file.object_attachments().get::<FileLocks>() {
        locks.unlock(LockOwner::File(file.id()), RangeLock::WHOLE);
        // Taking a lock off never fails.
        let _ = locks.set_whole(file.id(), None);
        locks.leases.remove(file.id());
    }
}
