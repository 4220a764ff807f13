//! A copy of a large file that is made piece by piece, before the file is opened for writing.
//!
//! To copy a gigabyte takes a second. So that nobody else has to wait for that, whoever opens such a
//! file copies a piece, lets others go on, and tries again. The copy has no name yet, or one in the
//! [work folder](super::work); it is put in its place as any other. It goes with those who wait for it.

use std::cell::Cell;
use std::rc::{Rc, Weak};

use linux_abi::{Errno, SysResult};

use super::Shared;
use super::inode::OverlayInode;
use crate::copy::{copy_piece, new_like};
use crate::inode::Inode;
use crate::metadata::{FileKind, Metadata};

/// Smaller files are copied at once.
const LARGE: u64 = 8 << 20;

/// A copy that may not be complete.
pub struct Draft {
    shared: Rc<Shared>,
    from: Rc<dyn Inode>,
    copy: Rc<dyn Inode>,
    /// Its name in the work folder; empty if it has none.
    name: Vec<u8>,
    size: u64,
    /// Where the next piece starts; nothing when all is there.
    next: Cell<Option<u64>>,
    is_durable: Cell<bool>,
}

impl Draft {
    fn begin(shared: &Rc<Shared>, from: &Rc<dyn Inode>, metadata: &Metadata) -> SysResult<Self> {
        let new = new_like(metadata, &[])?;
        let (copy, name) = match &shared.work {
            Some(work) => {
                let name = work.fresh_name();
                (work.names()?.create(&name, &new)?, name)
            }
            None => {
                let top = super::require_upper(shared)?.file_system.root();
                (top.directory().ok_or(Errno::ENOTDIR)?.create_unnamed(&new)?, Vec::new())
            }
        };
        Ok(Self {
            shared: Rc::clone(shared),
            from: Rc::clone(from),
            copy,
            name,
            size: metadata.size,
            next: Cell::new(Some(0)),
            is_durable: Cell::new(false),
        })
    }

    /// The file that is copied, and where the next piece starts. Nothing when all is there.
    pub fn next(&self) -> Option<(&Rc<dyn Inode>, u64)> {
        Some((&self.from, self.next.get()?))
    }

    /// Copies the next piece.
    pub fn copy_piece(&self) -> SysResult<()> {
        let (Some(from), Some(to)) = (self.from.content(), self.copy.content()) else {
            return Err(Errno::EINVAL);
        };
        if let Some(offset) = self.next.get() {
            self.next.set(copy_piece(from, to, self.size, offset)?);
        }
        Ok(())
    }

    /// The copy, to be brought to where it lasts when all is there.
    pub fn copy(&self) -> &Rc<dyn Inode> {
        &self.copy
    }

    /// Its name in the work folder.
    pub(super) fn name(&self) -> &[u8] {
        &self.name
    }

    /// It is there.
    pub fn set_durable(&self) {
        self.is_durable.set(true);
    }

    /// Whether it can be put in its place.
    fn is_ready(&self) -> bool {
        self.next.get().is_none() && self.is_durable.get()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let names = self.shared.work.as_ref().and_then(|work| work.names().ok());
        if let Some(names) = names {
            // Not there any more if it was put in its place. What stays is removed with the folder.
            let _ = names.unlink(&self.name);
        }
    }
}

impl OverlayInode {
    /// The copy that has to be complete before this file can be written, if that takes long.
    pub(super) fn draft(&self) -> SysResult<Option<Rc<Draft>>> {
        if self.upper.borrow().is_some() || self.kind() != FileKind::Regular {
            return Ok(None);
        }
        if let Some(draft) = self.draft.borrow().upgrade() {
            return Ok((!draft.is_ready()).then_some(draft));
        }
        let Some(lower) = self.lowers.first() else { return Ok(None) };
        let metadata = lower.metadata()?;
        if metadata.size < LARGE {
            return Ok(None);
        }
        let draft = Rc::new(Draft::begin(&self.shared, lower, &metadata)?);
        *self.draft.borrow_mut() = Rc::downgrade(&draft);
        Ok(Some(draft))
    }

    /// The copy, if it is complete.
    pub(super) fn ready_draft(&self) -> Option<Rc<Draft>> {
        self.draft.replace(Weak::new()).upgrade().filter(|draft| draft.is_ready())
    }
}
