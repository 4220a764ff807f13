//! A directory of a file system, as a file system of its own.

use std::any::Any;
use std::rc::Rc;

use linux_abi::SysResult;

use crate::inode::{FileSystem, Inode};
use crate::metadata::{DeviceNumber, FileSystemUsage};

/// What is beneath one directory, as the upper layer of an overlay is.
pub struct Subtree {
    /// The file system that the directory is in.
    pub file_system: Rc<dyn FileSystem>,
    /// The directory.
    pub root: Rc<dyn Inode>,
}

impl FileSystem for Subtree {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn type_name(&self) -> &'static str {
        self.file_system.type_name()
    }

    fn device(&self) -> DeviceNumber {
        self.file_system.device()
    }

    fn root(&self) -> Rc<dyn Inode> {
        Rc::clone(&self.root)
    }

    fn usage(&self) -> SysResult<FileSystemUsage> {
        self.file_system.usage()
    }

    fn is_read_only(&self) -> bool {
        self.file_system.is_read_only()
    }

    fn sync(&self) -> SysResult<()> {
        self.file_system.sync()
    }
}
