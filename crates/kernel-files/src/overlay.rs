//! Read-only layers with a writable one on top.
//!
//! A file is what the highest layer says. What is changed is first copied to the upper layer
//! ([`copy_up`]). A name that was removed, but is there in a lower layer, becomes a *whiteout* in
//! the upper one: a character device 0:0. A directory that hides those below it is *opaque*. Lower
//! layers must not change while they are used.

mod changes;
mod copy_up;
mod directory;
mod draft;
mod inode;
mod listing;
mod marks;
mod work;

#[cfg(test)]
mod tests;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::rc::{Rc, Weak};

use linux_abi::{Errno, SysResult};

use crate::device_numbers::allocate_device;
use crate::inode::{FileSystem, Inode};
use crate::metadata::{AttributeChange, DeviceNumber, FileSystemUsage, Metadata, Ownership};
pub use changes::Difference;
pub use draft::Draft;
use inode::OverlayInode;
use work::Work;

/// Where the writable layer is, which decides how it remembers what Linux has no bit for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpperKind {
    /// In memory: inodes live as long as the file system and can carry objects.
    Memory,
    /// In a host folder, so that a later run finds everything in extended attributes.
    Folder,
}

/// What a folder that keeps writes holds of directories that were moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// Where they were: only who knows the lower layers can read it.
    AsRecords,
    /// Everything that was in them, for others to read.
    AsCopies,
}

/// The writable layer.
#[derive(Clone)]
pub struct Upper {
    /// Its file system.
    pub file_system: Rc<dyn FileSystem>,
    /// Where it is.
    pub kind: UpperKind,
    /// What it holds of directories that were moved, if it is a folder.
    pub moves: Moves,
    /// Held while it is used, so that no other sandbox writes to the same folder.
    pub lock: Option<Rc<OwnedFd>>,
}

/// Names a file of a layer: the layer's device and the file's number.
type RealId = (DeviceNumber, u64);

/// What all files of an overlay share.
pub(crate) struct Shared {
    device: DeviceNumber,
    upper: Option<Upper>,
    /// Files that somebody holds, so that there is one inode per file, before and after copy-up.
    inodes: RefCell<HashMap<RealId, Weak<OverlayInode>>>,
    /// Where files are made ready, if the upper layer has to survive a run that is killed.
    work: Option<Work>,
    /// The devices of the layers, for numbers that tell layers apart.
    layers: RefCell<Vec<DeviceNumber>>,
}

impl Shared {
    /// The number that a file of a layer is shown with.
    fn number(&self, device: DeviceNumber, inode: u64) -> u64 {
        let mut layers = self.layers.borrow_mut();
        let layer = match layers.iter().position(|known| *known == device) {
            Some(layer) => layer,
            None => {
                layers.push(device);
                layers.len() - 1
            }
        };
        inode ^ (layer as u64) << 48
    }

    fn find(&self, real: &Metadata) -> Option<Rc<OverlayInode>> {
        self.inodes.borrow().get(&(real.device, real.inode))?.upgrade()
    }

    fn remember(&self, real: &Metadata, inode: &Weak<OverlayInode>) {
        self.inodes.borrow_mut().insert((real.device, real.inode), inode.clone());
    }

    fn forget(&self, ids: &[RealId]) {
        let mut inodes = self.inodes.borrow_mut();
        for id in ids {
            if inodes.get(id).is_some_and(|inode| inode.strong_count() == 0) {
                inodes.remove(id);
            }
        }
    }
}

/// Read-only layers with a writable one on top.
pub struct Overlay {
    shared: Rc<Shared>,
    root: Rc<OverlayInode>,
    is_read_only: Cell<bool>,
}

impl Overlay {
    /// An overlay of `lowers`, the highest first, under `upper`. Without an upper nothing can be
    /// written.
    pub fn new(lowers: Vec<Rc<dyn Inode>>, upper: Option<Upper>) -> SysResult<Rc<Self>> {
        let top = upper.as_ref().map(|upper| upper.file_system.root());
        let work = match (&upper, &top) {
            (Some(Upper { kind: UpperKind::Folder, .. }), Some(top)) => {
                prepare_folder(top, lowers.first())?;
                Some(Work::open(top)?)
            }
            _ => None,
        };
        let shared = Rc::new(Shared {
            device: allocate_device(),
            upper,
            inodes: RefCell::default(),
            work,
            layers: RefCell::default(),
        });
        let root = OverlayInode::root(&shared, top, lowers)?;
        Ok(Rc::new(Self { shared, root, is_read_only: Cell::default() }))
    }

    /// Leaves nothing of its own in the folder that keeps writes. Files can still be read.
    pub fn tidy(&self) {
        if let Some(work) = &self.shared.work {
            work.remove();
        }
    }

    /// The writable layer, for those who want to know what was changed.
    pub fn upper(&self) -> Option<&Upper> {
        self.shared.upper.as_ref()
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        self.tidy();
    }
}

/// Makes a folder that nothing was written to yet look like the directory below it.
fn prepare_folder(top: &Rc<dyn Inode>, below: Option<&Rc<dyn Inode>>) -> SysResult<()> {
    let mut is_new = true;
    top.directory().ok_or(Errno::ENOTDIR)?.list(0, &mut |_| {
        is_new = false;
        false
    })?;
    match below.filter(|_| is_new) {
        Some(below) => look_like(top, below),
        None => Ok(()),
    }
}

/// Gives the top of a writable layer the owner and the mode of the directory below it.
pub fn look_like(top: &Rc<dyn Inode>, below: &Rc<dyn Inode>) -> SysResult<()> {
    let Ownership { mode, uid, gid } = below.ownership()?;
    let change = AttributeChange {
        mode: Some(mode & linux_abi::files::mode::CHANGEABLE),
        uid: Some(uid),
        gid: Some(gid),
        ..AttributeChange::default()
    };
    match top.set_attributes(&change) {
        // A host without extended attributes shows the folder as the guest's own.
        Ok(()) | Err(Errno::EPERM) => Ok(()),
        Err(errno) => Err(errno),
    }
}

impl FileSystem for Overlay {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn type_name(&self) -> &'static str {
        "overlay"
    }

    fn device(&self) -> DeviceNumber {
        self.shared.device
    }

    fn root(&self) -> Rc<dyn Inode> {
        Rc::clone(&self.root) as Rc<dyn Inode>
    }

    fn usage(&self) -> SysResult<FileSystemUsage> {
        let upper = self.shared.upper.as_ref();
        let usage =
            upper.map_or(Ok(FileSystemUsage::default()), |upper| upper.file_system.usage())?;
        Ok(FileSystemUsage { magic: 0x794c_7630, block_size: usage.block_size.max(4096), ..usage })
    }

    fn is_read_only(&self) -> bool {
        self.shared.upper.is_none()
    }

    fn read_only_switch(&self) -> Option<&Cell<bool>> {
        Some(&self.is_read_only)
    }

    fn sync(&self) -> SysResult<()> {
        self.shared.upper.as_ref().map_or(Ok(()), |upper| upper.file_system.sync())
    }

    fn has_refused_space(&self) -> bool {
        self.shared.upper.as_ref().is_some_and(|upper| upper.file_system.has_refused_space())
    }
}

/// The writable layer; `EROFS` if there is none.
fn require_upper(shared: &Shared) -> SysResult<&Upper> {
    shared.upper.as_ref().ok_or(Errno::EROFS)
}
