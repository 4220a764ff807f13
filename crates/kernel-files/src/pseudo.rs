//! Building blocks for file systems whose files are made up by the kernel: `proc`, `sys`,
//! `devpts`.
//!
//! A [`PseudoFs`] has a tree of [`PseudoInode`]s. What a node shows comes from a [`TextFile`], a
//! [`Names`] or a [`Link`]; most nodes are closures and [`Listing`]s.

mod file;
mod inode;
mod listing;

use std::any::Any;
use std::cell::OnceCell;
use std::rc::Rc;

use linux_abi::{Errno, SysResult};

use crate::device_numbers::allocate_device;
use crate::inode::{FileSystem, Inode};
use crate::metadata::{DeviceNumber, FileSystemUsage};

pub use file::TextFile;
pub use inode::{Link, Names, Owner, PseudoInode};
pub use listing::Listing;

/// What tells one type of pseudo file system from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PseudoType {
    /// The name, as `/proc/filesystems` shows it.
    pub name: &'static str,
    /// What `statfs` calls it.
    pub magic: u64,
    /// An absent name is an error even to somebody who would make it.
    pub knows_all_names: bool,
    /// What `stat` says of the length of files.
    pub file_size: u64,
}

/// A file system that the kernel makes up.
pub struct PseudoFs {
    kind: PseudoType,
    device: DeviceNumber,
    options: String,
    root: OnceCell<Rc<PseudoInode>>,
}

impl PseudoFs {
    /// A file system whose root `make_root` makes.
    pub fn new(
        kind: PseudoType,
        options: &str,
        make_root: impl FnOnce(&Rc<Self>) -> Rc<PseudoInode>,
    ) -> Rc<Self> {
        let fs = Rc::new(Self {
            kind,
            device: allocate_device(),
            options: options.to_owned(),
            root: OnceCell::new(),
        });
        let root = make_root(&fs);
        // Set only here.
        let _ = fs.root.set(root);
        fs
    }
}

impl FileSystem for PseudoFs {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn type_name(&self) -> &'static str {
        self.kind.name
    }

    fn device(&self) -> DeviceNumber {
        self.device
    }

    #[expect(clippy::expect_used, reason = "`new` sets the root before anybody has the result")]
    fn root(&self) -> Rc<dyn Inode> {
        Rc::clone(self.root.get().expect("a pseudo file system has a root")) as Rc<dyn Inode>
    }

    fn usage(&self) -> SysResult<FileSystemUsage> {
        Ok(FileSystemUsage { magic: self.kind.magic, block_size: 4096, ..Default::default() })
    }

    fn options(&self) -> String {
        self.options.clone()
    }
}

/// What a node that cannot be written says.
const NOT_WRITABLE: Errno = Errno::EIO;
