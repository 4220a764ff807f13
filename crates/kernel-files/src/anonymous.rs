//! Places for files that have none, so that `/proc/self/fd/N` of a pipe leads somewhere.

use std::any::Any;
use std::rc::Rc;

use linux_abi::SysResult;
use linux_abi::files::MountFlags;

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

/// The mount that no path leads to.
fn nowhere() -> Rc<Mount> {
    thread_local! {
        static NOWHERE: Rc<Mount> =
            Mount::of(Tmpfs::new(Limits::default(), 0o500, 0, 0), b"none", MountFlags::empty());
    }
    NOWHERE.with(Rc::clone)
}

/// A place for a file that no path leads to; `/proc/self/fd` shows it as `name`.
pub fn detached(name: &[u8], inode: Rc<dyn Inode>) -> Location {
    Location { mount: nowhere(), dentry: Dentry::detached(name, inode) }
}

/// Where an open file is: where it was found, or a place of its own that no path leads to.
pub fn location_of(file: &Rc<OpenFile>) -> Location {
    if let Some(location) = file.location() {
        return location.clone();
    }
    let inode: Rc<dyn Inode> = match file.ops().inode() {
        Some(inode) => Rc::clone(inode),
        None => {
            Rc::new(AnonymousInode { file: Rc::clone(file), attachments: Attachments::default() })
        }
    };
    detached(file.ops().describe().as_bytes(), inode)
}
