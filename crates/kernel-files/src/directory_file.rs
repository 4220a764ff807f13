//! Open directories.

use std::any::Any;
use std::rc::Rc;

use linux_abi::{Errno, SysResult};

use crate::ahead;
use crate::inode::{DirEntry, Inode, OpenGuard};
use crate::listings::{self, Listing};
use crate::metadata::FileKind;
use crate::open_file::{FileOps, OpenFile};

/// An open directory. Its position is that of `getdents`.
pub struct DirectoryFile {
    inode: Rc<dyn Inode>,
    _guard: OpenGuard,
}

/// The positions after `.` and `..`.
const AFTER_DOT: u64 = 1;
pub(crate) const AFTER_DOT_DOT: u64 = 2;

/// Room that is made ready for entries.
const USUAL_ROOM: usize = 4 << 10;

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
        let mut visit_and_move = |entry: &DirEntry<'_>| {
            let has_room = visit(entry);
            if has_room {
                file.set_offset(entry.next);
            }
            has_room
        };
        if self.list_dots(file, &mut visit_and_move)? {
            directory.list(file.offset(), &mut visit_and_move)?;
            file.touch_accessed(&*self.inode);
        }
        Ok(())
    }

    /// The entries from the position on, in the form of `getdents64` and in so many bytes at most;
    /// moves the position. `EINVAL` if there is no room for the first one.
    pub fn list_packed(&self, file: &OpenFile, room: usize) -> SysResult<Vec<u8>> {
        let bytes = Vec::with_capacity(room.min(USUAL_ROOM));
        let mut packed = Packed { bytes, room, is_full: false, has_directories: false };
        let is_first = file.offset() == 0;
        if self.list_dots(file, &mut |entry| packed.add(file, entry))? {
            let before = packed.bytes.len();
            packed.has_directories = false;
            self.list_names(file, &mut packed)?;
            file.touch_accessed(&*self.inode);
            if is_first && let Some(location) = file.location() {
                let names = packed.bytes.get(before..).filter(|_| packed.has_directories);
                ahead::directories::listed(&location.dentry, names.unwrap_or_default());
            }
        }
        let Packed { bytes, is_full, .. } = packed;
        if bytes.is_empty() && is_full { Err(Errno::EINVAL) } else { Ok(bytes) }
    }

    /// Adds the entries after `.` and `..`: those that are known to be there still, or what the
    /// directory says now.
    fn list_names(&self, file: &OpenFile, packed: &mut Packed) -> SysResult<()> {
        let directory = self.inode.directory().ok_or(Errno::ENOTDIR)?;
        let is_start = file.offset() == AFTER_DOT_DOT;
        let version = if is_start { directory.version() } else { None };
        if let Some(version) = version
            && let Some(known) = listings::find(&*self.inode, version)
            && packed.bytes.len() + known.bytes.len() <= packed.room
        {
            packed.bytes.extend_from_slice(&known.bytes);
            packed.has_directories = known.has_directories;
            file.set_offset(known.end);
            return Ok(());
        }
        let before = packed.bytes.len();
        directory.list(file.offset(), &mut |entry| packed.add(file, entry))?;
        if let (Some(version), false, Some(names)) =
            (version, packed.is_full, packed.bytes.get(before..))
        {
            let bytes = Box::from(names);
            let has_directories = packed.has_directories;
            let listing = Listing { bytes, end: file.offset(), has_directories, version };
            listings::keep(&*self.inode, listing);
        }
        Ok(())
    }

    /// Shows `.` and `..`, if the position is before them. Returns whether there was room.
    fn list_dots(
        &self,
        file: &OpenFile,
        visit_and_move: &mut dyn FnMut(&DirEntry<'_>) -> bool,
    ) -> SysResult<bool> {
        let location = file.location().ok_or(Errno::ENOTDIR)?;
        if location.dentry.is_unlinked() {
            return Err(Errno::ENOENT);
        }
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
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Entries for somebody who has so much room.
struct Packed {
    bytes: Vec<u8>,
    room: usize,
    is_full: bool,
    has_directories: bool,
}

impl Packed {
    /// Adds an entry and moves the position behind it, if there is room.
    fn add(&mut self, file: &OpenFile, entry: &DirEntry<'_>) -> bool {
        self.is_full = self.bytes.len() + listings::packed_length(entry.name) > self.room;
        if !self.is_full {
            listings::pack(&mut self.bytes, entry);
            self.has_directories |= entry.kind == FileKind::Directory;
            file.set_offset(entry.next);
        }
        !self.is_full
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
