//! Files of the host.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::os::fd::OwnedFd;
use std::rc::{Rc, Weak};

use host_sys::{errno_of, rustix};
use kernel_core::moment::Moment;
use linux_abi::{Errno, SysResult};
use rustix::fs::{Mode, OFlags};

use super::beneath;
use super::kept::Kept;
use super::place::{OtherPlaces, Place};
use super::shared::{HostId, Shared};
use super::status::{id_of, stat_handle, stat_in, to_metadata};
use crate::attachments::Attachments;
use crate::inode::{Content, Directory, Inode, Xattrs};
use crate::late_closes;
use crate::metadata::{
    AttributeChange, DeviceNumber, FileKind, Metadata, Ownership, attributes_changed,
};
use crate::open_file::allocate_map_ids;

/// A directory is believed to be where it was, and whose it was, for this long. Whoever changes
/// the folder from outside meanwhile is seen that much later. Files are asked for in every call.
pub(super) const BELIEVED_NANOS: u64 = 1_000_000;

/// A file of the host.
pub struct HostInode {
    pub(super) shared: Rc<Shared>,
    id: HostId,
    kind: FileKind,
    /// `None` for the top of the folder.
    pub(super) place: RefCell<Option<Place>>,
    /// Other names that it had or got, for when this one goes.
    pub(super) other_places: OtherPlaces,
    /// The handle of a directory. That of the top is never closed.
    handle: RefCell<Option<Rc<OwnedFd>>>,
    /// The handle for as long as somebody holds it, even if it was closed here.
    held: RefCell<Weak<OwnedFd>>,
    /// The handle can list, and is not for walking (`O_PATH`) only.
    handle_can_list: Cell<bool>,
    /// Descriptors that open files keep.
    pub(super) for_reading: RefCell<Weak<OwnedFd>>,
    pub(super) for_writing: RefCell<Weak<OwnedFd>>,
    /// Its data was in the host's memory when it was first read.
    pub(super) is_warm: Cell<bool>,
    pub(super) map_ids: Cell<u64>,
    /// Somebody has, or had, it mapped such that writes to memory change it.
    pub(super) is_mapped_to_write: Cell<bool>,
    /// Where a link of an immutable folder leads.
    target: OnceCell<Vec<u8>>,
    /// What the host said last, and when.
    seen: Cell<Option<(Metadata, Moment)>>,
    /// How often the kernel has changed a name in it.
    pub(super) n_changes: Cell<u64>,
    /// What it takes of the folder's budget.
    charged: Cell<u64>,
    /// Its last name is gone.
    is_gone: Cell<bool>,
    /// What the guest believes of owner and mode, if the folder keeps that.
    pub(super) kept: Cell<Option<Kept>>,
    attachments: Attachments,
    this: Weak<HostInode>,
}

impl HostInode {
    /// The top of a folder.
    pub fn root(shared: &Rc<Shared>, handle: OwnedFd) -> SysResult<Rc<Self>> {
        let stat = stat_handle(&handle)?;
        Ok(Self::with(shared, &stat, None, Some(Rc::new(handle))))
    }

    fn with(
        shared: &Rc<Shared>,
        stat: &rustix::fs::Statx,
        place: Option<Place>,
        handle: Option<Rc<OwnedFd>>,
    ) -> Rc<Self> {
        let metadata = to_metadata(shared, stat);
        let kept = Self::read_kept(shared, metadata.kind(), place.as_ref(), handle.as_deref());
        let inode = Rc::new_cyclic(|this| Self {
            shared: Rc::clone(shared),
            id: id_of(stat),
            kind: metadata.kind(),
            place: RefCell::new(place),
            other_places: OtherPlaces::default(),
            handle: RefCell::new(handle),
            held: RefCell::default(),
            handle_can_list: Cell::new(false),
            for_reading: RefCell::default(),
            for_writing: RefCell::default(),
            is_warm: Cell::new(false),
            map_ids: Cell::new(0),
            is_mapped_to_write: Cell::new(false),
            target: OnceCell::new(),
            seen: Cell::new(Some((metadata, Moment::now()))),
            n_changes: Cell::new(0),
            charged: Cell::new(shared.budget.as_ref().map_or(0, |it| it.cost(id_of(stat), stat))),
            is_gone: Cell::new(false),
            kept: Cell::new(kept),
            attachments: Attachments::default(),
            this: this.clone(),
        });
        if !shared.is_immutable() {
            shared.remember(id_of(stat), &inode);
        }
        inode
    }

    /// The file of this name in this directory.
    pub fn find(&self, name: &[u8]) -> SysResult<Rc<Self>> {
        beneath::check_name(name)?;
        self.check_name_is_shown(name)?;
        let stat = stat_in(&*self.directory_handle()?, name)?;
        self.check_mode_is_shown(&stat)?;
        if !self.shared.is_immutable()
            && let Some(known) = self.shared.find(id_of(&stat))
            && known.kind == FileKind::of_mode(u32::from(stat.stx_mode))
        {
            known.found_in(self, name)?;
            known.see(&stat);
            return Ok(known);
        }
        self.new_child(name, &stat)
    }

    /// The file of this name in this directory, of which nothing was known.
    fn new_child(&self, name: &[u8], stat: &rustix::fs::Statx) -> SysResult<Rc<Self>> {
        let place = Place { parent: self.this()?, name: Rc::from(name) };
        Ok(Self::with(&self.shared, stat, Some(place), None))
    }

    /// The file that was just made by this name in this directory. Whoever is still known by its
    /// number had that before, and is gone.
    pub(super) fn made(&self, name: &[u8], opened: &OwnedFd) -> SysResult<Rc<Self>> {
        self.new_child(name, &stat_handle(opened)?)
    }

    /// Takes in what the host says of this file now.
    fn see(&self, stat: &rustix::fs::Statx) -> Metadata {
        let metadata = to_metadata(&self.shared, stat);
        self.seen.set(Some((metadata, Moment::now())));
        metadata
    }

    /// The size that the host last said it has.
    pub(super) fn seen_size(&self) -> Option<u64> {
        self.seen.get().map(|(metadata, _)| metadata.size)
    }

    /// The file has been found by this name. It may still have the one that it was known by.
    fn found_in(&self, parent: &Self, name: &[u8]) -> SysResult<()> {
        if self.place.borrow().as_ref().is_some_and(|place| place.is_in(parent, name)) {
            return Ok(());
        }
        let Some(before) = self.place() else { return Ok(()) };
        let known = self.other_places.exchange(parent, name, &before);
        let place = match known {
            Some(place) => place,
            None => {
                self.linked_to(before);
                Place { parent: parent.this()?, name: Rc::from(name) }
            }
        };
        self.moved_to(place);
        Ok(())
    }

    /// The file is now known by this name.
    pub(super) fn moved_to(&self, place: Place) {
        if self.place.borrow().is_some() {
            *self.place.borrow_mut() = Some(place);
        }
    }

    /// Counts anew what the file takes, after it was written to.
    pub(super) fn recount(&self, file: &OwnedFd) -> SysResult<()> {
        let Some(budget) = &self.shared.budget else { return Ok(()) };
        let now = budget.cost(self.id, &stat_handle(file)?);
        budget.recount(self.charged.replace(now), now);
        Ok(())
    }

    /// A new file takes what it takes.
    pub(super) fn charge_new(&self) {
        if let Some(budget) = &self.shared.budget {
            budget.recount(0, self.charged.get());
        }
    }

    /// Its last name is gone. What it takes is given back when nobody has it open.
    pub(super) fn lost_last_name(&self) {
        self.is_gone.set(true);
    }

    /// Its number on the host.
    pub(super) fn id(&self) -> HostId {
        self.id
    }

    pub(super) fn this(&self) -> SysResult<Rc<Self>> {
        self.this.upgrade().ok_or(Errno::ENOENT)
    }

    /// Where the file was last found; `None` for the top.
    pub(super) fn place(&self) -> Option<Place> {
        self.place.borrow().clone()
    }

    /// The handle of this directory, opened anew if it was closed. The chain of parents that have
    /// none is walked down in a loop.
    pub fn directory_handle(&self) -> SysResult<Rc<OwnedFd>> {
        if let Some(handle) = self.open_handle() {
            return Ok(handle);
        }
        let mut missing = vec![self.this()?];
        let mut place = self.place();
        let mut handle = loop {
            let Some(Place { parent, .. }) = place else { return Err(Errno::ENOENT) };
            if let Some(handle) = parent.open_handle() {
                break handle;
            }
            place = parent.place();
            missing.push(parent);
        };
        for directory in missing.iter().rev() {
            let name = directory.place().ok_or(Errno::ENOENT)?.name;
            // One that can list saves opening it again for that.
            let can_list = OFlags::RDONLY | OFlags::DIRECTORY;
            let opened = match beneath::open_in(&*handle, &name, can_list, Mode::empty()) {
                Err(Errno::EACCES) => {
                    directory.handle_can_list.set(false);
                    let can_walk = OFlags::PATH | OFlags::DIRECTORY;
                    beneath::open_in(&*handle, &name, can_walk, Mode::empty())?
                }
                opened => {
                    directory.handle_can_list.set(true);
                    opened?
                }
            };
            directory.check_identity(&opened)?;
            handle = Rc::new(opened);
            *directory.handle.borrow_mut() = Some(Rc::clone(&handle));
            *directory.held.borrow_mut() = Rc::downgrade(&handle);
            self.shared.opened_directory(&directory.this);
        }
        Ok(handle)
    }

    /// The handle of this directory, if there is one already.
    fn open_handle(&self) -> Option<Rc<OwnedFd>> {
        self.handle.borrow().clone().or_else(|| self.held.borrow().upgrade())
    }

    /// Whether the handle of this directory, once opened, can list it.
    pub(super) fn handle_can_list(&self) -> bool {
        self.handle_can_list.get()
    }

    /// The handle of this directory, or of the one that this file is in.
    pub fn nearest_directory(&self) -> SysResult<Rc<OwnedFd>> {
        match self.place() {
            Some(place) if self.kind != FileKind::Directory => place.parent.directory_handle(),
            _ => self.directory_handle(),
        }
    }

    /// Opens this directory for listing or synchronizing. One that may be read and not searched
    /// opens by its name only.
    pub(super) fn open_for_listing(&self) -> SysResult<OwnedFd> {
        match (beneath::open_for_listing(&*self.directory_handle()?), self.place()) {
            (Err(Errno::EACCES), Some(Place { parent, name })) => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY;
                let parent = parent.directory_handle()?;
                let opened = beneath::open_in(&*parent, &name, flags, Mode::empty())?;
                self.check_identity(&opened)?;
                Ok(opened)
            }
            (opened, _) => opened,
        }
    }

    /// Closes the handle; it is opened again when it is needed.
    pub fn close_handle(&self) {
        if self.place.borrow().is_some()
            && let Some(handle) = self.handle.borrow_mut().take()
        {
            late_closes::let_go(handle);
        }
    }

    /// `ESTALE` if the host put another file in the place of this one.
    pub(super) fn check_identity(&self, opened: &OwnedFd) -> SysResult<()> {
        if self.shared.is_immutable() || id_of(&stat_handle(opened)?) == self.id {
            Ok(())
        } else {
            Err(Errno::ESTALE)
        }
    }

    /// Whether this file has this number on the host.
    pub(super) fn has_number(&self, device: u64, inode: u64) -> bool {
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        self.id == (u64::from(major) << 32 | u64::from(minor), inode)
    }

    fn stat(&self) -> SysResult<rustix::fs::Statx> {
        let open =
            self.for_writing.borrow().upgrade().or_else(|| self.for_reading.borrow().upgrade());
        if let Some(open) = open {
            return stat_handle(&open);
        }
        let Some(place) = self.place() else { return stat_handle(&*self.directory_handle()?) };
        self.stat_at(&place).or_else(|errno| {
            // The name is gone; a directory may be open, and the file may have another name.
            if let Some(handle) = self.open_handle() {
                return stat_handle(&handle);
            }
            self.find_again().map(|(_, stat)| stat).ok_or(errno)
        })
    }

    pub(super) fn stat_at(&self, place: &Place) -> SysResult<rustix::fs::Statx> {
        let stat = stat_in(&*place.parent.directory_handle()?, &place.name)?;
        if id_of(&stat) == self.id { Ok(stat) } else { Err(Errno::ESTALE) }
    }

    /// The file has got another name.
    pub(super) fn linked_to(&self, place: Place) {
        self.other_places.add(place);
    }

    /// A handle to this very file, whatever it is.
    pub(super) fn path_handle(&self) -> SysResult<Rc<OwnedFd>> {
        let Some(place) = self.place() else { return self.directory_handle() };
        self.where_it_is(&place, |place| {
            let parent = place.parent.directory_handle()?;
            let handle = beneath::open_in(&*parent, &place.name, OFlags::PATH, Mode::empty())?;
            self.check_identity(&handle)?;
            Ok(Rc::new(handle))
        })
    }

    pub(super) fn map_ids(&self) -> u64 {
        if self.map_ids.get() == 0 {
            self.map_ids.set(allocate_map_ids());
        }
        self.map_ids.get()
    }
}

impl Drop for HostInode {
    fn drop(&mut self) {
        self.shared.forget(self.id);
        if let Some(handle) = self.handle.get_mut().take() {
            late_closes::let_go(handle);
        }
        if self.is_gone.get()
            && let Some(budget) = &self.shared.budget
            && budget.mapped(self.id).is_none()
        {
            budget.recount(self.charged.get(), 0);
        }
        // Parents are let go in a loop: the chain may be longer than the stack is deep.
        let mut place = self.place.get_mut().take();
        while let Some(Place { parent, .. }) = place {
            place = match Rc::into_inner(parent) {
                Some(mut parent) => parent.place.get_mut().take(),
                None => None,
            };
        }
    }
}

impl Inode for HostInode {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn kind(&self) -> FileKind {
        self.kind
    }

    fn metadata(&self) -> SysResult<Metadata> {
        let mut metadata = match self.seen.get() {
            Some((seen, when)) if self.shared.is_immutable() || when.is_now() => seen,
            _ => self.see(&self.stat()?),
        };
        if let Some(kept) = self.kept.get() {
            kept.apply(&mut metadata);
        }
        Ok(metadata)
    }

    fn number(&self) -> SysResult<u64> {
        Ok(self.id.1)
    }

    fn device(&self) -> SysResult<DeviceNumber> {
        Ok(self.shared.device_of(self.id.0))
    }

    fn sheds_privileges(&self) -> bool {
        // The host does that for us, who have no capabilities; unless the mode is kept elsewhere.
        !self.shared.options.keeps_owners
    }

    fn ownership(&self) -> SysResult<Ownership> {
        // Every path asks this of every directory that it leads through.
        if self.kind == FileKind::Directory
            && let Some((mut seen, when)) = self.seen.get()
            && (self.shared.is_immutable() || when.is_within(BELIEVED_NANOS))
        {
            if let Some(kept) = self.kept.get() {
                kept.apply(&mut seen);
            }
            return Ok(seen.ownership());
        }
        Ok(self.metadata()?.ownership())
    }

    fn set_attributes(&self, change: &AttributeChange) -> SysResult<()> {
        if self.shared.options.read_only {
            return Err(Errno::EROFS);
        }
        let changed = self.change_attributes(change);
        self.seen.set(None);
        attributes_changed(self.kind);
        changed
    }

    fn is_steady(&self) -> bool {
        self.shared.is_immutable()
    }

    fn is_written_by_calls(&self) -> bool {
        !self.is_mapped_to_write.get()
    }

    fn is_frozen(&self) -> bool {
        self.shared.is_immutable()
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
        can_have_xattrs(self.kind).then_some(self as &dyn Xattrs)
    }

    fn on_disk(&self) -> SysResult<Option<Rc<OwnedFd>>> {
        self.to_sync()
    }

    fn read_link(&self) -> SysResult<Vec<u8>> {
        if self.kind != FileKind::Symlink {
            return Err(Errno::EINVAL);
        }
        if let Some(target) = self.target.get() {
            return Ok(target.clone());
        }
        let place = self.place().ok_or(Errno::EINVAL)?;
        let target = self.where_it_is(&place, |place| {
            let parent = place.parent.directory_handle()?;
            rustix::fs::readlinkat(&*parent, &*place.name, Vec::new()).map_err(errno_of)
        })?;
        let target = target.into_bytes();
        if self.shared.is_immutable() {
            return Ok(self.target.get_or_init(|| target).clone());
        }
        Ok(target)
    }
}

pub(super) fn can_have_xattrs(kind: FileKind) -> bool {
    matches!(kind, FileKind::Regular | FileKind::Directory)
}
