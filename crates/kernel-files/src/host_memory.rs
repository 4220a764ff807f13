//! Memory files of the host that guests can map, and how much they hold.
//!
//! A guest fills such a file through a mapping, without a call, and keeps what is in it by one mapped page after it has
//! closed every descriptor. So the blocks of each file are counted by the host's word ([`recount_all`]) for as long as
//! anybody has it: when the kernel itself has let go of a file that was passed to guests, a descriptor of it stays here until
//! the host grants a lease on it, which it does once nobody else has the file open or mapped.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::{Rc, Weak};

use host_sys::{errno_of, has_other_users, open_again, rustix};
use kernel_core::ledger::{self, Charge, Kind};
use linux_abi::{Errno, SysResult};
use rustix::fs::{MemfdFlags, OFlags};

use crate::open_file::{MappedFile, allocate_map_ids};
use crate::tmpfs::space::{PAGE, Space};

/// The unit of `st_blocks`.
const BLOCK: u64 = 512;

/// How many files that guests may have let go of are looked at when there is one more.
const LOOKS_PER_DROP: usize = 4;

/// What the host needs for a file that has no name inside, beside its blocks: about as much was measured.
const NAMELESS: u64 = 3 << 10;

/// A file and what it holds.
struct Counted {
    file: OwnedFd,
    /// What the file itself takes, where no other charge covers it.
    itself: u64,
    charge: RefCell<Charge>,
    /// The file system that it is of, and how many of its pages it has.
    space: Option<Rc<Space>>,
    n_pages: Cell<u64>,
}

impl Counted {
    /// Asks the host how much it holds.
    fn recount(&self) -> u64 {
        // The host answers for a file that is open.
        let Ok(stat) = rustix::fs::fstat(&self.file) else { return self.charge.borrow().bytes() };
        let bytes = stat.st_blocks.cast_unsigned().saturating_mul(BLOCK);
        self.charge.borrow_mut().force(bytes.saturating_add(self.itself));
        if let Some(space) = &self.space {
            let pages = bytes.div_ceil(PAGE);
            space.give_pages(self.n_pages.replace(pages));
            space.force_pages(pages);
        }
        bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(space) = &self.space {
            space.give_pages(self.n_pages.get());
        }
    }
}

/// A file that the kernel has let go of, and guests perhaps not.
struct LeftBehind {
    counted: Counted,
    map_ids: u64,
}

thread_local! {
    /// Files that guests may write to through mappings. The kernel has one thread, so these are those of the sandbox.
    static WRITABLE: RefCell<Vec<Weak<Counted>>> = const { RefCell::new(Vec::new()) };
    static LEFT_BEHIND: RefCell<VecDeque<LeftBehind>> = const { RefCell::new(VecDeque::new()) };
}

/// A memory file of the host.
pub struct HostMemory {
    counted: Option<Rc<Counted>>,
    /// Two numbers, for its mappings that can be written and for the others.
    map_ids: u64,
    /// What guests are passed. Never the kernel's own open file: a lease tells open files apart, not descriptors.
    for_writing: OnceCell<Rc<OwnedFd>>,
    for_reading: OnceCell<Rc<OwnedFd>>,
}

impl HostMemory {
    /// A memory file; `space` is that of its file system, of which it has so many pages already.
    pub fn new(file: OwnedFd, space: Option<(Rc<Space>, u64)>) -> Self {
        Self::charged(file, space, Charge::none(Kind::SharedMemory))
    }

    /// A memory file, with what it takes itself.
    fn charged(file: OwnedFd, space: Option<(Rc<Space>, u64)>, charge: Charge) -> Self {
        let (space, n_pages) = space.unzip();
        let (itself, charge) = (charge.bytes(), RefCell::new(charge));
        let n_pages = Cell::new(n_pages.unwrap_or(0));
        Self {
            counted: Some(Rc::new(Counted { file, itself, charge, space, n_pages })),
            map_ids: allocate_map_ids(),
            for_writing: OnceCell::new(),
            for_reading: OnceCell::new(),
        }
    }

    /// A memory file that has been opened a second time for reading only.
    pub fn with_reader(file: OwnedFd, reader: OwnedFd, space: Option<(Rc<Space>, u64)>) -> Self {
        let memory = Self::new(file, space);
        // It is new, so there is none yet.
        let _ = memory.for_reading.set(Rc::new(reader));
        memory
    }

    /// Memory of `length` bytes that processes share and that has no name: the kernel lets go of it at once, and it counts
    /// until guests do.
    pub fn map_nameless(length: u64, writes: bool) -> SysResult<MappedFile> {
        let charge = Charge::new(Kind::SharedMemory, NAMELESS).map_err(|_| Errno::ENOMEM)?;
        let file = rustix::fs::memfd_create("zero", MemfdFlags::CLOEXEC).map_err(errno_of)?;
        rustix::fs::ftruncate(&file, length).map_err(errno_of)?;
        Self::charged(file, None, charge).map(writes)
    }

    /// The kernel's own open file.
    pub fn host(&self) -> SysResult<&OwnedFd> {
        self.counted.as_ref().map(|counted| &counted.file).ok_or(Errno::EBADF)
    }

    /// Asks the host how many bytes it holds.
    pub fn recount(&self) -> u64 {
        self.counted.as_ref().map_or(0, |counted| counted.recount())
    }

    /// What a guest maps.
    pub fn map(&self, writes: bool) -> SysResult<MappedFile> {
        let (place, flags, id) = if writes {
            (&self.for_writing, OFlags::RDWR, self.map_ids)
        } else {
            (&self.for_reading, OFlags::RDONLY, self.map_ids + 1)
        };
        let file = match place.get() {
            Some(file) => Rc::clone(file),
            None => {
                let file = Rc::new(open_again(self.host()?, flags).map_err(errno_of)?);
                if let (true, Some(counted)) = (writes, &self.counted) {
                    WRITABLE.with_borrow_mut(|all| all.push(Rc::downgrade(counted)));
                    ledger::can_fill();
                }
                Rc::clone(place.get_or_init(|| file))
            }
        };
        Ok(MappedFile { host: file, id, is_for_once: writes })
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        let is_passed = self.for_writing.get().is_some() || self.for_reading.get().is_some();
        self.for_writing.take();
        self.for_reading.take();
        let counted = self.counted.take().and_then(Rc::into_inner);
        if let (true, Some(counted)) = (is_passed, counted) {
            leave_behind(LeftBehind { counted, map_ids: self.map_ids });
        }
    }
}

/// Keeps counting a file that guests may still have.
fn leave_behind(left: LeftBehind) {
    LEFT_BEHIND.with_borrow_mut(|all| all.push_back(left));
    look_for_unused(LOOKS_PER_DROP);
}

/// Lets go of files that nobody has any more, looking at so many, and at those longest that were looked at longest ago.
pub fn look_for_unused(n: usize) {
    LEFT_BEHIND.with_borrow_mut(|all| {
        for _ in 0..n.min(all.len()) {
            let Some(left) = all.pop_front() else { return };
            if !is_unused(&left.counted.file) {
                all.push_back(left);
            }
        }
    });
}

/// Whether nobody else has the file. A host that cannot say so now may later.
fn is_unused(file: &OwnedFd) -> bool {
    open_again(file, OFlags::RDONLY).is_ok_and(|reader| !has_other_users(reader.as_fd()))
}

/// Whether the kernel has let go of a mapped file, by the number of its mappings.
pub fn is_left_behind(map_id: u64) -> bool {
    LEFT_BEHIND.with_borrow(|all| all.iter().any(|left| left.map_ids == map_id & !1))
}

/// How many files the kernel has let go of, and guests perhaps not.
pub fn n_left_behind() -> usize {
    LEFT_BEHIND.with_borrow(VecDeque::len)
}

/// Asks the host how much all of them hold that guests can fill.
pub fn recount_all() {
    WRITABLE.with_borrow_mut(|all| {
        all.retain(|file| file.upgrade().inspect(|counted| _ = counted.recount()).is_some());
    });
    LEFT_BEHIND.with_borrow(|all| all.iter().for_each(|left| _ = left.counted.recount()));
}

/// Asks the host how much some of them hold: those that are looked at are others each time, and all of them after a while.
pub fn recount_some(n: usize) {
    WRITABLE.with_borrow_mut(|all| {
        let n = n.min(all.len());
        all.iter().take(n).filter_map(Weak::upgrade).for_each(|counted| _ = counted.recount());
        all.rotate_left(n);
    });
    LEFT_BEHIND.with_borrow_mut(|all| {
        let n = n.min(all.len());
        all.iter().take(n).for_each(|left| _ = left.counted.recount());
        all.rotate_left(n);
    });
}

/// Whether there is any file that guests can fill without a call.
pub fn can_grow() -> bool {
    WRITABLE.with_borrow(|all| !all.is_empty()) || n_left_behind() > 0
}

#[cfg(test)]
mod tests {
    use kernel_core::ledger::held_by;
    use rustix::fs::{ftruncate, memfd_create};

    use super::*;

    fn memory(size: u64) -> HostMemory {
        let file = memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, size).unwrap();
        HostMemory::new(file, None)
    }

    #[test]
    fn what_guests_write_through_a_mapping_is_counted() {
        let memory = memory(1 << 20);
        let mapped = memory.map(true).unwrap();
        assert!(can_grow());
        // As a mapping would.
        rustix::io::pwrite(&*mapped.host, &[1; 8192], 0).unwrap();
        recount_all();
        assert_eq!(held_by(Kind::SharedMemory), 8192);
    }

    #[test]
    fn a_file_is_counted_until_the_last_guest_lets_go() {
        let memory = memory(1 << 20);
        let kept_by_a_guest = memory.map(false).unwrap().host;
        let id = memory.map(true).unwrap().id;
        rustix::io::pwrite(memory.host().unwrap(), &[1; 4096], 0).unwrap();
        drop(memory);
        assert!(is_left_behind(id));
        recount_all();
        assert_eq!((n_left_behind(), held_by(Kind::SharedMemory)), (1, 4096));
        drop(kept_by_a_guest);
        look_for_unused(1);
        assert_eq!((n_left_behind(), held_by(Kind::SharedMemory)), (0, 0));
    }

    #[test]
    fn a_file_that_no_guest_was_passed_goes_at_once() {
        let memory = memory(4096);
        rustix::io::pwrite(memory.host().unwrap(), &[1; 4096], 0).unwrap();
        assert_eq!(memory.recount(), 4096);
        drop(memory);
        assert_eq!((n_left_behind(), held_by(Kind::SharedMemory)), (0, 0));
        assert!(!can_grow());
    }
}
