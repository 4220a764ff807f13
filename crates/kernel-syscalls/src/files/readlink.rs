//! `readlink(2)`, `readlinkat(2)`.

use std::rc::Rc;

use kernel_core::memory::{CString, UserPtr};
use kernel_files::FileKind;
use kernel_files::walk::LastLink;
use kernel_tasks::Thread;
use linux_abi::files::at;
use linux_abi::{Errno, Fd, SysResult};

use super::caller::{Caller, HERE, read_path};

/// Reads the path that a symbolic link holds.
pub(crate) fn readlink(
    thread: &Rc<Thread>,
    path: UserPtr<CString>,
    buffer: UserPtr<u8>,
    size: i32,
) -> SysResult<usize> {
    readlinkat(thread, HERE, path, buffer, size)
}

/// Reads the path that a symbolic link holds; the empty path is what the descriptor names.
pub(crate) fn readlinkat(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    buffer: UserPtr<u8>,
    size: i32,
) -> SysResult<usize> {
    let room = usize::try_from(size).map_err(|_| Errno::EINVAL)?;
    if room == 0 {
        return Err(Errno::EINVAL);
    }
    let path = read_path(thread, path)?;
    let is_empty = path.is_empty();
    let caller = Caller::new(thread);
    let location = caller.find(directory, &path, at::EMPTY_PATH, LastLink::Keep)?;
    let inode = location.inode()?;
    if inode.kind() != FileKind::Symlink {
        return Err(if is_empty { Errno::ENOENT } else { Errno::EINVAL });
    }
    let target = inode.read_link_for(Some(&**thread))?;
    inode.touch_accessed();
    let shown = target.get(..room).unwrap_or(&target);
    buffer.write_many(&thread.memory(), shown)?;
    Ok(shown.len())
}
