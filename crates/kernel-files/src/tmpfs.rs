//! A file system in memory, with limits.
//!
//! [`Tmpfs`] is the file system, [`inode::MemoryInode`] its files, [`data::Data`] their bytes and
//! [`space::Space`] what they may take.

pub mod data;
mod directory;
pub mod inode;
mod memfile;
pub mod space;
pub mod spare_memfds;
mod sparse;

#[cfg(test)]
mod tests;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use linux_abi::SysResult;

use crate::inode::{FileSystem, Inode, NewInode, NewKind};
use crate::metadata::{DeviceNumber, FileSystemUsage};
use inode::MemoryInode;
use space::{PAGE, Space};

pub use space::Limits;

/// A file system in memory.
pub struct Tmpfs {
    space: Rc<Space>,
    root: Rc<MemoryInode>,
    /// What was said of it, beside its size.
    options: RefCell<String>,
    is_read_only: Cell<bool>,
}

const TMPFS_MAGIC: u64 = 0x0102_1994;

impl Tmpfs {
    /// An empty file system whose root has these permissions and this owner.
    pub fn new(limits: Limits, mode: u32, uid: u32, gid: u32) -> Rc<Self> {
        let space = Space::new(limits);
        let new = NewInode { kind: NewKind::Directory, mode, uid, gid };
        let root = MemoryInode::root(&space, &new);
        Rc::new(Self { space, root, options: RefCell::default(), is_read_only: Cell::default() })
    }

    /// Shows one more option in `/proc/mounts`.
    pub fn add_option(&self, option: &str) {
        let mut options = self.options.borrow_mut();
        options.push(',');
        options.push_str(option);
    }

    /// Changes the limits that are given; `EINVAL` if it holds more already.
    pub fn change_limits(&self, limits: Limits) -> SysResult<()> {
        self.space.change_limits(limits)
    }

    /// How much it may hold and holds.
    pub fn space(&self) -> &Rc<Space> {
        &self.space
    }
}

impl FileSystem for Tmpfs {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn type_name(&self) -> &'static str {
        "tmpfs"
    }

    fn device(&self) -> DeviceNumber {
        self.space.device()
    }

    fn root(&self) -> Rc<dyn Inode> {
        Rc::clone(&self.root) as Rc<dyn Inode>
    }

    fn usage(&self) -> SysResult<FileSystemUsage> {
        let (n_blocks, n_free) = self.space.blocks();
        let (n_files, n_free_files) = self.space.inodes();
        Ok(FileSystemUsage {
            magic: TMPFS_MAGIC,
            block_size: PAGE,
            n_blocks,
            n_free,
            n_available: n_free,
            n_files,
            n_free_files,
        })
    }

    fn read_only_switch(&self) -> Option<&Cell<bool>> {
        Some(&self.is_read_only)
    }

    fn options(&self) -> String {
        let size = match self.space.blocks() {
            (0, _) => String::new(),
            (pages, _) => format!("size={}k", (pages * PAGE) >> 10),
        };
        let options = self.options.borrow();
        if size.is_empty() {
            return options.trim_start_matches(',').to_owned();
        }
        format!("{size}{options}")
    }

    fn has_refused_space(&self) -> bool {
        self.space.has_refused()
    }
}
