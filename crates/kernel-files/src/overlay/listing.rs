//! The names of a merged directory, with positions that last.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::inode::DirEntry;
use crate::metadata::FileKind;

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
    positions: HashMap<Rc<[u8]>, u64>,
    last: u64,
    /// How often a name in it has changed.
    n_changes: u64,
}

impl Listing {
    /// Adds a name, or changes what it stands for.
    pub fn add(&mut self, name: &[u8], number: u64, kind: FileKind) {
        self.remove(name);
        self.n_changes += 1;
        let name: Rc<[u8]> = Rc::from(name);
        self.last = self.last.max(FIRST_POSITION) + 1;
        self.positions.insert(Rc::clone(&name), self.last);
        self.by_position.insert(self.last, Entry { name, number, kind });
    }

    /// Takes a name out.
    pub fn remove(&mut self, name: &[u8]) {
        if let Some(position) = self.positions.remove(name) {
            self.by_position.remove(&position);
            self.n_changes += 1;
        }
    }

    /// Whether the name is known.
    pub fn has(&self, name: &[u8]) -> bool {
        self.positions.contains_key(name)
    }

    /// How often a name in it has changed, since it was made.
    pub fn n_changes(&self) -> u64 {
        self.n_changes
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
