//! A file system with an empty root and nothing else.

use std::any::Any;
use std::rc::Rc;

use kernel_files::FsContext;
use kernel_files::attachments::Attachments;
use kernel_files::inode::{FileSystem, Inode};
use kernel_files::metadata::{AttributeChange, DeviceNumber, FileKind, FileSystemUsage, Metadata};
use kernel_files::mount::{Mount, MountNamespace};
use kernel_files::special::SpecialFiles;
use linux_abi::files::MountFlags;
use linux_abi::{Errno, SysResult};

struct NoFiles;

impl FileSystem for NoFiles {
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn type_name(&self) -> &'static str {
        "none"
    }
    fn device(&self) -> DeviceNumber {
        DeviceNumber::new(0, 1)
    }
    fn root(&self) -> Rc<dyn Inode> {
        Rc::new(EmptyRoot(Attachments::default()))
    }
    fn usage(&self) -> SysResult<FileSystemUsage> {
        Err(Errno::ENOSYS)
    }
}

struct EmptyRoot(Attachments);

impl Inode for EmptyRoot {
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn file_system(&self) -> Rc<dyn FileSystem> {
        Rc::new(NoFiles)
    }
    fn kind(&self) -> FileKind {
        FileKind::Directory
    }
    fn metadata(&self) -> SysResult<Metadata> {
        Ok(Metadata::anonymous(FileKind::Directory, 1))
    }
    fn set_attributes(&self, _change: &AttributeChange) -> SysResult<()> {
        Err(Errno::EROFS)
    }
    fn attachments(&self) -> &Attachments {
        &self.0
    }
}

/// A place in a tree in which nothing is.
pub(super) fn context() -> Rc<FsContext> {
    let mount = Mount::of(Rc::new(NoFiles), b"none", MountFlags::empty());
    let root = mount.top();
    FsContext::new(MountNamespace::new(mount), root, SpecialFiles::new())
}
