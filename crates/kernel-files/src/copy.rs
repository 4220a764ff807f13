//! Copies files from one file system to another, with everything but their names.

use kernel_core::io::{SliceSource, VecSink};
use linux_abi::files::mode;
use linux_abi::{Errno, SysResult};

use crate::inode::{Content, Extent, Inode, NewInode, NewKind, WriteAt, XattrMode};
use crate::metadata::{AttributeChange, FileKind, Metadata};

/// How much is copied at a time.
const PIECE: u64 = 1 << 20;

/// Whether the bytes of a file are copied too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Data {
    /// They are.
    Copy,
    /// The file is about to be emptied.
    Leave,
}

/// A new file with the kind, the mode and the owner of another; `link` is what it says if it is a
/// symbolic link.
pub(crate) fn new_like<'a>(metadata: &Metadata, link: &'a [u8]) -> SysResult<NewInode<'a>> {
    Ok(NewInode {
        kind: new_kind(metadata, link)?,
        mode: metadata.mode & mode::CHANGEABLE,
        uid: metadata.uid,
        gid: metadata.gid,
    })
}

/// What a symbolic link says; empty for other files.
pub(crate) fn link_of(inode: &dyn Inode) -> SysResult<Vec<u8>> {
    if inode.kind() == FileKind::Symlink { inode.read_link() } else { Ok(Vec::new()) }
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

/// The times of a file, to be given to another.
pub(crate) fn times_of(metadata: &Metadata) -> AttributeChange {
    AttributeChange {
        accessed: Some(metadata.accessed),
        modified: Some(metadata.modified),
        ..Default::default()
    }
}

/// Copies everything of a file but its name, kind and owner. Extended attributes that `wanted`
/// does not want stay behind.
pub(crate) fn fill(
    from: &dyn Inode,
    to: &dyn Inode,
    metadata: &Metadata,
    data: Data,
    wanted: &dyn Fn(&[u8]) -> bool,
) -> SysResult<()> {
    if let (Some(from), Some(to), Data::Copy) = (from.content(), to.content(), data) {
        copy_data(from, to, metadata.size)?;
    }
    if let (Some(from), Some(to)) = (from.xattrs(), to.xattrs()) {
        for name in from.list().unwrap_or_default() {
            if wanted(&name) {
                to.set(&name, &from.get(&name)?, XattrMode::CreateOrReplace)?;
            }
        }
    }
    to.set_attributes(&times_of(metadata))
}

/// Copies the data, and leaves the holes.
fn copy_data(from: &dyn Content, to: &dyn Content, size: u64) -> SysResult<()> {
    let mut next = Some(0);
    while let Some(offset) = next {
        next = copy_piece(from, to, size, offset)?;
    }
    Ok(())
}

/// Copies the first data that is to be found from `offset` on. Returns where to go on; nothing if
/// that was all, and the copy has its size.
pub(crate) fn copy_piece(
    from: &dyn Content,
    to: &dyn Content,
    size: u64,
    offset: u64,
) -> SysResult<Option<u64>> {
    let start = if offset < size { from.seek_extent(Extent::Data, offset).ok() } else { None };
    if let Some(start) = start.filter(|start| *start < size) {
        let end = from.seek_extent(Extent::Hole, start).unwrap_or(size).min(size);
        let piece = usize::try_from((end - start).min(PIECE)).unwrap_or(0);
        let mut bytes = VecSink::new(piece);
        if from.read(&mut bytes, start)? > 0 {
            let mut source = SliceSource::new(&bytes.bytes);
            let (n, _) = to.write(&mut source, WriteAt::Offset(start))?;
            if n < bytes.bytes.len() {
                return Err(Errno::ENOSPC);
            }
            return Ok(Some(start + n as u64));
        }
    }
    to.truncate(size)?;
    Ok(None)
}
