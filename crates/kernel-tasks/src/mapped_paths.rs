//! By which paths guests know the host files that they have mapped.
//!
//! The host shows its own paths in the `maps` of a process. `/proc/<pid>/maps` of the guest shows
//! the guest's, found here by the number of the host file.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use host_sys::rustix::fs::{fstat, major, minor};
use kernel_files::{MappedFile, OpenFile};

use crate::Thread;

/// How many paths are remembered. Beyond that all are forgotten, and learnt again by later maps.
const MAX_PATHS: usize = 16_384;

/// A host file: major and minor device number and inode.
pub type HostFileNumber = (u32, u32, u64);

#[derive(Default)]
struct Known {
    files: HashSet<u64>,
    paths: HashMap<HostFileNumber, Vec<u8>>,
}

/// The paths of mapped files.
#[derive(Default)]
pub struct MappedPaths {
    known: RefCell<Known>,
}

impl MappedPaths {
    /// A guest maps `file`, which it knows by the path that `path` makes.
    pub fn note(&self, file: &MappedFile, path: impl FnOnce() -> Vec<u8>) {
        let mut known = self.known.borrow_mut();
        if !known.files.insert(file.id) {
            return;
        }
        // A host that cannot say which file this is costs a path in `maps`, no more.
        let Ok(stat) = fstat(&*file.host) else { return };
        if known.paths.len() >= MAX_PATHS {
            known.paths.clear();
            known.files.clear();
            known.files.insert(file.id);
        }
        known.paths.insert((major(stat.st_dev), minor(stat.st_dev), stat.st_ino), path());
    }

    /// The path by which guests know a host file.
    pub fn find(&self, file: HostFileNumber) -> Option<Vec<u8>> {
        self.known.borrow().paths.get(&file).cloned()
    }
}

impl Thread {
    /// Maps `file`: remembers the path that `/proc/<pid>/maps` shows for it.
    pub fn note_mapping(&self, file: &OpenFile, mapped: &MappedFile) {
        self.kernel().mapped_paths.note(mapped, || match file.location() {
            Some(location) => location.display_path(&self.fs().root()),
            None => file.ops().describe().into_bytes(),
        });
    }
}
