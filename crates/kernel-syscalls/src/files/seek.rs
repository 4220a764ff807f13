//! `lseek(2)`.

use std::rc::Rc;

use kernel_files::inode::Extent;
use kernel_files::open_file::SeekTo;
use kernel_tasks::Thread;
use linux_abi::{Errno, Fd, SysResult};

use super::caller::real_file;

/// Moves the position of a file. Returns the new one.
pub(crate) fn lseek(thread: &Rc<Thread>, fd: Fd, offset: i64, whence: u32) -> SysResult<u64> {
    let file = real_file(thread, fd)?;
    let to = match whence {
        0 => SeekTo::Start(offset.into()),
        1 => SeekTo::Current(offset),
        2 => SeekTo::End(offset),
        3 => SeekTo::Extent(Extent::Data, offset),
        4 => SeekTo::Extent(Extent::Hole, offset),
        _ => return Err(Errno::EINVAL),
    };
    file.ops().seek(&file, to)
}
