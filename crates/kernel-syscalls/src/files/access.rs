//! `access(2)`, `faccessat(2)`, `faccessat2(2)`.
//!
//! The question is asked for the real user, not the effective one, unless `AT_EACCESS` is given.

use std::rc::Rc;

use kernel_core::credentials::Credentials;
use kernel_core::memory::{CString, UserPtr};
use kernel_core::supervisor::Right;
use kernel_files::permission::{Want, check};
use kernel_files::{FileKind, Location, observed};
use kernel_tasks::Thread;
use linux_abi::files::{MountFlags, at};
use linux_abi::{Errno, Fd, SysResult};

use super::caller::{Caller, HERE, check_flags, last_link, read_path};

/// Asks what the caller may do with a path.
pub(crate) fn access(thread: &Rc<Thread>, path: UserPtr<CString>, wanted: u32) -> SysResult<()> {
    faccessat2(thread, HERE, path, wanted, 0)
}

/// Asks what the caller may do with a path relative to a directory.
pub(crate) fn faccessat(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    wanted: u32,
) -> SysResult<()> {
    faccessat2(thread, directory, path, wanted, 0)
}

/// Like [`faccessat`], with flags.
pub(crate) fn faccessat2(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    wanted: u32,
    flags: u32,
) -> SysResult<()> {
    let want = Want::from_bits(wanted).ok_or(Errno::EINVAL)?;
    check_flags(flags, at::EACCESS | at::SYMLINK_NOFOLLOW | at::EMPTY_PATH)?;
    let path = read_path(thread, path)?;
    let mut caller = Caller::new(thread);
    if flags & at::EACCESS == 0 {
        caller.credentials = Rc::new(as_real_user(&caller.credentials));
    }
    let location = caller.find(directory, &path, flags, last_link(flags))?;
    check_location(&location, &caller.credentials, want)?;
    caller.fs.special().check_use(thread, &**location.inode()?, want)
}

fn check_location(location: &Location, credentials: &Credentials, want: Want) -> SysResult<()> {
    let inode = location.inode()?;
    let is_regular = inode.kind() == FileKind::Regular;
    if want.contains(Want::EXECUTE)
        && is_regular
        && location.mount.flags().contains(MountFlags::NO_EXEC)
    {
        return Err(Errno::EACCES);
    }
    check(&**inode, credentials, want)?;
    let is_stored =
        matches!(inode.kind(), FileKind::Regular | FileKind::Directory | FileKind::Symlink);
    if want.contains(Want::WRITE) && is_stored {
        location.check_writable()?;
    }
    observed::ask(location, &rights(want))
}

/// What the rules of a sandbox are asked about.
fn rights(want: Want) -> Vec<Right> {
    let all = [(Want::READ, Right::Read), (Want::WRITE, Right::Write), (Want::EXECUTE, Right::Run)];
    all.into_iter().filter(|(bit, _)| want.contains(*bit)).map(|(_, right)| right).collect()
}

/// The credentials with the real ids in force. A real user other than root has no capabilities,
/// root has all that it may have.
fn as_real_user(credentials: &Credentials) -> Credentials {
    let mut real = credentials.clone();
    real.fsuid = credentials.uid;
    real.fsgid = credentials.gid;
    real.effective =
        if Some(credentials.uid) == credentials.root_uid() { credentials.permitted } else { 0 };
    real
}
