//! Files in memory.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use kernel_core::facts;
use kernel_core::io::{Sink, Source};
use kernel_core::ledger::{ALLOCATION, Charge, Kind};
use linux_abi::files::mode;
use linux_abi::time::Timespec;
use linux_abi::{Errno, SysResult};

use super::data::Data;
use super::directory::Entries;
use super::space::Space;
use crate::acl::{Acl, AclKind};
use crate::attachments::Attachments;
use crate::inode::{
    Allocate, Content, Directory, Extent, Inode, NewInode, NewKind, WriteAt, XattrMode, Xattrs,
};
use crate::metadata::{
    AttributeChange, DeviceNumber, FileKind, Metadata, Ownership, attributes_changed, timestamp,
};
use crate::open_file::{MapRequest, MappedFile};
use crate::xattr_map::XattrMap;

/// A day, after which even an unchanged file gets a new access time.
const DAY_SECONDS: i64 = 24 * 60 * 60;

/// What a file in memory consists of, by its kind.
pub(super) enum Body {
    Regular(Data),
    Directory(RefCell<Entries>),
    Symlink(Box<[u8]>),
    Other,
}

/// A symbolic link this long takes a page, as on Linux.
const SHORT_LINK: usize = 128;

/// Whether a new file is a link that takes a page.
fn is_long_link(kind: &NewKind<'_>) -> bool {
    matches!(kind, NewKind::Symlink(target) if target.len() >= SHORT_LINK)
}

/// What a new file takes.
fn memory_of(new: &NewInode<'_>) -> u64 {
    let target = if let NewKind::Symlink(target) = new.kind { target.len() as u64 } else { 0 };
    INODE_BYTES + target
}

/// A file in memory.
pub struct MemoryInode {
    pub(super) space: Rc<Space>,
    pub(super) number: u64,
    kind: FileKind,
    mode: Cell<u32>,
    uid: Cell<u32>,
    gid: Cell<u32>,
    pub(super) n_links: Cell<u32>,
    special: DeviceNumber,
    accessed: Cell<Timespec>,
    modified: Cell<Timespec>,
    changed: Cell<Timespec>,
    created: Timespec,
    pub(super) body: Body,
    xattrs: XattrMap,
    attachments: Attachments,
    pub(super) this: Weak<MemoryInode>,
    _charge: Charge,
}

/// What a file takes before anything is in it.
const INODE_BYTES: u64 = size_of::<MemoryInode>() as u64 + 2 * ALLOCATION;

impl MemoryInode {
    /// A new file, without a name as yet; `ENOSPC` if there may be no more of them.
    pub fn new(space: &Rc<Space>, new: &NewInode<'_>) -> SysResult<Rc<Self>> {
        if is_long_link(&new.kind) {
            space.take_pages(1)?;
        }
        let number = match Charge::new(Kind::Inodes, memory_of(new)) {
            Ok(_) => space.take_inode(),
            Err(_) => {
                space.refused();
                Err(Errno::ENOSPC)
            }
        };
        if number.is_err() && is_long_link(&new.kind) {
            space.give_pages(1);
        }
        Ok(Self::with_number(space, new, number?))
    }

    /// The root of a file system.
    pub fn root(space: &Rc<Space>, new: &NewInode<'_>) -> Rc<Self> {
        let number = space.force_inode();
        Self::with_number(space, new, number)
    }

    fn with_number(space: &Rc<Space>, new: &NewInode<'_>, number: u64) -> Rc<Self> {
        let now = timestamp();
        let body = match new.kind {
            NewKind::Regular => Body::Regular(Data::new(Rc::clone(space))),
            NewKind::Directory => Body::Directory(RefCell::default()),
            NewKind::Symlink(target) => Body::Symlink(target.into()),
            _ => Body::Other,
        };
        let is_directory = matches!(new.kind, NewKind::Directory);
        // The root of a file system always fits; whoever makes another file has checked.
        let charge = Charge::forced(Kind::Inodes, memory_of(new));
        Rc::new_cyclic(|this| Self {
            space: Rc::clone(space),
            number,
            kind: new.kind.kind(),
            mode: Cell::new(new.mode & mode::CHANGEABLE),
            uid: Cell::new(new.uid),
            gid: Cell::new(new.gid),
            n_links: Cell::new(if is_directory { 2 } else { 1 }),
            special: new.kind.special(),
            accessed: Cell::new(now),
            modified: Cell::new(now),
            changed: Cell::new(now),
            created: now,
            body,
            xattrs: XattrMap::default(),
            attachments: Attachments::default(),
            this: this.clone(),
            _charge: charge,
        })
    }

    /// The contents, or the names in it, have changed.
    pub(super) fn touch_modified(&self) {
        let now = timestamp();
        self.modified.set(now);
        self.changed.set(now);
        facts::files_changed();
    }

    /// The metadata has changed.
    pub(super) fn touch_changed(&self) {
        self.changed.set(timestamp());
        facts::files_changed();
    }

    /// Changes the number of names.
    pub(super) fn add_links(&self, change: i32) {
        self.n_links.set(self.n_links.get().saturating_add_signed(change));
        self.touch_changed();
    }

    fn data(&self) -> SysResult<&Data> {
        match &self.body {
            Body::Regular(data) => Ok(data),
            _ => Err(Errno::EINVAL),
        }
    }
}

impl Inode for MemoryInode {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn kind(&self) -> FileKind {
        self.kind
    }

    fn metadata(&self) -> SysResult<Metadata> {
        let (size, n_blocks) = match &self.body {
            Body::Regular(data) => (data.size(), data.n_blocks()),
            Body::Directory(entries) => (entries.borrow().size(), 0),
            Body::Symlink(target) => (target.len() as u64, 0),
            Body::Other => (0, 0),
        };
        Ok(Metadata {
            device: self.space.device(),
            inode: self.number,
            mode: self.mode.get() | self.kind.mode_bits(),
            n_links: self.n_links.get(),
            uid: self.uid.get(),
            gid: self.gid.get(),
            special: self.special,
            size,
            block_size: 4096,
            n_blocks,
            accessed: self.accessed.get(),
            modified: self.modified.get(),
            changed: self.changed.get(),
            created: Some(self.created),
        })
    }

    fn ownership(&self) -> SysResult<Ownership> {
        Ok(Ownership {
            mode: self.mode.get() | self.kind.mode_bits(),
            uid: self.uid.get(),
            gid: self.gid.get(),
        })
    }

    fn set_attributes(&self, change: &AttributeChange) -> SysResult<()> {
        let set = |cell: &Cell<u32>, value: Option<u32>| {
            if let Some(value) = value {
                cell.set(value);
            }
        };
        set(&self.mode, change.mode);
        set(&self.uid, change.uid);
        set(&self.gid, change.gid);
        let set = |cell: &Cell<Timespec>, value: Option<Timespec>| {
            if let Some(value) = value {
                cell.set(value);
            }
        };
        set(&self.accessed, change.accessed);
        set(&self.modified, change.modified);
        set(&self.changed, change.changed);
        attributes_changed(self.kind());
        Ok(())
    }

    fn is_steady(&self) -> bool {
        // A mapped file gets bytes without a call.
        !matches!(&self.body, Body::Regular(data) if data.is_mapped())
    }

    fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    fn directory(&self) -> Option<&dyn Directory> {
        matches!(self.body, Body::Directory(_)).then_some(self as &dyn Directory)
    }

    fn content(&self) -> Option<&dyn Content> {
        matches!(self.body, Body::Regular(_)).then_some(self as &dyn Content)
    }

    fn xattrs(&self) -> Option<&dyn Xattrs> {
        Some(&self.xattrs)
    }

    fn acl(&self, kind: AclKind) -> SysResult<Option<Acl>> {
        if self.kind == FileKind::Symlink {
            return Err(Errno::EOPNOTSUPP);
        }
        if self.xattrs.is_empty() {
            return Ok(None);
        }
        match self.xattrs.get(kind.name()) {
            Ok(value) => Acl::parse(&value),
            Err(_) => Ok(None),
        }
    }

    fn set_acl(&self, kind: AclKind, acl: Option<&Acl>) -> SysResult<()> {
        match acl {
            Some(acl) => self.xattrs.set(kind.name(), &acl.to_bytes(), XattrMode::CreateOrReplace),
            None => match self.xattrs.remove(kind.name()) {
                // There was none.
                Err(Errno::ENODATA) => Ok(()),
                result => result,
            },
        }
    }

    fn read_link(&self) -> SysResult<Vec<u8>> {
        match &self.body {
            Body::Symlink(target) => Ok(target.to_vec()),
            _ => Err(Errno::EINVAL),
        }
    }

    fn touch_accessed(&self) {
        let (accessed, modified) = (self.accessed.get(), self.modified.get());
        let key = |time: Timespec| (time.tv_sec, time.tv_nsec);
        let is_older = key(accessed) <= key(modified) || key(accessed) <= key(self.changed.get());
        let now = timestamp();
        if is_older || now.tv_sec - accessed.tv_sec >= DAY_SECONDS {
            self.accessed.set(now);
            facts::files_changed();
        }
    }
}

impl Content for MemoryInode {
    fn size(&self) -> SysResult<u64> {
        Ok(self.data()?.size())
    }

    fn read(&self, sink: &mut dyn Sink, offset: u64) -> SysResult<usize> {
        self.data()?.read(sink, offset)
    }

    fn write(&self, source: &mut dyn Source, at: WriteAt) -> SysResult<(usize, u64)> {
        let written = self.data()?.write(source, at)?;
        if written.0 > 0 {
            self.touch_modified();
        }
        Ok(written)
    }

    fn truncate(&self, size: u64) -> SysResult<()> {
        self.data()?.truncate(size)?;
        self.touch_modified();
        Ok(())
    }

    fn map(&self, request: MapRequest) -> SysResult<MappedFile> {
        self.data()?.map(request)
    }

    fn allocate(&self, what: Allocate, offset: u64, length: u64) -> SysResult<()> {
        self.data()?.allocate(what, offset, length)?;
        self.touch_modified();
        Ok(())
    }

    fn seek_extent(&self, extent: Extent, offset: u64) -> SysResult<u64> {
        self.data()?.seek_extent(extent, offset)
    }
}

impl Drop for MemoryInode {
    /// Frees a whole tree in a loop: it may be deeper than the stack.
    fn drop(&mut self) {
        self.space.give_inode();
        if let Body::Symlink(target) = &self.body
            && target.len() >= SHORT_LINK
        {
            self.space.give_pages(1);
        }
        let Body::Directory(entries) = &mut self.body else { return };
        let mut pending = entries.get_mut().take_all();
        while let Some(child) = pending.pop() {
            let Some(mut child) = Rc::into_inner(child) else { continue };
            if let Body::Directory(entries) = &mut child.body {
                pending.extend(entries.get_mut().take_all());
            }
        }
    }
}
