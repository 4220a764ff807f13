//! Directories whose names never change.

use std::cell::OnceCell;
use std::rc::Rc;

use linux_abi::{Errno, SysResult};

use super::inode::{Names, PseudoInode};
use crate::inode::{Caching, DirEntry};

/// Makes the node of one name in a directory.
type Make = Box<dyn Fn(&PseudoInode, &[u8]) -> Rc<PseudoInode>>;

struct Entry {
    name: Vec<u8>,
    make: Make,
    node: OnceCell<Rc<PseudoInode>>,
}

/// A fixed list of names. Each node is made when it is first looked up, and stays.
#[derive(Default)]
pub struct Listing {
    entries: Vec<Entry>,
}

/// The position of the first entry: after `.` and `..`.
const FIRST: u64 = 2;

impl Listing {
    /// An empty directory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a name; `make` makes its node, in the directory it is given.
    #[must_use]
    pub fn with(
        mut self,
        name: &str,
        make: impl Fn(&PseudoInode, &[u8]) -> Rc<PseudoInode> + 'static,
    ) -> Self {
        let name = name.as_bytes().to_vec();
        self.entries.push(Entry { name, make: Box::new(make), node: OnceCell::new() });
        self
    }

    /// Adds a file that anybody can read.
    #[must_use]
    pub fn file(self, name: &str, text: impl Fn() -> SysResult<Vec<u8>> + Clone + 'static) -> Self {
        self.with(name, move |parent, name| parent.file_in(name, 0o444, text.clone()))
    }

    /// Adds a file that always says the same.
    #[must_use]
    pub fn constant(self, name: &str, text: &'static str) -> Self {
        self.file(name, move || Ok(text.as_bytes().to_vec()))
    }

    /// Adds a symbolic link.
    #[must_use]
    pub fn link(self, name: &str, target: &'static str) -> Self {
        self.with(name, move |parent, name| {
            parent.link_in(name, move || Ok(target.as_bytes().to_vec()))
        })
    }

    /// Adds a directory; `list` makes its list of names.
    #[must_use]
    pub fn directory(self, name: &str, list: impl Fn() -> Listing + 'static) -> Self {
        self.with(name, move |parent, name| parent.directory_in(name, 0o555, list()))
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl Names for Listing {
    fn lookup(&self, parent: &PseudoInode, name: &[u8]) -> SysResult<Rc<PseudoInode>> {
        let entry = self.entries.iter().find(|entry| entry.name == name).ok_or(Errno::ENOENT)?;
        Ok(Rc::clone(entry.node.get_or_init(|| (entry.make)(parent, name))))
    }

    fn list(
        &self,
        parent: &PseudoInode,
        from: u64,
        visit: &mut dyn FnMut(&DirEntry<'_>) -> bool,
    ) -> SysResult<()> {
        let skip = usize::try_from(from.saturating_sub(FIRST)).unwrap_or(usize::MAX);
        for (entry, next) in self.entries.iter().zip(FIRST + 1..).skip(skip) {
            let node = self.lookup(parent, &entry.name)?;
            let shown =
                DirEntry { name: &entry.name, inode: node.number(), kind: node.file_kind(), next };
            if !visit(&shown) {
                break;
            }
        }
        Ok(())
    }

    fn caching(&self) -> Caching {
        Caching::Stable
    }
}
