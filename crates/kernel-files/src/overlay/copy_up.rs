//! Copies a file to the writable layer before it is changed for the first time.

use std::rc::Rc;

use kernel_core::disk::sync_now;
use linux_abi::{Errno, SysResult};

use super::inode::{OverlayInode, Place};
use super::{marks, require_upper};
use crate::copy::{Data, fill, link_of, new_like, times_of};
use crate::inode::Inode;
use crate::lending;
use crate::metadata::FileKind;

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
        let link = link_of(&**lower)?;
        let new = new_like(&metadata, &link)?;
        // The change of the directory is ours, not the guest's: its times stay.
        let times = directory.metadata()?;
        let work = self.shared.work.as_ref();
        let (making, making_name) = match work {
            Some(work) => (work.names()?, work.fresh_name()),
            None => (names, name.to_vec()),
        };
        // What was copied piece by piece is whole and durable; it goes with its draft if this fails.
        let draft = self.ready_draft().filter(|_| data == Data::Copy);
        let (copy, data, making_name) = match &draft {
            Some(draft) => (Rc::clone(draft.copy()), Data::Leave, draft.name().to_vec()),
            None => (making.create(&making_name, &new)?, data, making_name),
        };
        let finish = || {
            fill(&**lower, &*copy, &metadata, data, &|name| !marks::is_mark(name))?;
            marks::set_origin(&*copy, layer.kind, self.number);
            let Some(work) = work else {
                return if draft.is_some() { names.link(&name, &copy) } else { Ok(()) };
            };
            if copy.kind() == FileKind::Regular
                && draft.is_none()
                && let Some(host) = copy.on_disk()?
            {
                sync_now(host)?;
            }
            work.publish(&making_name, metadata.kind(), &directory, &name)
        };
        if let Err(errno) = finish() {
            if draft.is_some() {
                return Err(errno);
            }
            // Half a copy would hide the whole file.
            if metadata.kind() == FileKind::Directory {
                making.rmdir(&making_name)?;
            } else {
                making.unlink(&making_name)?;
            }
            return Err(errno);
        }
        directory.set_attributes(&times_of(&times))?;
        self.known_as(&copy.metadata()?);
        *self.upper.borrow_mut() = Some(Rc::clone(&copy));
        // Who reads the old content by itself must see the new one.
        lending::take_all_back();
        Ok(copy)
    }
}
