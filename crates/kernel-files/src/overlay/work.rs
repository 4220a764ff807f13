//! Where files are made ready before they appear in a folder that keeps writes.
//!
//! A run may be killed at any moment. So what takes several steps is done in a hidden folder of the
//! upper layer, and one `rename` of the host puts it in its place: the next run finds the old state
//! or the new one. What was left half-way lies in the hidden folder, which the next run empties.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use linux_abi::{Errno, SysResult};

use super::marks;
use crate::inode::{Directory, Inode, NewInode, NewKind, RenameMode};
use crate::metadata::FileKind;

/// The hidden folder's name, at the top of the upper layer.
pub(super) const NAME: &[u8] = b".belljar-work";

/// A folder for files that are not ready yet. It is made when the first one is: most runs write
/// nothing.
pub(super) struct Work {
    top: Rc<dyn Inode>,
    folder: OnceCell<Rc<dyn Inode>>,
    next: Cell<u64>,
}

impl Work {
    /// Empties the hidden folder beneath `top`, if an earlier run has left one.
    pub fn open(top: &Rc<dyn Inode>) -> SysResult<Self> {
        let folder = OnceCell::new();
        match top.directory().ok_or(Errno::ENOTDIR)?.lookup(NAME) {
            Err(Errno::ENOENT) => {}
            left => {
                let left = left?;
                empty(folder.get_or_init(|| left))?;
            }
        }
        Ok(Self { top: Rc::clone(top), folder, next: Cell::new(0) })
    }

    /// The names of the folder, which is there from now on.
    pub fn names(&self) -> SysResult<&dyn Directory> {
        let folder = match self.folder.get() {
            Some(folder) => folder,
            None => {
                let new = NewInode { kind: NewKind::Directory, mode: 0o700, uid: 0, gid: 0 };
                let made = self.top.directory().ok_or(Errno::ENOTDIR)?.create(NAME, &new)?;
                self.folder.get_or_init(|| made)
            }
        };
        folder.directory().ok_or(Errno::ENOTDIR)
    }

    /// A name that nothing in it has.
    pub fn fresh_name(&self) -> Vec<u8> {
        self.next.set(self.next.get() + 1);
        self.next.get().to_string().into_bytes()
    }

    /// Moves what is called `ready` in here to its place, where at most a whiteout may be.
    pub fn publish(
        &self,
        ready: &[u8],
        kind: FileKind,
        directory: &Rc<dyn Inode>,
        name: &[u8],
    ) -> SysResult<()> {
        let there = directory.directory().ok_or(Errno::ENOTDIR)?.lookup(name);
        if there.is_err() || kind != FileKind::Directory {
            return self.names()?.rename(ready, directory, name, RenameMode::Replace);
        }
        // The host does not put a directory in the place of a device.
        self.names()?.rename(ready, directory, name, RenameMode::Exchange)?;
        self.names()?.unlink(ready)
    }

    /// Puts a whiteout in the place of what `directory` has at `name`, and removes that.
    pub fn white_out(&self, directory: &Rc<dyn Inode>, name: &[u8]) -> SysResult<()> {
        let ready = self.fresh_name();
        marks::add_whiteout(self.names()?, &ready)?;
        let there = directory.directory().ok_or(Errno::ENOTDIR)?.lookup(name);
        match there {
            Ok(there) if there.kind() == FileKind::Directory => {
                self.names()?.rename(&ready, directory, name, RenameMode::Exchange)?;
                empty(&there)?;
                self.names()?.rmdir(&ready)
            }
            _ => self.names()?.rename(&ready, directory, name, RenameMode::Replace),
        }
    }

    /// Removes the folder, at the end of a run.
    pub fn remove(&self) {
        if let (Some(folder), Some(names)) = (self.folder.get(), self.top.directory()) {
            // What cannot be removed is emptied by the next run.
            let _ = empty(folder);
            let _ = names.rmdir(NAME);
        }
    }
}

/// Removes everything in a directory, in a loop.
fn empty(directory: &Rc<dyn Inode>) -> SysResult<()> {
    // A directory is seen twice: first to find what is in it, then, empty, to be removed.
    let mut pending = vec![(Rc::clone(directory), None::<Vec<u8>>)];
    while let Some((at, emptied)) = pending.pop() {
        let names = at.directory().ok_or(Errno::ENOTDIR)?;
        if let Some(name) = emptied {
            names.rmdir(&name)?;
            continue;
        }
        let mut found = Vec::new();
        names.list(0, &mut |entry| {
            found.push((entry.name.to_vec(), entry.kind));
            true
        })?;
        for (name, kind) in found {
            if kind == FileKind::Directory {
                let child = names.lookup(&name)?;
                pending.push((Rc::clone(&at), Some(name)));
                pending.push((child, None));
            } else {
                names.unlink(&name)?;
            }
        }
    }
    Ok(())
}
