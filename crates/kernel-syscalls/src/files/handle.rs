//! `name_to_handle_at(2)`: the arguments are checked, and no handle is given.

use std::rc::Rc;

use kernel_core::memory::{CString, UserPtr};
use kernel_files::walk::LastLink;
use kernel_tasks::Thread;
use linux_abi::files::at;
use linux_abi::{Errno, Fd, SysResult};

use super::caller::{Caller, check_flags, read_path};

/// `AT_HANDLE_MNT_ID_UNIQUE`, `AT_HANDLE_CONNECTABLE` and `AT_HANDLE_FID`.
const HANDLE_FLAGS: u32 = 0x1 | 0x2 | 0x200;

/// Would give a handle by which the file can be opened without its name. As on a file system
/// without such handles.
pub(crate) fn name_to_handle_at(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    _handle: UserPtr<u8>,
    _mount: UserPtr<u8>,
    flags: u32,
) -> SysResult<()> {
    check_flags(flags, at::SYMLINK_FOLLOW | at::EMPTY_PATH | HANDLE_FLAGS)?;
    let path = read_path(thread, path)?;
    let follows = flags & at::SYMLINK_FOLLOW != 0;
    let last_link = if follows { LastLink::Follow } else { LastLink::Keep };
    Caller::new(thread).find(directory, &path, flags, last_link)?;
    Err(Errno::EOPNOTSUPP)
}
