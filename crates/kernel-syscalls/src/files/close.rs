//! `close(2)`, `close_range(2)`.

use std::rc::Rc;

use kernel_files::descriptors;
use kernel_tasks::Thread;
use linux_abi::{Errno, Fd, SysResult};

const CLOSE_RANGE_UNSHARE: u32 = 2;
const CLOSE_RANGE_CLOEXEC: u32 = 4;

/// Frees a descriptor. Whatever the result, it is free afterwards.
pub(crate) fn close(thread: &Rc<Thread>, fd: Fd) -> SysResult<()> {
    thread.close_file(fd)
}

/// Closes, or marks, all descriptors from `first` to `last`.
pub(crate) fn close_range(thread: &Rc<Thread>, first: u32, last: u32, flags: u32) -> SysResult<()> {
    if flags & !(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC) != 0 || first > last {
        return Err(Errno::EINVAL);
    }
    if flags & CLOSE_RANGE_UNSHARE != 0 {
        thread.unshare_files();
    }
    let table = thread.files();
    let id = table.borrow().id();
    let fds: Vec<Fd> = table
        .borrow()
        .numbers()
        .filter(|fd| u32::try_from(fd.0).is_ok_and(|fd| first <= fd && fd <= last))
        .collect();
    for fd in fds {
        if flags & CLOSE_RANGE_CLOEXEC != 0 {
            table.borrow_mut().set_close_on_exec(fd, true)?;
            continue;
        }
        let file = table.borrow_mut().remove(fd);
        if let Ok(file) = file {
            // As on Linux, errors of single descriptors have nobody to go to.
            let _ = descriptors::close(&file, id);
        }
    }
    Ok(())
}
