//! The names of a merged directory, with positions that last.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::inode::DirEntry;
use crate::metadata::FileKind;
use crate::name_map::NameMap;

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
