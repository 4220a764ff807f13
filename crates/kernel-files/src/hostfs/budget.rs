//! How much a host folder that takes a guest's writes may hold.
//!
//! What counts is what the files take on the host, holes apart, and a little for every file and
//! every further name. What the guest writes through a mapping nobody sees: so a file that was
//! mapped to be written counts with its whole size, and one that was mapped at all is never given
//! back, because the mapping may outlive its last name.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::os::fd::AsFd;
use std::path::Path;
use std::rc::Rc;

use host_sys::rustix;
use linux_abi::{Errno, SysResult};

use super::beneath;
use super::shared::HostId;
use crate::metadata::FileKind;

/// The unit in which file systems commonly give space, and what a file takes beside its bytes.
const BLOCK: u64 = 4096;
/// The unit of `st_blocks`.
const SECTOR: u64 = 512;
/// What a further name of a file takes.
const NAME: u64 = 512;

/// How a file was mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mapped {
    /// Its bytes cannot change through the mapping.
    ToRead,
    /// They can.
    ToWrite,
}

/// What the files of one folder may take, and take.
pub struct DiskBudget {
    max_bytes: u64,
    n_bytes: Cell<u64>,
    mapped: RefCell<HashMap<HostId, Mapped>>,
    has_refused: Cell<bool>,
}

impl DiskBudget {
    /// A budget for folders that have nothing in them yet.
    pub fn new(max_bytes: u64) -> Rc<Self> {
        Rc::new(Self {
            max_bytes,
            n_bytes: Cell::new(0),
            mapped: RefCell::default(),
            has_refused: Cell::new(false),
        })
    }

    /// Counts what is in a folder already.
    pub fn count(&self, folder: &impl AsFd) {
        self.recount(0, taken_in(&beneath::itself(folder)));
    }

    /// All bytes and the free ones.
    pub fn bytes(&self) -> (u64, u64) {
        (self.max_bytes, self.room())
    }

    /// Whether a guest wanted more than there is.
    pub fn has_refused(&self) -> bool {
        self.has_refused.get()
    }

    pub(super) fn room(&self) -> u64 {
        self.max_bytes.saturating_sub(self.n_bytes.get())
    }

    /// `errno`, for something that there is no room for.
    pub(super) fn refuse(&self, errno: Errno) -> Errno {
        self.has_refused.set(true);
        errno
    }

    /// Fails if there is no room for `n` bytes.
    pub(super) fn require(&self, n: u64) -> SysResult<()> {
        if n > self.room() { Err(self.refuse(Errno::ENOSPC)) } else { Ok(()) }
    }

    /// What took `before` bytes now takes `now`.
    pub(super) fn recount(&self, before: u64, now: u64) {
        self.n_bytes.set(self.n_bytes.get().saturating_sub(before).saturating_add(now));
    }

    /// Fails if there is no room for one more file.
    pub(super) fn require_file(&self) -> SysResult<()> {
        self.require(2 * BLOCK)
    }

    /// Another name for a file.
    pub(super) fn take_name(&self) -> SysResult<()> {
        self.require(NAME)?;
        self.recount(0, NAME);
        Ok(())
    }

    /// A name of a file that has others.
    pub(super) fn give_name(&self) {
        self.recount(NAME, 0);
    }

    /// What a file takes.
    pub(super) fn cost(&self, id: HostId, stat: &rustix::fs::Statx) -> u64 {
        if FileKind::of_mode(u32::from(stat.stx_mode)) != FileKind::Regular {
            return 2 * BLOCK;
        }
        let held = stat.stx_blocks.saturating_mul(SECTOR);
        let is_written_unseen = self.mapped.borrow().get(&id) == Some(&Mapped::ToWrite);
        let size = if is_written_unseen { whole_blocks(stat.stx_size) } else { 0 };
        BLOCK.saturating_add(held.max(size))
    }

    /// A file is about to be mapped.
    pub(super) fn note_mapped(&self, id: HostId, how: Mapped) {
        let mut mapped = self.mapped.borrow_mut();
        let known = mapped.entry(id).or_insert(how);
        *known = (*known).max(how);
    }

    /// How a file was ever mapped.
    pub(super) fn mapped(&self, id: HostId) -> Option<Mapped> {
        self.mapped.borrow().get(&id).copied()
    }

    /// How many of `wanted` bytes may be written at `start` of a file.
    pub(super) fn writable(
        &self,
        start: u64,
        wanted: u64,
        stat: impl FnOnce() -> SysResult<rustix::fs::Statx>,
    ) -> SysResult<u64> {
        let room = self.room();
        if wanted.saturating_add(2 * BLOCK) <= room {
            return Ok(wanted);
        }
        // What replaces bytes that are there takes nothing, if the file has no holes.
        let stat = stat()?;
        let is_whole = stat.stx_blocks.saturating_mul(SECTOR) >= whole_blocks(stat.stx_size);
        let replaced = if is_whole { stat.stx_size.saturating_sub(start) } else { 0 };
        let n = replaced.saturating_add(room / BLOCK * BLOCK).min(wanted);
        if n < wanted {
            self.has_refused.set(true);
        }
        if n == 0 && wanted > 0 { Err(Errno::ENOSPC) } else { Ok(n) }
    }
}

fn whole_blocks(size: u64) -> u64 {
    size.div_ceil(BLOCK).saturating_mul(BLOCK)
}

/// What is in a folder before a guest runs, links not followed.
fn taken_in(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let mut n_bytes: u64 = 0;
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        // What cannot be read cannot be written by the guest either.
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            let taken = match metadata.is_file() {
                true => BLOCK.saturating_add(metadata.blocks().saturating_mul(SECTOR)),
                false => 2 * BLOCK,
            };
            n_bytes = n_bytes.saturating_add(taken);
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    n_bytes
}
