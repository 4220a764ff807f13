//! `stat(2)`, `lstat(2)`, `fstat(2)`, `newfstatat(2)`, `statx(2)`.

use std::rc::Rc;

use kernel_core::facts;
use kernel_core::memory::{CString, UserPtr};
use kernel_files::mount::NO_UNIQUE_ID;
use kernel_files::{Metadata, OpenFile};
use kernel_tasks::Thread;
use kernel_tasks::machine::Question;
use linux_abi::files::{Stat, Statx, StatxTimestamp, at, statx_mask};
use linux_abi::time::Timespec;
use linux_abi::{Errno, Fd, SysResult};

use super::caller::{Caller, HERE, check_flags, last_link, read_optional_path, read_path};

/// Says what a path leads to.
pub(crate) fn stat(
    thread: &Rc<Thread>,
    path: UserPtr<CString>,
    buffer: UserPtr<Stat>,
) -> SysResult<()> {
    newfstatat(thread, HERE, path, buffer, 0)
}

/// Says what a path names, even if that is a link.
pub(crate) fn lstat(
    thread: &Rc<Thread>,
    path: UserPtr<CString>,
    buffer: UserPtr<Stat>,
) -> SysResult<()> {
    newfstatat(thread, HERE, path, buffer, at::SYMLINK_NOFOLLOW)
}

/// Says what is open.
pub(crate) fn fstat(thread: &Rc<Thread>, fd: Fd, buffer: UserPtr<Stat>) -> SysResult<()> {
    let file = thread.file(fd)?;
    note(thread, &file, Question::Stat);
    buffer.write(&thread.memory(), &stat_of_open(thread, &file)?)
}

/// Whoever asks about a file before it has read or written anything does so again with the next one.
fn note(thread: &Thread, file: &OpenFile, question: Question) {
    if file.offset() == 0 && file.inode().is_some_and(|inode| inode.content().is_some()) {
        thread.process().asks_about_opened.set(Some(question));
    }
}

/// What `fstat` says of an open file.
pub(super) fn stat_of_open(thread: &Thread, file: &OpenFile) -> SysResult<Stat> {
    Ok(to_stat(&as_seen_by(thread, metadata_of_open(file)?)))
}

/// Says what a path relative to a directory leads to.
pub(crate) fn newfstatat(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    buffer: UserPtr<Stat>,
    flags: u32,
) -> SysResult<()> {
    check_flags(flags, at::SYMLINK_NOFOLLOW | at::NO_AUTOMOUNT | at::EMPTY_PATH)?;
    let metadata = metadata_of(thread, directory, path, flags, Question::Stat)?.0;
    buffer.write(&thread.memory(), &to_stat(&metadata))
}

fn metadata_of_open(file: &OpenFile) -> SysResult<Metadata> {
    facts::answered_from(file.inode().is_some_and(|inode| inode.is_steady()));
    file.metadata()
}

/// The metadata of what is named, and the mount it is seen through.
fn metadata_of(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    flags: u32,
    question: Question,
) -> SysResult<(Metadata, u64)> {
    let may_be_empty = flags & at::EMPTY_PATH != 0;
    let path =
        if may_be_empty { read_optional_path(thread, path)? } else { read_path(thread, path)? };
    if path.is_empty() && may_be_empty && directory != HERE {
        let file = thread.file(directory)?;
        note(thread, &file, question);
        return Ok((as_seen_by(thread, metadata_of_open(&file)?), mount_of(&file)));
    }
    let caller = Caller::new(thread);
    let location = caller.find(directory, &path, flags, last_link(flags))?;
    Ok((as_seen_by(thread, location.inode()?.metadata()?), location.mount.id))
}

/// What `statx` says of an open file.
pub(super) fn statx_of_open(thread: &Thread, file: &OpenFile) -> SysResult<Statx> {
    Ok(to_statx(&as_seen_by(thread, metadata_of_open(file)?), mount_of(file)))
}

/// The number of the mount that an open file is seen through.
fn mount_of(file: &OpenFile) -> u64 {
    file.location().map_or(0, |location| location.mount.id)
}

/// With owner and group as the caller's user namespace counts them.
fn as_seen_by(thread: &Thread, metadata: Metadata) -> Metadata {
    let namespace = &thread.credentials().user_namespace;
    let (uid, gid) = (namespace.shown_uid(metadata.uid), namespace.shown_gid(metadata.gid));
    Metadata { uid, gid, ..metadata }
}

fn to_stat(metadata: &Metadata) -> Stat {
    let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    Stat {
        st_dev: metadata.device.encode(),
        st_ino: metadata.inode,
        st_nlink: metadata.n_links.into(),
        st_mode: metadata.mode,
        st_uid: metadata.uid,
        st_gid: metadata.gid,
        st_rdev: metadata.special.encode(),
        st_size: signed(metadata.size),
        st_blksize: metadata.block_size.into(),
        st_blocks: signed(metadata.n_blocks),
        st_atim: metadata.accessed,
        st_mtim: metadata.modified,
        st_ctim: metadata.changed,
        ..Stat::default()
    }
}

/// Says what a path leads to, in a structure that can grow.
pub(crate) fn statx(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    flags: u32,
    mask: u32,
    buffer: UserPtr<Statx>,
) -> SysResult<()> {
    if mask & statx_mask::RESERVED != 0 || flags & at::STATX_SYNC_TYPE == at::STATX_SYNC_TYPE {
        return Err(Errno::EINVAL);
    }
    let known = at::SYMLINK_NOFOLLOW | at::NO_AUTOMOUNT | at::EMPTY_PATH | at::STATX_SYNC_TYPE;
    check_flags(flags, known)?;
    let (metadata, mount) = metadata_of(thread, directory, path, flags, Question::Statx)?;
    let mut status = to_statx(&metadata, mount);
    if mount != 0 && mask & statx_mask::MNT_ID_UNIQUE != 0 {
        status.stx_mnt_id = NO_UNIQUE_ID + mount;
        status.stx_mask ^= statx_mask::MNT_ID | statx_mask::MNT_ID_UNIQUE;
    }
    buffer.write(&thread.memory(), &status)
}

fn to_statx(metadata: &Metadata, mount: u64) -> Statx {
    let time = |time: Timespec| StatxTimestamp {
        tv_sec: time.tv_sec,
        tv_nsec: u32::try_from(time.tv_nsec).unwrap_or(0),
        reserved: 0,
    };
    let mut mask = statx_mask::BASIC_STATS;
    if metadata.created.is_some() {
        mask |= statx_mask::BTIME;
    }
    if mount != 0 {
        mask |= statx_mask::MNT_ID;
    }
    Statx {
        stx_mask: mask,
        stx_blksize: metadata.block_size,
        stx_nlink: metadata.n_links,
        stx_uid: metadata.uid,
        stx_gid: metadata.gid,
        stx_mode: u16::try_from(metadata.mode & 0xffff).unwrap_or(0),
        stx_ino: metadata.inode,
        stx_size: metadata.size,
        stx_blocks: metadata.n_blocks,
        stx_atime: time(metadata.accessed),
        stx_btime: metadata.created.map(time).unwrap_or_default(),
        stx_ctime: time(metadata.changed),
        stx_mtime: time(metadata.modified),
        stx_rdev_major: metadata.special.major,
        stx_rdev_minor: metadata.special.minor,
        stx_dev_major: metadata.device.major,
        stx_dev_minor: metadata.device.minor,
        stx_mnt_id: mount,
        ..Statx::default()
    }
}
