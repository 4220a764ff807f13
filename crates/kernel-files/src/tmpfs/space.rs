//! How much a memory file system may hold.

use std::cell::Cell;
use std::rc::Rc;

use linux_abi::{Errno, SysResult};

use crate::device_numbers::allocate_device;
use crate::metadata::DeviceNumber;

/// The unit of accounting.
pub const PAGE: u64 = 4096;

/// The most that a memory file system may hold; `None` is no limit of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all files together.
    pub max_bytes: Option<u64>,
    /// Files.
    pub max_inodes: Option<u64>,
}

/// What all memory file systems of a sandbox take together.
pub mod total {
    use std::cell::Cell;

    use super::PAGE;

    thread_local! {
        static MOST: Cell<u64> = const { Cell::new(u64::MAX) };
        static TAKEN: Cell<u64> = const { Cell::new(0) };
    }

    /// Sets how many bytes they may hold together.
    pub fn set_limit(bytes: u64) {
        MOST.set(bytes.div_ceil(PAGE));
    }

    /// How many bytes they hold.
    pub fn bytes() -> u64 {
        TAKEN.get().saturating_mul(PAGE)
    }

    /// How many more bytes they may hold.
    pub fn room() -> u64 {
        free_pages().saturating_mul(PAGE)
    }

    /// Whether they hold more than they may: guests have filled files through mappings.
    pub fn is_exceeded() -> bool {
        TAKEN.get() > MOST.get()
    }

    /// How many more pages there are.
    pub(super) fn free_pages() -> u64 {
        MOST.get().saturating_sub(TAKEN.get())
    }

    pub(super) fn take(n: u64) {
        TAKEN.set(TAKEN.get().saturating_add(n));
    }

    pub(super) fn give(n: u64) {
        TAKEN.set(TAKEN.get().saturating_sub(n));
    }
}

/// What the files of one memory file system may take, and take.
pub struct Space {
    device: DeviceNumber,
    max_pages: Cell<u64>,
    n_pages: Cell<u64>,
    max_inodes: Cell<u64>,
    n_inodes: Cell<u64>,
    next_inode: Cell<u64>,
    has_refused: Cell<bool>,
}

impl Space {
    /// Nothing is taken yet.
    pub fn new(limits: Limits) -> Rc<Self> {
        Rc::new(Self {
            device: allocate_device(),
            max_pages: Cell::new(limits.max_bytes.map_or(u64::MAX, |bytes| bytes.div_ceil(PAGE))),
            n_pages: Cell::new(0),
            max_inodes: Cell::new(limits.max_inodes.unwrap_or(u64::MAX)),
            n_inodes: Cell::new(0),
            next_inode: Cell::new(1),
            has_refused: Cell::new(false),
        })
    }

    /// Changes the limits that are given; `EINVAL` if more is taken already.
    pub fn change_limits(&self, limits: Limits) -> SysResult<()> {
        let pages = limits.max_bytes.map(|bytes| bytes.div_ceil(PAGE));
        if pages.is_some_and(|pages| self.n_pages.get() > pages)
            || limits.max_inodes.is_some_and(|inodes| self.n_inodes.get() > inodes)
        {
            return Err(Errno::EINVAL);
        }
        self.max_pages.set(pages.unwrap_or(self.max_pages.get()));
        self.max_inodes.set(limits.max_inodes.unwrap_or(self.max_inodes.get()));
        Ok(())
    }

    /// The device number of the file system.
    pub fn device(&self) -> DeviceNumber {
        self.device
    }

    /// Takes `n` pages; `ENOSPC` if there are not so many.
    pub fn take_pages(&self, n: u64) -> SysResult<()> {
        let taken = self.n_pages.get().saturating_add(n);
        if taken > self.max_pages.get() || n > total::free_pages() {
            self.has_refused.set(true);
            return Err(Errno::ENOSPC);
        }
        self.n_pages.set(taken);
        total::take(n);
        Ok(())
    }

    /// Something cannot be written as a whole.
    pub fn refused(&self) {
        self.has_refused.set(true);
    }

    /// Whether something was refused for want of space.
    pub fn has_refused(&self) -> bool {
        self.has_refused.get()
    }

    /// Takes `n` pages that are in use already, whatever the limit says.
    pub fn force_pages(&self, n: u64) {
        self.n_pages.set(self.n_pages.get().saturating_add(n));
        total::take(n);
        if self.n_pages.get() > self.max_pages.get() || total::is_exceeded() {
            self.has_refused.set(true);
        }
    }

    /// How many more pages there are.
    pub fn free_pages(&self) -> u64 {
        self.max_pages.get().saturating_sub(self.n_pages.get()).min(total::free_pages())
    }

    /// Gives `n` pages back.
    pub fn give_pages(&self, n: u64) {
        let given = n.min(self.n_pages.get());
        self.n_pages.set(self.n_pages.get() - given);
        total::give(given);
    }

    /// Takes an inode and its number; `ENOSPC` if there are none left.
    pub fn take_inode(&self) -> SysResult<u64> {
        if self.n_inodes.get() >= self.max_inodes.get() {
            self.has_refused.set(true);
            return Err(Errno::ENOSPC);
        }
        Ok(self.force_inode())
    }

    /// Takes an inode, whatever the limit says.
    pub fn force_inode(&self) -> u64 {
        self.n_inodes.set(self.n_inodes.get() + 1);
        let number = self.next_inode.get();
        self.next_inode.set(number + 1);
        number
    }

    /// Gives an inode back.
    pub fn give_inode(&self) {
        self.n_inodes.set(self.n_inodes.get().saturating_sub(1));
    }

    /// All blocks and the free ones; zeroes if there is no limit, as Linux says it.
    pub fn blocks(&self) -> (u64, u64) {
        let all = self.max_pages.get();
        if all == u64::MAX { (0, 0) } else { (all, self.free_pages()) }
    }

    /// All inodes and the free ones; zeroes if there is no limit.
    pub fn inodes(&self) -> (u64, u64) {
        let all = self.max_inodes.get();
        if all == u64::MAX {
            return (0, 0);
        }
        (all, all.saturating_sub(self.n_inodes.get()))
    }
}
