//! Places for files that have none, so that `/proc/self/fd/N` of a pipe leads somewhere.

use std::any::Any;
use std::rc::Rc;

use linux_abi::files::MountFlags;
use linux_abi::{Errno, SysResult};

use crate::attachments::Attachments;
use crate::dentry::Dentry;
use crate::inode::{Inode, OpenRequest};
use crate::metadata::{AttributeChange, FileKind, Metadata};
use crate::mount::{Location, Mount};
use crate::open_file::{FileOps, OpenFile};
use crate::tmpfs::{Limits, Tmpfs};

/// The inode of an open file that was found at no place.
struct AnonymousInode {
    file: Rc<OpenFile>,
    attachments: Attachments,
}

impl Inode for AnonymousInode {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn kind(&self) -> FileKind {
        match self.file.ops().metadata().kind() {
            // Not by way of the FIFO's own opening: `reopen` knows the pipe.
            FileKind::Fifo => FileKind::Anonymous,
            kind => kind,
        }
    }

    fn metadata(&self) -> SysResult<Metadata> {
        Ok(self.file.ops().metadata())
    }

    fn set_attributes(&self, _change: &AttributeChange) -> SysResult<()> {
        Err(Errno::EPERM)
    }

    fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    fn open(&self, request: &OpenRequest<'_>) -> Option<SysResult<Rc<dyn FileOps>>> {
        Some(self.file.ops().reopen(request.flags))
    }
}

/// Where an open file is: where it was found, or a place of its own that no path leads to.
pub fn location_of(file: &Rc<OpenFile>) -> Location {
    thread_local! {
        static NOWHERE: Rc<Mount> = {
            Mount::of(Tmpfs::new(Limits::default(), 0o500, 0, 0), b"none", MountFlags::empty())
        };
    }
    if let Some(location) = file.location() {
        return location.clone();
    }
    let name = file.ops().describe();
    let inode: Rc<dyn Inode> = match file.ops().inode() {
        Some(inode) => Rc::clone(inode),
        None => {
            Rc::new(AnonymousInode { file: Rc::clone(file), attachments: Attachments::default() })
        }
    };
    let dentry = Dentry::detached(name.as_bytes(), inode);
    Location { mount: NOWHERE.with(Rc::clone), dentry }
}
