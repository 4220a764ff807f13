//! `F_SETLEASE` and `F_GETLEASE`.

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_files::locks::{self, LockKind};
use kernel_files::{FileKind, OpenFile};
use kernel_tasks::Thread;
use linux_abi::files::lock;
use linux_abi::{Errno, Fd, SysResult};

use super::super::async_signal::{MESSAGE, Ownership};
use super::owner::own_unless_owned;
use crate::handler::FromRegister;

/// What lease the open file has.
pub(super) fn get(file: &OpenFile) -> u64 {
    let kind = match locks::lease_of(file) {
        Some(LockKind::Shared) => lock::READ,
        Some(LockKind::Exclusive) => lock::WRITE,
        None => lock::UNLOCK,
    };
    u64::from(kind.cast_unsigned())
}

/// Takes a lease, changes it or gives it back.
pub(super) fn set(
    thread: &Rc<Thread>,
    fd: Fd,
    file: &Rc<OpenFile>,
    argument: u64,
) -> SysResult<u64> {
    let kind = match i16::try_from(i32::from_register(argument)) {
        Ok(lock::READ) => Some(LockKind::Shared),
        Ok(lock::WRITE) => Some(LockKind::Exclusive),
        Ok(lock::UNLOCK) => None,
        _ => return Err(Errno::EINVAL),
    };
    thread.kernel().settle();
    let metadata = file.metadata()?;
    let credentials = thread.credentials();
    if metadata.uid != credentials.fsuid && !credentials.has(cap::LEASE) {
        return Err(Errno::EACCES);
    }
    let Some(inode) = file.inode().filter(|_| metadata.kind() == FileKind::Regular) else {
        return Err(Errno::EINVAL);
    };
    let ownership = Ownership::of(file);
    let leases = locks::of(file);
    let Some(kind) = kind else {
        if !leases.leases.remove(file.id()) {
            return Err(Errno::EAGAIN);
        }
        ownership.id.set(0);
        ownership.signal.set(0);
        return Ok(0);
    };
    let kernel = Rc::downgrade(thread.kernel());
    let owner = Rc::clone(&ownership);
    let tell = move || {
        if let Some(kernel) = kernel.upgrade() {
            owner.tell(&kernel, fd, MESSAGE);
        }
    };
    leases.leases.set(file.id(), kind, locks::others(&**inode, file.flags()), tell)?;
    own_unless_owned(thread, &ownership);
    Ok(0)
}
