//! Calls that make, remove and change names.
//!
//! `mkdir`, `mknod`, `symlink`, `link`, `unlink`, `rmdir`, `rename` and their `at` forms.

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_core::memory::{CString, PATH_MAX, UserPtr};
use kernel_files::inode::NewKind;
use kernel_files::metadata::DeviceNumber;
use kernel_files::operations::{self, RenameFlags};
use kernel_files::walk::LastLink;
use kernel_tasks::Thread;
use linux_abi::files::{at, mode};
use linux_abi::{Errno, Fd, SysResult};

use super::caller::{Caller, HERE, check_flags, read_path};

/// Makes a directory.
pub(crate) fn mkdir(thread: &Rc<Thread>, path: UserPtr<CString>, bits: u32) -> SysResult<()> {
    mkdirat(thread, HERE, path, bits)
}

/// Makes a directory, named relative to another.
pub(crate) fn mkdirat(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    bits: u32,
) -> SysResult<()> {
    make(thread, directory, path, NewKind::Directory, bits)
}

fn make(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    kind: NewKind<'_>,
    bits: u32,
) -> SysResult<()> {
    let path = read_path(thread, path)?;
    let caller = Caller::new(thread);
    let start = caller.start(directory, &path)?;
    operations::create(&caller.access(), &start, &path, kind, bits)?;
    Ok(())
}

/// Makes a file, a FIFO, a device node or a socket.
pub(crate) fn mknod(
    thread: &Rc<Thread>,
    path: UserPtr<CString>,
    bits: u32,
    device: u32,
) -> SysResult<()> {
    mknodat(thread, HERE, path, bits, device)
}

/// Like [`mknod`], named relative to a directory.
pub(crate) fn mknodat(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    bits: u32,
    device: u32,
) -> SysResult<()> {
    let number = DeviceNumber::decode(device.into());
    let kind = match bits & mode::KIND {
        0 | mode::REGULAR => NewKind::Regular,
        mode::FIFO => NewKind::Fifo,
        mode::SOCKET => NewKind::Socket,
        mode::CHARACTER_DEVICE => NewKind::CharacterDevice(number),
        mode::BLOCK_DEVICE => NewKind::BlockDevice(number),
        mode::DIRECTORY => return Err(Errno::EPERM),
        _ => return Err(Errno::EINVAL),
    };
    let is_device = matches!(kind, NewKind::CharacterDevice(_) | NewKind::BlockDevice(_));
    let is_whiteout = kind == NewKind::CharacterDevice(DeviceNumber::default());
    if is_device && !is_whiteout && !thread.credentials().has(cap::MKNOD) {
        return Err(Errno::EPERM);
    }
    make(thread, directory, path, kind, bits)
}

/// Makes a symbolic link.
pub(crate) fn symlink(
    thread: &Rc<Thread>,
    target: UserPtr<CString>,
    path: UserPtr<CString>,
) -> SysResult<()> {
    symlinkat(thread, target, HERE, path)
}

/// Makes a symbolic link, named relative to a directory.
pub(crate) fn symlinkat(
    thread: &Rc<Thread>,
    target: UserPtr<CString>,
    directory: Fd,
    path: UserPtr<CString>,
) -> SysResult<()> {
    let target = target.read_string(&thread.memory(), PATH_MAX)?;
    if target.is_empty() {
        return Err(Errno::ENOENT);
    }
    make(thread, directory, path, NewKind::Symlink(&target), 0o777)
}

/// Gives a file one more name.
pub(crate) fn link(
    thread: &Rc<Thread>,
    old: UserPtr<CString>,
    new: UserPtr<CString>,
) -> SysResult<()> {
    linkat(thread, HERE, old, HERE, new, 0)
}

/// Gives a file one more name; both names are relative to directories.
pub(crate) fn linkat(
    thread: &Rc<Thread>,
    old_directory: Fd,
    old: UserPtr<CString>,
    new_directory: Fd,
    new: UserPtr<CString>,
    flags: u32,
) -> SysResult<()> {
    check_flags(flags, at::SYMLINK_FOLLOW | at::EMPTY_PATH)?;
    let old = read_path(thread, old)?;
    let new = read_path(thread, new)?;
    let caller = Caller::new(thread);
    if flags & at::EMPTY_PATH != 0
        && old.is_empty()
        && !caller.credentials.has(cap::DAC_READ_SEARCH)
    {
        return Err(Errno::ENOENT);
    }
    let last_link = if flags & at::SYMLINK_FOLLOW != 0 { LastLink::Follow } else { LastLink::Keep };
    let target = caller.find(old_directory, &old, flags, last_link)?;
    let start = caller.start(new_directory, &new)?;
    operations::link(&caller.access(), &target, &start, &new)
}

/// Removes a name.
pub(crate) fn unlink(thread: &Rc<Thread>, path: UserPtr<CString>) -> SysResult<()> {
    unlinkat(thread, HERE, path, 0)
}

/// Removes an empty directory.
pub(crate) fn rmdir(thread: &Rc<Thread>, path: UserPtr<CString>) -> SysResult<()> {
    unlinkat(thread, HERE, path, at::REMOVEDIR)
}

/// Removes a name or, with `AT_REMOVEDIR`, an empty directory.
pub(crate) fn unlinkat(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    flags: u32,
) -> SysResult<()> {
    check_flags(flags, at::REMOVEDIR)?;
    let path = read_path(thread, path)?;
    let caller = Caller::new(thread);
    let start = caller.start(directory, &path)?;
    if flags & at::REMOVEDIR != 0 {
        operations::rmdir(&caller.access(), &start, &path)
    } else {
        operations::unlink(&caller.access(), &start, &path)
    }
}

/// Gives a file another name.
pub(crate) fn rename(
    thread: &Rc<Thread>,
    old: UserPtr<CString>,
    new: UserPtr<CString>,
) -> SysResult<()> {
    renameat2(thread, HERE, old, HERE, new, 0)
}

/// Gives a file another name; both names are relative to directories.
pub(crate) fn renameat(
    thread: &Rc<Thread>,
    old_directory: Fd,
    old: UserPtr<CString>,
    new_directory: Fd,
    new: UserPtr<CString>,
) -> SysResult<()> {
    renameat2(thread, old_directory, old, new_directory, new, 0)
}

/// Like [`renameat`], with flags.
pub(crate) fn renameat2(
    thread: &Rc<Thread>,
    old_directory: Fd,
    old: UserPtr<CString>,
    new_directory: Fd,
    new: UserPtr<CString>,
    flags: u32,
) -> SysResult<()> {
    let flags = RenameFlags::from_bits(flags).ok_or(Errno::EINVAL)?;
    let exclusive = RenameFlags::NO_REPLACE | RenameFlags::WHITEOUT;
    if flags.contains(RenameFlags::EXCHANGE) && flags.intersects(exclusive) {
        return Err(Errno::EINVAL);
    }
    if flags.contains(RenameFlags::WHITEOUT) && !thread.credentials().has(cap::MKNOD) {
        return Err(Errno::EPERM);
    }
    let old = read_path(thread, old)?;
    let new = read_path(thread, new)?;
    let caller = Caller::new(thread);
    let old_start = caller.start(old_directory, &old)?;
    let new_start = caller.start(new_directory, &new)?;
    operations::rename(&caller.access(), (&old_start, &old), (&new_start, &new), flags)
}
