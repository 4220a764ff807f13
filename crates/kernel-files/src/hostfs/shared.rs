//! What all files of one host folder share.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::{Rc, Weak};

use super::HostOptions;
use super::budget::DiskBudget;
use super::inode::HostInode;
use super::recent_files;
use crate::device_numbers::allocate_device;
use crate::late_closes;
use crate::metadata::DeviceNumber;
use crate::tmpfs::spare_memfds;

/// How many handles of directories stay open.
const MAX_DIRECTORY_HANDLES: usize = 512;

thread_local! {
    /// All folders. The kernel has one thread, so these are those of the sandbox.
    static FOLDERS: RefCell<Vec<Weak<Shared>>> = const { RefCell::new(Vec::new()) };
}

/// Closes what is open only because it may be needed again, in all folders, and what is made ahead.
pub(super) fn close_unused() {
    recent_files::close_all();
    spare_memfds::close_all();
    let folders: Vec<_> = FOLDERS.with_borrow_mut(|folders| {
        folders.retain(|folder| folder.strong_count() > 0);
        folders.iter().filter_map(Weak::upgrade).collect()
    });
    for folder in folders {
        for directory in folder.open_directories.take().iter().filter_map(Weak::upgrade) {
            directory.close_handle();
        }
    }
    late_closes::close_all();
}

/// The number of a host file: device and inode.
pub type HostId = (u64, u64);

/// What all files of one host folder share.
pub struct Shared {
    pub options: HostOptions,
    pub device: DeviceNumber,
    /// How much the files may take, if there is a limit.
    pub budget: Option<Rc<DiskBudget>>,
    /// Files that somebody holds, so that two names of a file lead to one inode.
    inodes: RefCell<HashMap<HostId, Weak<HostInode>, foldhash::fast::RandomState>>,
    /// Device numbers for host devices that are mounted beneath the folder.
    devices: RefCell<Vec<(u64, DeviceNumber)>>,
    /// Whether the file systems of these host devices note every change of a name.
    notes_changes: RefCell<Vec<(u64, bool)>>,
    /// Directories with an open handle, oldest first.
    open_directories: RefCell<VecDeque<Weak<HostInode>>>,
    /// Names that are masked, by the directory that they are in.
    pub masked: RefCell<HashMap<HostId, Vec<Box<[u8]>>>>,
}

impl Shared {
    pub fn new(options: HostOptions, budget: Option<Rc<DiskBudget>>) -> Rc<Self> {
        let folder = Rc::new(Self {
            options,
            budget,
            device: allocate_device(),
            inodes: RefCell::default(),
            devices: RefCell::default(),
            notes_changes: RefCell::default(),
            open_directories: RefCell::default(),
            masked: RefCell::default(),
        });
        recent_files::prepare();
        FOLDERS.with_borrow_mut(|folders| folders.push(Rc::downgrade(&folder)));
        folder
    }

    pub fn is_immutable(&self) -> bool {
        self.options.immutable && self.options.read_only
    }

    /// The device number to show for a host device. The first one met is that of the folder.
    pub fn device_of(&self, host_device: u64) -> DeviceNumber {
        let mut devices = self.devices.borrow_mut();
        if let Some((_, device)) = devices.iter().find(|(known, _)| *known == host_device) {
            return *device;
        }
        let device = if devices.is_empty() { self.device } else { allocate_device() };
        devices.push((host_device, device));
        device
    }

    /// Whether the file system of this host device notes every change of a name. `ask` is asked
    /// once.
    pub fn notes_changes(&self, host_device: u64, ask: impl FnOnce() -> bool) -> bool {
        let mut known = self.notes_changes.borrow_mut();
        if let Some((_, notes_changes)) = known.iter().find(|(device, _)| *device == host_device) {
            return *notes_changes;
        }
        let notes_changes = ask();
        known.push((host_device, notes_changes));
        notes_changes
    }

    pub fn find(&self, id: HostId) -> Option<Rc<HostInode>> {
        self.inodes.borrow().get(&id)?.upgrade()
    }

    pub fn remember(&self, id: HostId, inode: &Rc<HostInode>) {
        self.inodes.borrow_mut().insert(id, Rc::downgrade(inode));
    }

    /// An inode is gone. Another one may have taken its number already.
    pub fn forget(&self, id: HostId) {
        let mut inodes = self.inodes.borrow_mut();
        if inodes.get(&id).is_some_and(|inode| inode.strong_count() == 0) {
            inodes.remove(&id);
        }
    }

    /// A directory has opened a handle: the one that did so longest ago closes its own.
    pub fn opened_directory(&self, inode: &Weak<HostInode>) {
        let mut open = self.open_directories.borrow_mut();
        open.push_back(inode.clone());
        if open.len() > MAX_DIRECTORY_HANDLES
            && let Some(oldest) = open.pop_front()
            && let Some(oldest) = oldest.upgrade()
        {
            oldest.close_handle();
        }
    }
}
