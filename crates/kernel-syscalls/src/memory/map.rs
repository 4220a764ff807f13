//! `mmap(2)` of files, `remap_file_pages(2)`.
//!
//! The kernel decides which file may be mapped and how; the shim maps it.

use std::rc::Rc;

use kernel_files::host_memory::HostMemory;
use kernel_files::{Location, MapRequest, MappedFile};
use kernel_tasks::Thread;
use linux_abi::files::{MountFlags, OpenFlags};
use linux_abi::memory::{MapFlags, Protection};
use linux_abi::{Errno, Fd, Interrupted, Restart, SysResult, WaitResult};

use super::lock::lock_limit;

const PAGE: u64 = 4096;
const SHARED: u32 = MapFlags::SHARED.bits();
const PRIVATE: u32 = MapFlags::PRIVATE.bits();
const VALIDATE: u32 = MapFlags::SHARED_VALIDATE.bits();

/// Maps a file, or memory that processes share, which counts as such a file does. Private memory is the shim's business,
/// which asks whether it may be locked.
pub(crate) async fn mmap(
    thread: Rc<Thread>,
    _address: u64,
    length: u64,
    protection: u32,
    flags: u32,
    fd: Fd,
    offset: u64,
) -> WaitResult<u64> {
    if !offset.is_multiple_of(PAGE) {
        return Err(Errno::EINVAL.into());
    }
    if flags & MapFlags::LOCKED.bits() != 0 {
        check_may_lock(&thread, length)?;
    }
    if flags & MapFlags::ANONYMOUS.bits() != 0 {
        return match flags & MapFlags::TYPE {
            PRIVATE => Ok(0),
            SHARED => map_shared_memory(&thread, length),
            _ => Err(Errno::EINVAL.into()),
        };
    }
    let file = thread.file(fd)?;
    if file.flags().contains(OpenFlags::PATH) {
        return Err(Errno::EBADF.into());
    }
    if length == 0 {
        return Err(Errno::EINVAL.into());
    }
    let protection = Protection::from_bits_truncate(protection);
    let access = file.flags();
    let is_shared = match flags & MapFlags::TYPE {
        VALIDATE if flags & !MapFlags::all().bits() != 0 => return Err(Errno::EOPNOTSUPP.into()),
        // Nothing here is persistent memory.
        VALIDATE if flags & MapFlags::SYNC.bits() != 0 => return Err(Errno::EOPNOTSUPP.into()),
        SHARED | VALIDATE => true,
        PRIVATE => false,
        _ => return Err(Errno::EINVAL.into()),
    };
    let end = offset.checked_add(length).filter(|&end| end <= i64::MAX.cast_unsigned());
    if end.is_none() {
        return Err(Errno::EOVERFLOW.into());
    }
    if is_shared && protection.contains(Protection::WRITE) && !access.can_write() {
        return Err(Errno::EACCES.into());
    }
    if !access.can_read() {
        return Err(Errno::EACCES.into());
    }
    let is_no_exec = |place: &Location| place.mount.flags().contains(MountFlags::NO_EXEC);
    if protection.contains(Protection::EXEC) && file.location().is_some_and(is_no_exec) {
        return Err(Errno::EPERM.into());
    }
    // A shared mapping of a file that may be written may become writable later.
    let writable = is_shared && access.can_write();
    let request = MapRequest { shared: is_shared, writable, offset, length };
    let mapped = match file.ops().map(&file, request) {
        // Sealed against writing: it can be seen, and never be written through this mapping.
        Err(Errno::EPERM) if writable && !protection.contains(Protection::WRITE) => {
            file.ops().map(&file, MapRequest { writable: false, ..request })?
        }
        mapped => mapped?,
    };
    thread.note_mapping(&file, &mapped);
    pass(&thread, &mapped)
}

/// Maps memory without a name that the process will share with its children.
fn map_shared_memory(thread: &Thread, length: u64) -> WaitResult<u64> {
    if length == 0 {
        return Err(Errno::EINVAL.into());
    }
    let length = length.checked_next_multiple_of(PAGE).ok_or(Errno::ENOMEM)?;
    let mapped = HostMemory::map_nameless(length, true).map_err(|_| Errno::ENOMEM)?;
    pass(thread, &mapped)
}

/// Has the shim map a file.
fn pass(thread: &Thread, mapped: &MappedFile) -> WaitResult<u64> {
    match thread.machine().map_file(mapped, 0) {
        Err(Errno::EAGAIN) => Err(Interrupted::Signal(Restart::Always)),
        result => Ok(result.map(|()| 0)?),
    }
}

/// `EPERM` for who may lock nothing, `EAGAIN` for more than may be locked.
fn check_may_lock(thread: &Thread, length: u64) -> SysResult<()> {
    match lock_limit(thread)? {
        0 => Err(Errno::EPERM),
        limit if length > limit => Err(Errno::EAGAIN),
        _ => Ok(()),
    }
}

/// Rearranges the pages of a mapping: gone from Linux but for an emulation that nobody uses.
pub(crate) fn remap_file_pages(_thread: &Rc<Thread>) -> SysResult<u64> {
    Err(Errno::EINVAL)
}
