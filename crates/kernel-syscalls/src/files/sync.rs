//! `sync(2)`, `syncfs(2)`, `fsync(2)`, `fdatasync(2)`, `sync_file_range(2)`, and hints:
//! `fadvise64(2)`, `readahead(2)`.

use std::rc::Rc;

use kernel_files::FileKind;
use kernel_tasks::Thread;
use linux_abi::{Errno, Fd, SysResult};

use super::caller::real_file;

/// Brings everything to where it lasts. Never fails.
pub(crate) fn sync(thread: &Rc<Thread>) -> SysResult<()> {
    for mount in thread.fs().namespace().all() {
        let _ = mount.file_system.sync();
    }
    Ok(())
}

/// Brings the file system of an open file to where it lasts.
pub(crate) fn syncfs(thread: &Rc<Thread>, fd: Fd) -> SysResult<()> {
    let file = real_file(thread, fd)?;
    file.location().map_or(Ok(()), |location| location.mount.file_system.sync())
}

/// Brings a file, with its metadata, to where it lasts.
pub(crate) fn fsync(thread: &Rc<Thread>, fd: Fd) -> SysResult<()> {
    sync_file(thread, fd, false)
}

/// Brings the data of a file to where it lasts.
pub(crate) fn fdatasync(thread: &Rc<Thread>, fd: Fd) -> SysResult<()> {
    sync_file(thread, fd, true)
}

fn sync_file(thread: &Thread, fd: Fd, data_only: bool) -> SysResult<()> {
    let file = real_file(thread, fd)?;
    // Pipes, sockets and their like have nothing to bring anywhere, and Linux says so.
    let inode = file.inode().ok_or(Errno::EINVAL)?;
    match inode.kind() {
        FileKind::Regular => inode.content().map_or(Ok(()), |content| content.sync(data_only)),
        FileKind::Directory => {
            file.location().map_or(Ok(()), |location| location.mount.file_system.sync())
        }
        _ => Err(Errno::EINVAL),
    }
}

/// Brings a range of a file to where it lasts.
pub(crate) fn sync_file_range(
    thread: &Rc<Thread>,
    fd: Fd,
    offset: i64,
    length: i64,
    flags: u32,
) -> SysResult<()> {
    let file = real_file(thread, fd)?;
    if flags & !7 != 0 || offset < 0 || length < 0 || offset.checked_add(length).is_none() {
        return Err(Errno::EINVAL);
    }
    let inode = file.inode().ok_or(Errno::ESPIPE)?;
    match inode.kind() {
        FileKind::Regular | FileKind::Directory | FileKind::Symlink | FileKind::BlockDevice => {}
        _ => return Err(Errno::ESPIPE),
    }
    if flags == 0 {
        return Ok(());
    }
    inode.content().map_or(Ok(()), |content| content.sync(true))
}

/// Takes advice about how a file will be read, and does without.
pub(crate) fn fadvise64(
    thread: &Rc<Thread>,
    fd: Fd,
    _offset: i64,
    length: i64,
    advice: u32,
) -> SysResult<()> {
    let file = real_file(thread, fd)?;
    if file.inode().is_none_or(|inode| inode.kind() == FileKind::Fifo) {
        return Err(Errno::ESPIPE);
    }
    if length < 0 || advice > 5 { Err(Errno::EINVAL) } else { Ok(()) }
}

/// Would read ahead; the host does so by itself.
pub(crate) fn readahead(thread: &Rc<Thread>, fd: Fd, _offset: i64, _count: usize) -> SysResult<()> {
    let file = real_file(thread, fd)?;
    if !file.flags().can_read() {
        return Err(Errno::EBADF);
    }
    let is_regular = file.inode().is_some_and(|inode| inode.kind() == FileKind::Regular);
    if is_regular { Ok(()) } else { Err(Errno::EINVAL) }
}
