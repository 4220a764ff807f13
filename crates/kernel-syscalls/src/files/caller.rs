//! Who asks, and from where: what every call with a path needs.

use std::rc::Rc;

use kernel_core::credentials::Credentials;
use kernel_core::memory::{CString, UserPtr};
use kernel_files::anonymous::location_of;
use kernel_files::walk::{LastLink, lookup};
use kernel_files::{Access, FsContext, Location, OpenFile};
use kernel_tasks::Thread;
use linux_abi::files::{OpenFlags, at};
use linux_abi::{Errno, Fd, SysResult};
use zerocopy::{FromBytes, IntoBytes};

/// The directory that paths of the older calls start at.
pub(super) const HERE: Fd = Fd(at::FDCWD);

/// The caller's view of the tree.
pub(super) struct Caller<'a> {
    thread: &'a Thread,
    pub(super) fs: Rc<FsContext>,
    pub(super) credentials: Rc<Credentials>,
}

impl<'a> Caller<'a> {
    pub(super) fn new(thread: &'a Rc<Thread>) -> Self {
        Self { thread, fs: thread.fs(), credentials: thread.credentials() }
    }

    pub(super) fn thread(&self) -> &Thread {
        self.thread
    }

    pub(super) fn access(&self) -> Access<'_> {
        Access { fs: &self.fs, credentials: &self.credentials, caller: self.thread }
    }

    /// Where `path` starts, if it is relative.
    pub(super) fn start(&self, directory: Fd, path: &[u8]) -> SysResult<Location> {
        if directory == HERE || path.first() == Some(&b'/') {
            return Ok(self.fs.cwd());
        }
        Ok(location_of(&self.thread.file(directory)?))
    }

    /// The file that `path` names. With `AT_EMPTY_PATH` in `flags`, the empty path is what the
    /// descriptor names.
    pub(super) fn find(
        &self,
        directory: Fd,
        path: &[u8],
        flags: u32,
        last_link: LastLink,
    ) -> SysResult<Location> {
        if path.is_empty() && flags & at::EMPTY_PATH != 0 {
            return self.start(directory, path);
        }
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        lookup(&self.access(), &self.start(directory, path)?, path, last_link)
    }
}

/// Copies a path in.
pub(super) fn read_path(thread: &Thread, path: UserPtr<CString>) -> SysResult<Vec<u8>> {
    path.read_path(&thread.memory())
}

/// Copies a path in; nothing is the empty path, for calls that take `AT_EMPTY_PATH`.
pub(super) fn read_optional_path(thread: &Thread, path: UserPtr<CString>) -> SysResult<Vec<u8>> {
    if path.is_null() { Ok(Vec::new()) } else { read_path(thread, path) }
}

/// The longest structure that [`read_growing`] reads.
const MAX_STRUCTURE: usize = 4096;

/// Copies a structure in that has got longer over time: it may be longer than ours, if what is
/// beyond is zero.
pub(super) fn read_growing<T: FromBytes + IntoBytes>(
    thread: &Thread,
    structure: UserPtr<T>,
    size: usize,
) -> SysResult<T> {
    let rest = size.checked_sub(size_of::<T>()).ok_or(Errno::EINVAL)?;
    if size > MAX_STRUCTURE {
        return Err(Errno::E2BIG);
    }
    let memory = thread.memory();
    let value = structure.read(&memory)?;
    let rest = structure.offset(1).cast::<u8>().read_many(&memory, rest)?;
    if rest.iter().any(|&byte| byte != 0) { Err(Errno::E2BIG) } else { Ok(value) }
}

/// The open file behind a descriptor; `EBADF` also for one that was opened with `O_PATH`.
pub(super) fn real_file(thread: &Thread, fd: Fd) -> SysResult<Rc<OpenFile>> {
    let file = thread.file(fd)?;
    if file.flags().contains(OpenFlags::PATH) { Err(Errno::EBADF) } else { Ok(file) }
}

/// What `AT_SYMLINK_NOFOLLOW` says about the last link of a path.
pub(super) fn last_link(flags: u32) -> LastLink {
    if flags & at::SYMLINK_NOFOLLOW != 0 { LastLink::Keep } else { LastLink::Follow }
}

/// `EINVAL` if `flags` has bits beyond `known`.
pub(super) fn check_flags(flags: u32, known: u32) -> SysResult<()> {
    if flags & !known == 0 { Ok(()) } else { Err(Errno::EINVAL) }
}
