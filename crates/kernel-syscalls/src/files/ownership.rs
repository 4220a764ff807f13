//! `chmod`, `chown` and their relatives, `umask`.

use std::rc::Rc;

use kernel_core::credentials::Credentials;
use kernel_core::memory::{CString, UserPtr};
use kernel_files::Location;
use kernel_files::anonymous::location_of;
use kernel_files::operations::{change_mode, change_owner};
use kernel_tasks::Thread;
use linux_abi::files::at;
use linux_abi::{Errno, Fd, SysResult};

use super::caller::{Caller, HERE, check_flags, last_link, read_path, real_file};

/// Sets the bits that new files do not get. Returns the old ones.
pub(crate) fn umask(thread: &Rc<Thread>, mask: u32) -> SysResult<u32> {
    Ok(thread.fs().set_umask(mask))
}

/// Changes the permissions of a file.
pub(crate) fn chmod(thread: &Rc<Thread>, path: UserPtr<CString>, bits: u32) -> SysResult<()> {
    fchmodat2(thread, HERE, path, bits, 0)
}

/// Changes the permissions of an open file.
pub(crate) fn fchmod(thread: &Rc<Thread>, fd: Fd, bits: u32) -> SysResult<()> {
    let file = real_file(thread, fd)?;
    change_mode(&location_of(&file), &thread.credentials(), bits)
}

/// Changes the permissions of a file, named relative to a directory.
pub(crate) fn fchmodat(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    bits: u32,
) -> SysResult<()> {
    fchmodat2(thread, directory, path, bits, 0)
}

/// Like [`fchmodat`], with flags.
pub(crate) fn fchmodat2(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    bits: u32,
    flags: u32,
) -> SysResult<()> {
    check_flags(flags, at::SYMLINK_NOFOLLOW | at::EMPTY_PATH)?;
    let location = find(thread, directory, path, flags)?;
    if location.inode()?.kind() == kernel_files::FileKind::Symlink {
        return Err(Errno::EOPNOTSUPP);
    }
    change_mode(&location, &thread.credentials(), bits)
}

fn find(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    flags: u32,
) -> SysResult<Location> {
    let path = read_path(thread, path)?;
    Caller::new(thread).find(directory, &path, flags, last_link(flags))
}

/// Changes the owner of a file.
pub(crate) fn chown(
    thread: &Rc<Thread>,
    path: UserPtr<CString>,
    uid: u32,
    gid: u32,
) -> SysResult<()> {
    fchownat(thread, HERE, path, uid, gid, 0)
}

/// Changes the owner of a file, or of a link.
pub(crate) fn lchown(
    thread: &Rc<Thread>,
    path: UserPtr<CString>,
    uid: u32,
    gid: u32,
) -> SysResult<()> {
    fchownat(thread, HERE, path, uid, gid, at::SYMLINK_NOFOLLOW)
}

/// Changes the owner of an open file.
pub(crate) fn fchown(thread: &Rc<Thread>, fd: Fd, uid: u32, gid: u32) -> SysResult<()> {
    let file = real_file(thread, fd)?;
    let who = thread.credentials();
    let (uid, gid) = owner(&who, uid, gid)?;
    change_owner(&location_of(&file), &who, uid, gid)
}

/// Changes the owner of a file, named relative to a directory.
pub(crate) fn fchownat(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    uid: u32,
    gid: u32,
    flags: u32,
) -> SysResult<()> {
    check_flags(flags, at::SYMLINK_NOFOLLOW | at::EMPTY_PATH)?;
    let location = find(thread, directory, path, flags)?;
    let who = thread.credentials();
    let (uid, gid) = owner(&who, uid, gid)?;
    change_owner(&location, &who, uid, gid)
}

/// The owner and group that the guest means; -1 leaves one as it is.
fn owner(who: &Credentials, uid: u32, gid: u32) -> SysResult<(Option<u32>, Option<u32>)> {
    let namespace = &who.user_namespace;
    let given = |id: u32| id != u32::MAX;
    let user = namespace.kernel_uid(uid).filter(|_| given(uid));
    let group = namespace.kernel_gid(gid).filter(|_| given(gid));
    if given(uid) && user.is_none() || given(gid) && group.is_none() {
        return Err(Errno::EINVAL);
    }
    Ok((user, group))
}
