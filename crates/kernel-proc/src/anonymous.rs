//! Where `/proc/<pid>/fd` leads for files without a name: pipes, sockets, event descriptors.

use std::any::Any;
use std::rc::Rc;

use kernel_files::attachments::Attachments;
use kernel_files::dentry::Dentry;
use kernel_files::inode::{Inode, OpenRequest};
use kernel_files::metadata::{AttributeChange, FileKind, Metadata};
use kernel_files::pseudo::{Listing, PseudoFs, PseudoInode, PseudoType};
use kernel_files::{FileOps, Location, Mount, OpenFile};
use linux_abi::SysResult;
use linux_abi::files::MountFlags;

const ANON: PseudoType =
    PseudoType { name: "anon_inodefs", magic: 0x0904_1934, knows_all_names: false, file_size: 0 };

/// A mount that is at no place, for places of files that are at none.
pub(crate) fn new_mount() -> Rc<Mount> {
    let fs = PseudoFs::new(ANON, "", |fs| PseudoInode::root(fs, Listing::new()));
    Mount::of(fs, b"none", MountFlags::empty())
}

/// The place of an open file, also if it has none.
pub(crate) fn location_of(file: &Rc<OpenFile>, mount: &Rc<Mount>) -> Location {
    if let Some(location) = file.location() {
        return location.clone();
    }
    let inode: Rc<dyn Inode> = match file.inode() {
        Some(inode) => Rc::clone(inode),
        None => Rc::new(Nameless { file: Rc::clone(file), attachments: Attachments::default() }),
    };
    let dentry = Dentry::detached(file.ops().describe().as_bytes(), inode);
    Location { mount: Rc::clone(mount), dentry }
}

/// The inode of an open file that has none.
struct Nameless {
    file: Rc<OpenFile>,
    attachments: Attachments,
}

impl Inode for Nameless {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn kind(&self) -> FileKind {
        // What `stat` says is in the metadata. This says that only the file itself can open it.
        FileKind::Anonymous
    }

    fn metadata(&self) -> SysResult<Metadata> {
        self.file.metadata()
    }

    fn set_attributes(&self, change: &AttributeChange) -> SysResult<()> {
        self.file.ops().set_attributes(change)
    }

    fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    fn open(&self, request: &OpenRequest<'_>) -> Option<SysResult<Rc<dyn FileOps>>> {
        Some(self.file.ops().reopen(request.flags))
    }
}
