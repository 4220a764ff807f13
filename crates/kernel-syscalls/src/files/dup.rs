//! `dup(2)`, `dup2(2)`, `dup3(2)`.
//!
//! The three differ only in who picks the new number and in what happens when both numbers are
//! equal: `dup2` succeeds, `dup3` is `EINVAL`.

use std::rc::Rc;

use kernel_files::descriptors::close;
use kernel_tasks::Thread;
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, Fd, SysResult};

/// Gives an open file one more descriptor, the lowest free one.
pub(crate) fn dup(thread: &Rc<Thread>, old: Fd) -> SysResult<Fd> {
    let file = thread.file(old)?;
    thread.add_file(file, false)
}

/// Makes `new` name what `old` names.
pub(crate) fn dup2(thread: &Rc<Thread>, old: Fd, new: Fd) -> SysResult<Fd> {
    if old == new {
        thread.file(old)?;
        return Ok(new);
    }
    replace(thread, old, new, false)
}

/// Like [`dup2`], with `O_CLOEXEC`.
pub(crate) fn dup3(thread: &Rc<Thread>, old: Fd, new: Fd, flags: u32) -> SysResult<Fd> {
    if flags & !OpenFlags::CLOEXEC.bits() != 0 || old == new {
        return Err(Errno::EINVAL);
    }
    replace(thread, old, new, flags != 0)
}

fn replace(thread: &Rc<Thread>, old: Fd, new: Fd, close_on_exec: bool) -> SysResult<Fd> {
    let limit = thread.descriptor_limit();
    if u32::try_from(new.0).map_or(true, |new| new >= limit) {
        return Err(Errno::EBADF);
    }
    let file = thread.file(old)?;
    let table = thread.files();
    let replaced = table.borrow_mut().replace(new, file, limit, close_on_exec)?;
    if let Some(replaced) = replaced {
        // As on Linux, errors of the file that was there have nobody to go to.
        let _ = close(&replaced, table.borrow().id());
    }
    Ok(new)
}
