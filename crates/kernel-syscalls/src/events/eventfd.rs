//! `eventfd(2)`, `eventfd2(2)`.

use std::rc::Rc;

use kernel_events::eventfd::{EventFd, Mode};
use kernel_tasks::Thread;
use linux_abi::events::EventFdFlags;
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, Fd, SysResult};

/// Makes a counter that can be waited for.
pub(crate) fn eventfd(thread: &Rc<Thread>, count: u32) -> SysResult<Fd> {
    eventfd2(thread, count, 0)
}

/// Like [`eventfd`], with flags.
pub(crate) fn eventfd2(thread: &Rc<Thread>, count: u32, flags: u32) -> SysResult<Fd> {
    let flags = EventFdFlags::from_bits(flags).ok_or(Errno::EINVAL)?;
    let mode = match flags.contains(EventFdFlags::SEMAPHORE) {
        true => Mode::Semaphore,
        false => Mode::Counter,
    };
    let file = EventFd::open(count, mode, OpenFlags::from_bits_truncate(flags.bits()));
    thread.add_file(file, flags.contains(EventFdFlags::CLOEXEC))
}
