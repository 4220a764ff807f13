//! The only places where a host file is opened.

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use host_sys::{errno_of, rustix};
use linux_abi::{Errno, SysResult};
use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::shared;

/// Opens the folder that a mount shows. The path comes from the operator, not from a guest.
pub fn open_root(path: &Path) -> SysResult<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map_err(errno_of)
}

/// Holds what a path leads to, a folder or a file. The path comes from the operator, not from a
/// guest.
pub fn hold(path: &Path) -> SysResult<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map_err(errno_of)
}

/// The path that something held has now. By the time that it is used, something else may have it.
pub fn path_of(held: &impl AsFd) -> SysResult<PathBuf> {
    let path = rustix::fs::readlink(itself(held), Vec::new()).map_err(errno_of)?;
    Ok(OsString::from_vec(path.into_bytes()).into())
}

/// A path that means what is held, for as long as it is held.
pub fn itself(held: &impl AsFd) -> PathBuf {
    format!("/proc/self/fd/{}", held.as_fd().as_raw_fd()).into()
}

/// `EINVAL` unless `name` is one name: not empty, no slash, not `.` and not `..`.
pub fn check_name(name: &[u8]) -> SysResult<()> {
    let is_one_name = !name.is_empty() && name != b"." && name != b".." && !name.contains(&b'/');
    if is_one_name { Ok(()) } else { Err(Errno::EINVAL) }
}

/// Opens `name` in `directory`. Never follows a link, never leaves `directory`, never waits and
/// never becomes anybody's terminal.
pub fn open_in(
    directory: &impl AsFd,
    name: &[u8],
    flags: OFlags,
    mode: Mode,
) -> SysResult<OwnedFd> {
    check_name(name)?;
    let mut flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if !flags.contains(OFlags::PATH) {
        flags |= OFlags::NONBLOCK | OFlags::NOCTTY;
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    // With O_PATH and NOFOLLOW the last component may be a link: it is opened itself.
    let resolve = if flags.contains(OFlags::PATH) {
        resolve.difference(ResolveFlags::NO_SYMLINKS)
    } else {
        resolve
    };
    // A host without this call is refused before the start.
    with_a_free_number(|| {
        rustix::fs::openat2(directory, name, flags, mode, resolve).map_err(errno_of)
    })
}

/// Opens something, and if we have too many open files, once more without those that are open only
/// because they may be needed again.
fn with_a_free_number(open: impl Fn() -> SysResult<OwnedFd>) -> SysResult<OwnedFd> {
    match open() {
        Err(Errno::ENFILE) => {
            shared::close_unused();
            open()
        }
        result => result,
    }
}

/// Opens a directory, of which there is a handle, for listing or synchronizing.
/// Needs the right to search it.
pub fn open_for_listing(directory: &impl AsFd) -> SysResult<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    with_a_free_number(|| {
        rustix::fs::openat(directory, ".", flags, Mode::empty()).map_err(errno_of)
    })
}
