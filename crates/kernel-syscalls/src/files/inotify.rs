//! `inotify_init(2)`, `inotify_init1(2)`, `inotify_add_watch(2)`, `inotify_rm_watch(2)`.

use std::rc::Rc;

use kernel_core::memory::{CString, UserPtr};
use kernel_files::FileKind;
use kernel_files::inotify::Inotify;
use kernel_files::notify;
use kernel_files::permission::{Want, check};
use kernel_files::walk::LastLink;
use kernel_tasks::Thread;
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, Fd, SysResult};

use super::caller::{Caller, HERE, read_path};

const ALL_EVENTS: u32 = 0xfff;
const ONLYDIR: u32 = 0x0100_0000;
const DONT_FOLLOW: u32 = 0x0200_0000;
const EXCL_UNLINK: u32 = 0x0400_0000;
const MASK_CREATE: u32 = 0x1000_0000;
const MASK_ADD: u32 = 0x2000_0000;
const ONESHOT: u32 = 0x8000_0000;
const KNOWN: u32 =
    ALL_EVENTS | ONLYDIR | DONT_FOLLOW | EXCL_UNLINK | MASK_CREATE | MASK_ADD | ONESHOT;

/// Makes an instance that watches nothing yet.
pub(crate) fn inotify_init(thread: &Rc<Thread>) -> SysResult<Fd> {
    inotify_init1(thread, 0)
}

/// Like [`inotify_init`], with `IN_CLOEXEC` and `IN_NONBLOCK`.
pub(crate) fn inotify_init1(thread: &Rc<Thread>, flags: u32) -> SysResult<Fd> {
    let flags = OpenFlags::from_bits(flags).ok_or(Errno::EINVAL)?;
    if !(OpenFlags::CLOEXEC | OpenFlags::NONBLOCK).contains(flags) {
        return Err(Errno::EINVAL);
    }
    thread.add_file(Inotify::open(flags), flags.contains(OpenFlags::CLOEXEC))
}

/// Watches a file, or changes what of it is watched.
pub(crate) fn inotify_add_watch(
    thread: &Rc<Thread>,
    fd: Fd,
    path: UserPtr<CString>,
    mask: u32,
) -> SysResult<i32> {
    if mask & KNOWN == 0 {
        return Err(Errno::EINVAL);
    }
    let file = thread.file(fd)?;
    if mask & MASK_ADD != 0 && mask & MASK_CREATE != 0 {
        return Err(Errno::EINVAL);
    }
    let inotify = file.ops_as::<Inotify>().ok_or(Errno::EINVAL)?;
    let path = read_path(thread, path)?;
    let last_link = if mask & DONT_FOLLOW != 0 { LastLink::Keep } else { LastLink::Follow };
    let location = Caller::new(thread).find(HERE, &path, 0, last_link)?;
    let inode = location.inode()?;
    if mask & ONLYDIR != 0 && inode.kind() != FileKind::Directory {
        return Err(Errno::ENOTDIR);
    }
    check(&**inode, &thread.credentials(), Want::READ)?;
    if !notify::is_watched() {
        // Closes that came before are not told.
        thread.kernel().settle();
    }
    inotify.add(inode, mask)
}

/// Ends a watch.
pub(crate) fn inotify_rm_watch(thread: &Rc<Thread>, fd: Fd, watch: i32) -> SysResult<()> {
    let file = thread.file(fd)?;
    file.ops_as::<Inotify>().ok_or(Errno::EINVAL)?.remove(watch)
}
