//! Open directories.

use std::any::Any;
use std::rc::Rc;

use linux_abi::{Errno, SysResult};

use crate::inode::{DirEntry, Inode, OpenGuard};
use crate::metadata::FileKind;
use crate::open_file::{FileOps, OpenFile};

/// An open directory. Its position is that of `getdents`.
pub struct DirectoryFile {
    inode: Rc<dyn Inode>,
    _guard: OpenGuard,
}

/// The positions after `.` and `..`.
const AFTER_DOT: u64 = 1;
const AFTER_DOT_DOT: u64 = 2;

impl DirectoryFile {
    /// An open file on `inode`, which is a directory and gave `guard` for it.
    pub fn new(inode: Rc<dyn Inode>, guard: OpenGuard) -> Self {
        Self { inode, _guard: guard }
    }

    /// Shows the entries from the position on, until `visit` has no room, and moves the position.
    pub fn list(
        &self,
        file: &OpenFile,
        visit: &mut dyn FnMut(&DirEntry<'_>) -> bool,
    ) -> SysResult<()> {
        let directory = self.inode.directory().ok_or(Errno::ENOTDIR)?;
        let location = file.location().ok_or(Errno::ENOTDIR)?;
        if location.dentry.is_unlinked() {
            return Err(Errno::ENOENT);
        }
        let mut visit_and_move = |entry: &DirEntry<'_>| {
            let has_room = visit(entry);
            if has_room {
                file.set_offset(entry.next);
            }
            has_room
        };
        for (name, next) in [(&b"."[..], AFTER_DOT), (b"..", AFTER_DOT_DOT)] {
            if file.offset() >= next {
                continue;
            }
            let up = location.dentry.parent();
            let inode = match (next, &up) {
                (AFTER_DOT_DOT, Some(parent)) => parent.inode()?.number()?,
                _ => self.inode.number()?,
            };
            if !visit_and_move(&DirEntry { name, inode, kind: FileKind::Directory, next }) {
                return Ok(());
            }
        }
        directory.list(file.offset(), &mut visit_and_move)?;
        file.touch_accessed(&*self.inode);
        Ok(())
    }
}

impl FileOps for DirectoryFile {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn inode(&self) -> Option<&Rc<dyn Inode>> {
        Some(&self.inode)
    }

    fn is_seekable(&self) -> bool {
        true
    }

    /// As the larger file systems have it: behind every position of an entry.
    fn end_to_seek_from(&self, _file: &OpenFile) -> SysResult<u64> {
        Ok(i64::MAX.cast_unsigned())
    }

    fn read(
        &self,
        _file: &OpenFile,
        _sink: &mut dyn kernel_core::io::Sink,
        _offset: u64,
    ) -> SysResult<usize> {
        Err(Errno::EISDIR)
    }
}
