//! Files of an overlay.

use std::any::Any;
use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::rc::{Rc, Weak};

use kernel_core::io::{Sink, Source};
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, SysResult};

use super::draft::Draft;
use super::listing::Listing;
use super::{RealId, Shared, marks};
use crate::acl::{Acl, AclKind};
use crate::attachments::Attachments;
use crate::inode::{
    Allocate, Content, Directory, Extent, Inode, OpenGuard, OpenRequest, WriteAt, XattrMode, Xattrs,
};
use crate::metadata::{AttributeChange, FileKind, Metadata, Ownership};
use crate::mount::Location;
use crate::open_file::{FileOps, MapRequest, MappedFile};

/// Where a file is in the overlay.
#[derive(Clone)]
pub(super) struct Place {
    pub parent: Rc<OverlayInode>,
    pub name: Rc<[u8]>,
}

/// A file of an overlay.
pub struct OverlayInode {
    pub(super) shared: Rc<Shared>,
    pub(super) number: u64,
    kind: FileKind,
    pub(super) upper: RefCell<Option<Rc<dyn Inode>>>,
    /// For a directory all that it shows, the highest first; for others the file itself, unless
    /// it was made in the upper layer.
    pub(super) lowers: Vec<Rc<dyn Inode>>,
    pub(super) place: RefCell<Option<Place>>,
    /// A copy for the upper layer that is being made.
    pub(super) draft: RefCell<Weak<Draft>>,
    pub(super) listing: RefCell<Option<Listing>>,
    known_as: RefCell<Vec<RealId>>,
    attachments: Attachments,
    pub(super) this: Weak<OverlayInode>,
}

impl OverlayInode {
    /// The root.
    pub fn root(
        shared: &Rc<Shared>,
        upper: Option<Rc<dyn Inode>>,
        lowers: Vec<Rc<dyn Inode>>,
    ) -> SysResult<Rc<Self>> {
        Self::with(shared, upper, lowers, None)
    }

    /// The one inode for what the layers have at a place.
    pub(super) fn with(
        shared: &Rc<Shared>,
        upper: Option<Rc<dyn Inode>>,
        lowers: Vec<Rc<dyn Inode>>,
        place: Option<Place>,
    ) -> SysResult<Rc<Self>> {
        let real = upper.as_ref().or(lowers.first()).ok_or(Errno::ENOENT)?;
        let metadata = real.metadata()?;
        if let Some(known) = shared.find(&metadata) {
            return Ok(known);
        }
        let origin = upper.as_ref().and_then(|upper| marks::origin(&**upper));
        let number = origin.unwrap_or_else(|| shared.number(metadata.device, metadata.inode));
        let kind = real.kind();
        let inode = Rc::new_cyclic(|this| Self {
            shared: Rc::clone(shared),
            number,
            kind,
            upper: RefCell::new(upper),
            lowers,
            place: RefCell::new(place),
            draft: RefCell::default(),
            listing: RefCell::default(),
            known_as: RefCell::default(),
            attachments: Attachments::default(),
            this: this.clone(),
        });
        inode.known_as(&metadata);
        Ok(inode)
    }

    /// The file can be found by this file of a layer.
    pub(super) fn known_as(&self, real: &Metadata) {
        self.shared.remember(real, &self.this);
        self.known_as.borrow_mut().push((real.device, real.inode));
    }

    /// The file as the highest layer has it.
    pub(super) fn real(&self) -> SysResult<Rc<dyn Inode>> {
        if let Some(upper) = &*self.upper.borrow() {
            return Ok(Rc::clone(upper));
        }
        self.lowers.first().cloned().ok_or(Errno::ENOENT)
    }

    fn with_content<T>(&self, run: impl FnOnce(&dyn Content) -> SysResult<T>) -> SysResult<T> {
        run(self.real()?.content().ok_or(Errno::EINVAL)?)
    }

    /// Runs on the upper layer's file, which is made if it is not there.
    fn with_upper<T>(&self, run: impl FnOnce(&dyn Content) -> SysResult<T>) -> SysResult<T> {
        run(self.copy_up()?.content().ok_or(Errno::EINVAL)?)
    }
}

impl Drop for OverlayInode {
    fn drop(&mut self) {
        self.shared.forget(self.known_as.get_mut());
        // In a loop, because the chain of parents may be longer than the stack is deep.
        let mut place = self.place.get_mut().take();
        while let Some(Place { parent, .. }) = place {
            place = match Rc::into_inner(parent) {
                Some(mut parent) => parent.place.get_mut().take(),
                None => None,
            };
        }
    }
}

impl Inode for OverlayInode {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn kind(&self) -> FileKind {
        self.kind
    }

    fn metadata(&self) -> SysResult<Metadata> {
        let mut metadata = self.real()?.metadata()?;
        metadata.device = self.shared.device;
        metadata.inode = self.number;
        if self.kind == FileKind::Directory && !self.lowers.is_empty() {
            // As Linux shows it: the number of directories in it is not known.
            metadata.n_links = 1;
        }
        Ok(metadata)
    }

    fn number(&self) -> SysResult<u64> {
        Ok(self.number)
    }

    fn ownership(&self) -> SysResult<Ownership> {
        self.real()?.ownership()
    }

    fn set_attributes(&self, change: &AttributeChange) -> SysResult<()> {
        self.copy_up()?.set_attributes(change)
    }

    fn is_steady(&self) -> bool {
        let is_steady = |real: &Rc<dyn Inode>| real.is_steady();
        self.upper.borrow().as_ref().is_none_or(is_steady) && self.lowers.iter().all(is_steady)
    }

    fn is_written_by_calls(&self) -> bool {
        self.real().is_ok_and(|real| real.is_written_by_calls())
    }

    fn is_frozen(&self) -> bool {
        // A copy is made before anything changes, and takes everything back.
        self.upper.borrow().is_none() && self.lowers.first().is_some_and(|lower| lower.is_frozen())
    }

    fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    fn directory(&self) -> Option<&dyn Directory> {
        (self.kind == FileKind::Directory).then_some(self as &dyn Directory)
    }

    fn content(&self) -> Option<&dyn Content> {
        (self.kind == FileKind::Regular).then_some(self as &dyn Content)
    }

    fn xattrs(&self) -> Option<&dyn Xattrs> {
        Some(self)
    }

    fn acl(&self, kind: AclKind) -> SysResult<Option<Acl>> {
        if self.kind == FileKind::Symlink {
            return Err(Errno::EOPNOTSUPP);
        }
        match (&*self.upper.borrow(), self.lowers.first()) {
            (Some(upper), _) => upper.acl(kind),
            // A copy in the upper layer may have one, whatever the lower can.
            (None, Some(lower)) => Ok(lower.acl(kind).unwrap_or(None)),
            (None, None) => Err(Errno::ENOENT),
        }
    }

    fn set_acl(&self, kind: AclKind, acl: Option<&Acl>) -> SysResult<()> {
        if acl.is_none() && self.upper.borrow().is_none() && self.acl(kind)?.is_none() {
            return Err(Errno::ENODATA);
        }
        self.copy_up()?.set_acl(kind, acl)
    }

    fn on_disk(&self) -> SysResult<Option<Rc<OwnedFd>>> {
        self.upper.borrow().as_ref().map_or(Ok(None), |upper| upper.on_disk())
    }

    fn read_link(&self) -> SysResult<Vec<u8>> {
        self.real()?.read_link()
    }

    fn magic_target(&self) -> Option<SysResult<Location>> {
        self.real().ok()?.magic_target()
    }

    fn open(&self, request: &OpenRequest<'_>) -> Option<SysResult<Rc<dyn FileOps>>> {
        if matches!(self.kind, FileKind::Regular | FileKind::Directory) {
            return None;
        }
        self.real().ok()?.open(request)
    }

    fn touch_accessed(&self) {
        if let Some(upper) = &*self.upper.borrow() {
            upper.touch_accessed();
        }
    }
}

impl Content for OverlayInode {
    fn size(&self) -> SysResult<u64> {
        self.with_content(|content| content.size())
    }

    fn lend(&self) -> Option<OwnedFd> {
        self.with_content(|content| Ok(content.lend())).ok().flatten()
    }

    fn draft(&self) -> SysResult<Option<Rc<Draft>>> {
        OverlayInode::draft(self)
    }

    fn prepare_open(&self, flags: OpenFlags) -> SysResult<OpenGuard> {
        if flags.can_write() || flags.contains(OpenFlags::TRUNC) {
            let is_emptied = flags.contains(OpenFlags::TRUNC);
            let upper = if is_emptied { self.copy_up_empty()? } else { self.copy_up()? };
            return upper.content().map_or(Ok(None), |content| content.prepare_open(flags));
        }
        self.with_content(|content| content.prepare_open(flags))
    }

    fn read(&self, sink: &mut dyn Sink, offset: u64) -> SysResult<usize> {
        match &*self.upper.borrow() {
            Some(upper) => upper.content().ok_or(Errno::EINVAL)?.read(sink, offset),
            None => {
                let lower = self.lowers.first().and_then(|lower| lower.content());
                lower.ok_or(Errno::EINVAL)?.read(sink, offset)
            }
        }
    }

    fn is_cold(&self, offset: u64, length: usize) -> bool {
        self.with_content(|content| Ok(content.is_cold(offset, length))).unwrap_or(false)
    }

    fn was_mapped(&self) -> bool {
        self.with_content(|content| Ok(content.was_mapped())).unwrap_or(false)
    }

    fn read_if_warm(&self, buffer: &mut [u8]) -> bool {
        self.with_content(|content| Ok(content.read_if_warm(buffer))).unwrap_or(false)
    }

    fn write(&self, source: &mut dyn Source, at: WriteAt) -> SysResult<(usize, u64)> {
        self.with_upper(|content| content.write(source, at))
    }

    fn truncate(&self, size: u64) -> SysResult<()> {
        if size == 0 {
            let upper = self.copy_up_empty()?;
            return upper.content().ok_or(Errno::EINVAL)?.truncate(0);
        }
        self.with_upper(|content| content.truncate(size))
    }

    fn map(&self, request: MapRequest) -> SysResult<MappedFile> {
        if request.shared && request.writable {
            return self.with_upper(|content| content.map(request));
        }
        self.with_content(|content| content.map(request))
    }

    fn allocate(&self, what: Allocate, offset: u64, length: u64) -> SysResult<()> {
        self.with_upper(|content| content.allocate(what, offset, length))
    }

    fn seek_extent(&self, extent: Extent, offset: u64) -> SysResult<u64> {
        self.with_content(|content| content.seek_extent(extent, offset))
    }
}

impl Xattrs for OverlayInode {
    fn get(&self, name: &[u8]) -> SysResult<Vec<u8>> {
        if marks::is_mark(name) {
            return Err(Errno::ENODATA);
        }
        self.real()?.xattrs().ok_or(Errno::EOPNOTSUPP)?.get(name)
    }

    fn set(&self, name: &[u8], value: &[u8], mode: XattrMode) -> SysResult<()> {
        if marks::is_mark(name) {
            return Err(Errno::EPERM);
        }
        self.copy_up()?.xattrs().ok_or(Errno::EOPNOTSUPP)?.set(name, value, mode)
    }

    fn remove(&self, name: &[u8]) -> SysResult<()> {
        self.get(name)?;
        self.copy_up()?.xattrs().ok_or(Errno::EOPNOTSUPP)?.remove(name)
    }

    fn list(&self) -> SysResult<Vec<Vec<u8>>> {
        let real = self.real()?;
        let Some(xattrs) = real.xattrs() else { return Ok(Vec::new()) };
        let mut names = xattrs.list()?;
        names.retain(|name| !marks::is_mark(name));
        Ok(names)
    }
}
