//! Copies a file to the writable layer before it is changed for the first time.

use std::rc::Rc;

use kernel_core::io::{SliceSource, VecSink};
use linux_abi::files::mode;
use linux_abi::{Errno, SysResult};

use super::inode::{OverlayInode, Place};
use super::{marks, require_upper};
use crate::inode::{Content, Extent, Inode, NewInode, NewKind, WriteAt, XattrMode};
use crate::metadata::{AttributeChange, FileKind, Metadata};

/// How much is copied at a time.
const PIECE: u64 = 1 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Data {
    Copy,
    /// The file is about to be emptied.
    Leave,
}

impl OverlayInode {
    /// The file in the upper layer, copied there if it is not there yet.
    pub(super) fn copy_up(&self) -> SysResult<Rc<dyn Inode>> {
        self.copy_up_with(Data::Copy)
    }

    /// Like [`copy_up`](Self::copy_up), for a file that is about to be emptied.
    pub(super) fn copy_up_empty(&self) -> SysResult<Rc<dyn Inode>> {
        self.copy_up_with(Data::Leave)
    }

    fn copy_up_with(&self, data: Data) -> SysResult<Rc<dyn Inode>> {
        if let Some(upper) = &*self.upper.borrow() {
            return Ok(Rc::clone(upper));
        }
        // The parents first, from the highest that is missing down, in a loop.
        let mut missing: Vec<Rc<OverlayInode>> = Vec::new();
        let mut place = self.place.borrow().clone();
        while let Some(Place { parent, .. }) = place {
            if parent.upper.borrow().is_some() {
                break;
            }
            place = parent.place.borrow().clone();
            missing.push(parent);
        }
        for directory in missing.iter().rev() {
            directory.copy_one(Data::Leave)?;
        }
        self.copy_one(data)
    }

    /// Copies this file; its directory is in the upper layer.
    fn copy_one(&self, data: Data) -> SysResult<Rc<dyn Inode>> {
        let layer = require_upper(&self.shared)?;
        let Place { parent, name } = self.place.borrow().clone().ok_or(Errno::EROFS)?;
        let directory = parent.upper.borrow().clone().ok_or(Errno::EROFS)?;
        let names = directory.directory().ok_or(Errno::ENOTDIR)?;
        let lower = self.lowers.first().ok_or(Errno::ENOENT)?;
        let metadata = lower.metadata()?;
        let link = match metadata.kind() {
            FileKind::Symlink => lower.read_link()?,
            _ => Vec::new(),
        };
        let new = NewInode {
            kind: new_kind(&metadata, &link)?,
            mode: metadata.mode & mode::CHANGEABLE,
            uid: metadata.uid,
            gid: metadata.gid,
        };
        // The change of the directory is ours, not the guest's: its times stay.
        let times = directory.metadata()?;
        let copy = names.create(&name, &new)?;
        let filled = fill(&**lower, &*copy, &metadata, data);
        if let Err(errno) = filled {
            // Half a copy would hide the whole file.
            if metadata.kind() == FileKind::Directory {
                names.rmdir(&name)?;
            } else {
                names.unlink(&name)?;
            }
            return Err(errno);
        }
        directory.set_attributes(&times_of(&times))?;
        marks::set_origin(&*copy, layer.kind, self.number());
        self.known_as(&copy.metadata()?);
        *self.upper.borrow_mut() = Some(Rc::clone(&copy));
        Ok(copy)
    }
}

fn new_kind<'a>(metadata: &Metadata, link: &'a [u8]) -> SysResult<NewKind<'a>> {
    Ok(match metadata.kind() {
        FileKind::Regular => NewKind::Regular,
        FileKind::Directory => NewKind::Directory,
        FileKind::Symlink => NewKind::Symlink(link),
        FileKind::Fifo => NewKind::Fifo,
        FileKind::Socket => NewKind::Socket,
        FileKind::CharacterDevice => NewKind::CharacterDevice(metadata.special),
        FileKind::BlockDevice => NewKind::BlockDevice(metadata.special),
        FileKind::Anonymous => return Err(Errno::EPERM),
    })
}

fn times_of(metadata: &Metadata) -> AttributeChange {
    AttributeChange {
        accessed: Some(metadata.accessed),
        modified: Some(metadata.modified),
        ..Default::default()
    }
}

/// Copies everything of a file but its name.
fn fill(from: &dyn Inode, to: &dyn Inode, metadata: &Metadata, data: Data) -> SysResult<()> {
    if let (Some(from), Some(to), Data::Copy) = (from.content(), to.content(), data) {
        copy_data(from, to, metadata.size)?;
    }
    if let (Some(from), Some(to)) = (from.xattrs(), to.xattrs()) {
        for name in from.list().unwrap_or_default() {
            if !marks::is_mark(&name) {
                to.set(&name, &from.get(&name)?, XattrMode::CreateOrReplace)?;
            }
        }
    }
    to.set_attributes(&times_of(metadata))
}

/// Copies the data, and leaves the holes.
fn copy_data(from: &dyn Content, to: &dyn Content, size: u64) -> SysResult<()> {
    let mut offset = 0;
    while offset < size {
        offset = match from.seek_extent(Extent::Data, offset) {
            Ok(offset) => offset,
            Err(_) => break,
        };
        let end = from.seek_extent(Extent::Hole, offset).unwrap_or(size).min(size);
        while offset < end {
            let piece = usize::try_from((end - offset).min(PIECE)).unwrap_or(0);
            let mut bytes = VecSink::new(piece);
            if from.read(&mut bytes, offset)? == 0 {
                return to.truncate(size);
            }
            let mut source = SliceSource::new(&bytes.bytes);
            let (n, _) = to.write(&mut source, WriteAt::Offset(offset))?;
            if n < bytes.bytes.len() {
                return Err(Errno::ENOSPC);
            }
            offset += n as u64;
        }
    }
    to.truncate(size)
}
