//! `signalfd(2)`, `signalfd4(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_tasks::Thread;
use kernel_tasks::signals::SignalFd;
use linux_abi::files::OpenFlags;
use linux_abi::signals::SigSet;
use linux_abi::{Errno, Fd, SysResult};

use super::check_set_size;

/// Like [`signalfd4`], without flags.
pub(crate) fn signalfd(
    thread: &Rc<Thread>,
    fd: Fd,
    mask: UserPtr<SigSet>,
    set_size: u64,
) -> SysResult<Fd> {
    signalfd4(thread, fd, mask, set_size, 0)
}

/// Makes a file from which signals are read, or changes which ones.
pub(crate) fn signalfd4(
    thread: &Rc<Thread>,
    fd: Fd,
    mask: UserPtr<SigSet>,
    set_size: u64,
    flags: u32,
) -> SysResult<Fd> {
    check_set_size(set_size)?;
    let mask = mask.read(&thread.memory())?.without(SigSet::UNBLOCKABLE);
    let flags = OpenFlags::from_bits(flags)
        .filter(|&flags| (OpenFlags::CLOEXEC | OpenFlags::NONBLOCK).contains(flags))
        .ok_or(Errno::EINVAL)?;
    if fd.0 == -1 {
        let file = SignalFd::open(thread, mask, flags & OpenFlags::NONBLOCK);
        return thread.add_file(file, flags.contains(OpenFlags::CLOEXEC));
    }
    let file = thread.file(fd)?;
    file.ops_as::<SignalFd>().ok_or(Errno::EINVAL)?.set_mask(mask);
    Ok(fd)
}
