//! Commands about descriptors and status flags.

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_events::pipe::PipeEnd;
use kernel_files::OpenFile;
use kernel_files::permission::is_owner;
use kernel_tasks::Thread;
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, Fd, SysResult};

use super::super::async_signal::flags_changed;
use crate::handler::FromRegister;

/// `F_DUPFD`, `F_DUPFD_CLOEXEC`.
pub(super) fn duplicate(
    thread: &Thread,
    file: &Rc<OpenFile>,
    lowest: u64,
    close_on_exec: bool,
) -> SysResult<u64> {
    let limit = thread.descriptor_limit();
    let lowest = u32::try_from(lowest).ok().filter(|&lowest| lowest < limit);
    let lowest = lowest.ok_or(Errno::EINVAL)?;
    let files = thread.files();
    let fd = files.borrow_mut().add(Rc::clone(file), lowest, limit, close_on_exec)?;
    u64::try_from(fd.0).map_err(|_| Errno::EMFILE)
}

/// `F_DUPFD_QUERY`: whether another descriptor names the same open file.
pub(super) fn is_same(thread: &Thread, file: &Rc<OpenFile>, other: u64) -> SysResult<u64> {
    let other = thread.file(Fd::from_register(other))?;
    Ok(Rc::ptr_eq(file, &other).into())
}

/// `F_SETFL`.
pub(super) fn set_flags(thread: &Thread, fd: Fd, file: &OpenFile, argument: u64) -> SysResult<u64> {
    let changeable = OpenFlags::APPEND
        | OpenFlags::NONBLOCK
        | OpenFlags::ASYNC
        | OpenFlags::DIRECT
        | OpenFlags::NOATIME;
    let wanted = OpenFlags::from_bits_truncate(u32::from_register(argument)) & changeable;
    let old = file.flags();
    if wanted.contains(OpenFlags::NOATIME)
        && !old.contains(OpenFlags::NOATIME)
        && let Some(inode) = file.inode()
        && !is_owner(inode.ownership()?, &thread.credentials())
    {
        return Err(Errno::EPERM);
    }
    let new = old.difference(changeable) | wanted;
    file.ops().check_flags(new)?;
    file.set_flags(new);
    flags_changed(thread, file, fd, old);
    Ok(0)
}

/// `F_SETPIPE_SZ`.
pub(super) fn set_pipe_size(thread: &Thread, file: &OpenFile, argument: u64) -> SysResult<u64> {
    let pipe = file.ops_as::<PipeEnd>().ok_or(Errno::EBADF)?;
    let is_privileged = thread.credentials().has(cap::SYS_RESOURCE);
    let wanted = u32::try_from(argument).map_err(|_| Errno::EINVAL)?;
    Ok(pipe.pipe().set_size(wanted, is_privileged)? as u64)
}
