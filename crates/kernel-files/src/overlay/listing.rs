//! The names of a merged directory, with positions that last.

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use linux_abi::{Errno, SysResult};

use super::inode::OverlayInode;
use super::{marks, work};
use crate::inode::{DirEntry, Inode};
use crate::metadata::FileKind;
use crate::name_map::NameMap;
use crate::static_directory::StaticDirectory;

const FIRST_POSITION: u64 = 3;
/// How many entries are looked at to find a regular file.
const MAX_SKIPPED: usize = 8;

struct Entry {
    name: Rc<[u8]>,
    number: u64,
    kind: FileKind,
}

/// The names of a merged directory. Made when it is first listed, and kept current after that.
#[derive(Default)]
pub struct Listing {
    by_position: BTreeMap<u64, Entry>,
    positions: NameMap<u64>,
    last: u64,
}

impl Listing {
    /// Adds a name, or changes what it stands for.
    pub fn add(&mut self, name: &[u8], number: u64, kind: FileKind) {
        let name: Rc<[u8]> = Rc::from(name);
        self.last = self.last.max(FIRST_POSITION) + 1;
        if let Some(before) = self.positions.insert(Rc::clone(&name), self.last) {
            self.by_position.remove(&before);
        }
        self.by_position.insert(self.last, Entry { name, number, kind });
    }

    /// Takes a name out.
    pub fn remove(&mut self, name: &[u8]) {
        if let Some(position) = self.positions.remove(name) {
            self.by_position.remove(&position);
        }
    }

    /// Whether the name is known.
    pub fn has(&self, name: &[u8]) -> bool {
        self.positions.contains_key(name)
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// The first regular file after this name, if it comes soon.
    pub fn file_after(&self, name: &[u8]) -> Option<Rc<[u8]>> {
        let from = *self.positions.get(name)?;
        let mut next = self.by_position.range(from + 1..).map(|(_, entry)| entry).take(MAX_SKIPPED);
        Some(Rc::clone(&next.find(|entry| entry.kind == FileKind::Regular)?.name))
    }

    /// Shows the entries after position `from`.
    pub fn visit(&self, from: u64, visit: &mut dyn FnMut(&DirEntry<'_>) -> bool) {
        for (&next, entry) in self.by_position.range(from + 1..) {
            let Entry { name, number, kind } = entry;
            if !visit(&DirEntry { name, inode: *number, kind: *kind, next }) {
                return;
            }
        }
    }
}

impl OverlayInode {
    /// Runs `run` on the names of a merged directory, which are found out if they are not known.
    pub(super) fn with_listing<T>(&self, run: impl FnOnce(&mut Listing) -> T) -> SysResult<T> {
        let mut listing = self.listing.borrow_mut();
        if listing.is_none() {
            *listing = Some(self.make_listing()?);
        }
        Ok(run(listing.get_or_insert_default()))
    }

    fn make_listing(&self) -> SysResult<Listing> {
        let mut listing = Listing::default();
        let mut hidden: HashSet<Vec<u8>> = HashSet::new();
        let upper = self.upper.borrow().clone();
        for layer in upper.iter().chain(&self.lowers) {
            let directory = layer.directory().ok_or(Errno::ENOTDIR)?;
            let device = layer.metadata()?.device;
            // The names of such a directory are files of other file systems.
            let is_mixed = layer.as_any().is::<StaticDirectory>();
            let is_upper = upper.as_ref().is_some_and(|upper| Rc::ptr_eq(upper, layer));
            let mut to_look_at: Vec<(Vec<u8>, u64, FileKind)> = Vec::new();
            directory.list(0, &mut |entry| {
                let &DirEntry { name, inode, kind, .. } = entry;
                let is_work = name == work::NAME && self.is_top();
                if is_work || listing.has(name) || hidden.contains(name) {
                    return true;
                }
                if is_mixed || is_upper || kind == FileKind::CharacterDevice {
                    to_look_at.push((name.to_vec(), inode, kind));
                } else {
                    listing.add(name, self.shared.number(device, inode), kind);
                }
                true
            })?;
            for (name, inode, kind) in to_look_at {
                let mut number = self.shared.number(device, inode);
                if is_mixed {
                    let real = directory.lookup(&name)?.metadata()?;
                    number = self.shared.number(real.device, real.inode);
                } else {
                    let Ok(real) = directory.lookup(&name) else { continue };
                    if marks::is_whiteout(&*real) {
                        hidden.insert(name);
                        continue;
                    }
                    number = marks::origin(&*real).unwrap_or(number);
                }
                listing.add(&name, number, kind);
            }
        }
        Ok(listing)
    }

    /// A name now stands for this file; keeps a listing that was made current.
    pub(super) fn listed(&self, name: &[u8], inode: &OverlayInode) {
        if let Some(listing) = &mut *self.listing.borrow_mut() {
            listing.add(name, inode.number, inode.kind());
        }
    }

    /// A name is gone; keeps a listing that was made current.
    pub(super) fn unlisted(&self, name: &[u8]) {
        if let Some(listing) = &mut *self.listing.borrow_mut() {
            listing.remove(name);
        }
    }
}
