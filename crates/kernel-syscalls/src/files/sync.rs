//! `sync(2)`, `syncfs(2)`, `fsync(2)`, `fdatasync(2)`, `sync_file_range(2)`, and hints:
//! `fadvise64(2)`, `readahead(2)`.

use std::rc::Rc;

use host_sys::SyncWhat;
use kernel_core::disk::sync_now;
use kernel_files::{FileKind, Inode, OpenFile};
use kernel_tasks::Thread;
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, Fd, SysResult, WaitResult};

use super::caller::real_file;
use super::transfer::RwFlags;

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
pub(crate) async fn fsync(thread: Rc<Thread>, fd: Fd) -> WaitResult<()> {
    sync_file(&thread, fd, SyncWhat::All).await
}

/// Brings the data of a file to where it lasts.
pub(crate) async fn fdatasync(thread: Rc<Thread>, fd: Fd) -> WaitResult<()> {
    sync_file(&thread, fd, SyncWhat::Data).await
}

async fn sync_file(thread: &Thread, fd: Fd, what: SyncWhat) -> WaitResult<()> {
    let file = real_file(thread, fd)?;
    // Pipes, sockets and their like have nothing to bring anywhere, and Linux says so.
    let inode = file.inode().ok_or(Errno::EINVAL)?;
    match inode.kind() {
        FileKind::Regular | FileKind::Directory => Ok(sync_inode(thread, &**inode, what).await?),
        _ => Err(Errno::EINVAL.into()),
    }
}

/// Waits until a file is where it lasts, while others go on.
pub(super) async fn sync_inode(
    thread: &Thread,
    inode: &dyn Inode,
    what: SyncWhat,
) -> SysResult<()> {
    match inode.on_disk()? {
        // Nobody else is there to go on, and asking takes longer than waiting.
        Some(host) if !thread.machine().others_run() => sync_now(host),
        Some(host) => thread.kernel().disk.sync(&host, what).await,
        None => Ok(()),
    }
}

/// Brings what was written to where it lasts, if the file or the call wants that of every write.
pub(super) async fn sync_written(thread: &Thread, file: &OpenFile, call: RwFlags) -> SysResult<()> {
    let always = file.flags();
    if !always.contains(OpenFlags::DSYNC) && !call.intersects(RwFlags::DSYNC | RwFlags::SYNC) {
        return Ok(());
    }
    let Some(inode) = file.inode().filter(|inode| inode.kind() == FileKind::Regular) else {
        return Ok(());
    };
    let is_all = always.contains(OpenFlags::SYNC) || call.contains(RwFlags::SYNC);
    sync_inode(thread, &**inode, if is_all { SyncWhat::All } else { SyncWhat::Data }).await
}

/// Brings a range of a file to where it lasts.
pub(crate) async fn sync_file_range(
    thread: Rc<Thread>,
    fd: Fd,
    offset: i64,
    length: i64,
    flags: u32,
) -> WaitResult<()> {
    let file = real_file(&thread, fd)?;
    if flags & !7 != 0 || offset < 0 || length < 0 || offset.checked_add(length).is_none() {
        return Err(Errno::EINVAL.into());
    }
    let inode = file.inode().ok_or(Errno::ESPIPE)?;
    match inode.kind() {
        FileKind::Regular | FileKind::Directory | FileKind::Symlink | FileKind::BlockDevice => {}
        _ => return Err(Errno::ESPIPE.into()),
    }
    if flags == 0 {
        return Ok(());
    }
    Ok(sync_inode(&thread, &**inode, SyncWhat::Data).await?)
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
