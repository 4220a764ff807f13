//! Opens one name in a folder: the only place here that opens anything by name.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, Result};

/// The name, if it is one: not empty, no slash, not `.` and not `..`.
pub fn checked(name: &OsStr) -> Result<&OsStr> {
    let bytes = name.as_bytes();
    let is_one = !bytes.is_empty() && bytes != b"." && bytes != b".." && !bytes.contains(&b'/');
    if is_one { Ok(name) } else { Err(Errno::INVAL) }
}

/// Opens a name in a folder. Follows no link, stays beneath the folder, waits for nobody, and
/// becomes nobody's terminal.
pub fn open_name(folder: &impl AsFd, name: &OsStr, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    match open_beneath(folder, name, flags, mode) {
        Err(Errno::NOSYS) => open_without_links(folder, name, flags, mode),
        opened => opened,
    }
}

/// By `openat2(2)`.
pub fn open_beneath(
    folder: &impl AsFd,
    name: &OsStr,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(folder, checked(name)?, strict(flags), mode, resolve)
}

/// By `openat(2)`, for hosts before Linux 5.6. A single name that is no link leads nowhere else.
pub fn open_without_links(
    folder: &impl AsFd,
    name: &OsStr,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd> {
    rustix::fs::openat(folder, checked(name)?, strict(flags), mode)
}

fn strict(flags: OFlags) -> OFlags {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if flags.contains(OFlags::PATH) { flags } else { flags | OFlags::NONBLOCK | OFlags::NOCTTY }
}
