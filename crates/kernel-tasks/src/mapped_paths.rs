//! By which paths guests know the host files that they have mapped.
//!
//! The host shows its own paths in the `maps` of a process. `/proc/<pid>/maps` of the guest shows
//! the guest's, found here by the number of the host file.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::{Rc, Weak};

use host_sys::rustix::fs::{fstat, major, minor};
use kernel_files::dentry::Dentry;
use kernel_files::metadata::DeviceNumber;
use kernel_files::mount::Mount;
use kernel_files::{Location, MappedFile, OpenFile};

use crate::Thread;

/// How many paths are remembered. Beyond that all are forgotten, and learnt again by later maps.
const MAX_PATHS: usize = 16_384;

/// A host file: major and minor device number and inode.
pub type HostFileNumber = (u32, u32, u64);

/// A mapped file, as guests know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFile {
    /// Its path, with ` (deleted)` if the name is gone.
    pub path: Vec<u8>,
    /// The device number and the inode that `stat` shows.
    pub number: (DeviceNumber, u64),
}

/// What is remembered of a mapped file.
struct Noted {
    /// As it was when the file was mapped.
    file: GuestFile,
    /// Where it is. Nothing is kept alive only to be shown.
    place: Option<(Weak<Mount>, Weak<Dentry>)>,
}

impl Noted {
    fn of(file: &OpenFile, root: &Location) -> Option<Self> {
        let number = match file.inode() {
            Some(inode) => (inode.device().ok()?, inode.number().ok()?),
            None => file.metadata().ok().map(|metadata| (metadata.device, metadata.inode))?,
        };
        let path = match file.location() {
            Some(location) => location.display_path(root),
            None => file.ops().describe().into_bytes(),
        };
        let place = file.location();
        Some(Self {
            file: GuestFile { path, number },
            place: place.map(|at| (Rc::downgrade(&at.mount), Rc::downgrade(&at.dentry))),
        })
    }

    /// The file as it is now, if its place is still remembered.
    fn shown(&self, root: &Location) -> GuestFile {
        let mut file = self.file.clone();
        if let Some((mount, dentry)) = &self.place
            && let (Some(mount), Some(dentry)) = (mount.upgrade(), dentry.upgrade())
        {
            file.path = Location { mount, dentry }.display_path(root);
        }
        file
    }
}

#[derive(Default)]
struct Known {
    ids: HashSet<u64>,
    files: HashMap<HostFileNumber, Noted>,
}

/// The paths of mapped files.
#[derive(Default)]
pub struct MappedPaths {
    known: RefCell<Known>,
}

impl MappedPaths {
    /// A guest whose root is `root` maps `file`.
    fn note(&self, file: &OpenFile, mapped: &MappedFile, root: &Location) {
        let mut known = self.known.borrow_mut();
        if !known.ids.insert(mapped.id) {
            return;
        }
        // A host that cannot say which file this is costs a path in `maps`, no more.
        let (Ok(stat), Some(noted)) = (fstat(&*mapped.host), Noted::of(file, root)) else { return };
        if known.files.len() >= MAX_PATHS {
            known.files.clear();
            known.ids.clear();
            known.ids.insert(mapped.id);
        }
        known.files.insert((major(stat.st_dev), minor(stat.st_dev), stat.st_ino), noted);
    }

    /// How a guest whose root is `root` knows a host file.
    pub fn find(&self, file: HostFileNumber, root: &Location) -> Option<GuestFile> {
        Some(self.known.borrow().files.get(&file)?.shown(root))
    }
}

impl Thread {
    /// Maps `file`: remembers what `/proc/<pid>/maps` shows for it.
    pub fn note_mapping(&self, file: &OpenFile, mapped: &MappedFile) {
        self.kernel().mapped_paths.note(file, mapped, &self.fs().root());
    }
}
