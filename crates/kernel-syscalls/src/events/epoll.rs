//! `epoll_create(2)`, `epoll_create1(2)`, `epoll_ctl(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_events::epoll::Epoll;
use kernel_files::OpenFile;
use kernel_tasks::Thread;
use linux_abi::events::{EpollEvent, epoll};
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, Fd, SysResult};

/// Makes an epoll. The size is a relic, but must be positive.
pub(crate) fn epoll_create(thread: &Rc<Thread>, size: i32) -> SysResult<Fd> {
    if size <= 0 {
        return Err(Errno::EINVAL);
    }
    epoll_create1(thread, 0)
}

/// Makes an epoll, with `EPOLL_CLOEXEC` (which is `O_CLOEXEC`).
pub(crate) fn epoll_create1(thread: &Rc<Thread>, flags: u32) -> SysResult<Fd> {
    if flags & !OpenFlags::CLOEXEC.bits() != 0 {
        return Err(Errno::EINVAL);
    }
    thread.add_file(Epoll::open(), flags != 0)
}

/// Adds, changes or removes a descriptor.
pub(crate) fn epoll_ctl(
    thread: &Rc<Thread>,
    epoll_fd: Fd,
    operation: i32,
    fd: Fd,
    event: UserPtr<EpollEvent>,
) -> SysResult<()> {
    let event = match operation {
        epoll::CTL_DEL => EpollEvent { events: 0, data: 0 },
        _ => event.read(&thread.memory())?,
    };
    let epoll_file = thread.file(epoll_fd)?;
    let file = thread.file(fd)?;
    if file.flags().contains(OpenFlags::PATH) {
        return Err(Errno::EBADF);
    }
    if file.ops().queue().is_none() {
        return Err(Errno::EPERM);
    }
    if Rc::ptr_eq(&epoll_file, &file) {
        return Err(Errno::EINVAL);
    }
    let epoll = epoll_of(&epoll_file)?;
    match operation {
        epoll::CTL_ADD => epoll.add(fd, &file, event),
        epoll::CTL_MOD => epoll.modify(fd, &file, event),
        epoll::CTL_DEL => epoll.delete(fd, &file),
        _ => Err(Errno::EINVAL),
    }
}

/// The epoll behind an open file; `EINVAL` if it is another kind of file.
pub(super) fn epoll_of(file: &OpenFile) -> SysResult<&Epoll> {
    file.ops_as().ok_or(Errno::EINVAL)
}
