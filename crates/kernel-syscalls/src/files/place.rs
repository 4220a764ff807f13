//! `chdir(2)`, `fchdir(2)`, `getcwd(2)`, `chroot(2)`.

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_core::memory::{CString, PATH_MAX, UserPtr};
use kernel_files::permission::check_search;
use kernel_files::walk::LastLink;
use kernel_files::{FileKind, Location};
use kernel_tasks::Thread;
use linux_abi::{Errno, Fd, SysResult};

use super::caller::{Caller, HERE, read_path};

/// Changes the working directory.
pub(crate) fn chdir(thread: &Rc<Thread>, path: UserPtr<CString>) -> SysResult<()> {
    let location = find_directory(thread, path)?;
    thread.fs().set_cwd(location);
    Ok(())
}

/// Makes an open directory the working directory.
pub(crate) fn fchdir(thread: &Rc<Thread>, fd: Fd) -> SysResult<()> {
    let file = thread.file(fd)?;
    let location = file.location().ok_or(Errno::ENOTDIR)?;
    check_enter(thread, location)?;
    thread.fs().set_cwd(location.clone());
    Ok(())
}

fn find_directory(thread: &Rc<Thread>, path: UserPtr<CString>) -> SysResult<Location> {
    let path = read_path(thread, path)?;
    let location = Caller::new(thread).find(HERE, &path, 0, LastLink::Follow)?;
    check_enter(thread, &location)?;
    Ok(location)
}

fn check_enter(thread: &Thread, location: &Location) -> SysResult<()> {
    let inode = location.inode()?;
    if inode.kind() != FileKind::Directory {
        return Err(Errno::ENOTDIR);
    }
    check_search(&**inode, &thread.credentials())
}

/// Writes the path of the working directory. Returns its length with the zero at its end.
pub(crate) fn getcwd(thread: &Rc<Thread>, buffer: UserPtr<u8>, size: usize) -> SysResult<usize> {
    let fs = thread.fs();
    let cwd = fs.cwd();
    if cwd.dentry.is_unlinked() {
        return Err(Errno::ENOENT);
    }
    let (mut path, is_reachable) = cwd.path_from(&fs.root());
    if !is_reachable {
        path.splice(..0, *b"(unreachable)");
    }
    path.push(0);
    if path.len() > PATH_MAX {
        return Err(Errno::ENAMETOOLONG);
    }
    if path.len() > size {
        return Err(Errno::ERANGE);
    }
    buffer.write_many(&thread.memory(), &path)?;
    Ok(path.len())
}

/// Changes the directory that `/` means.
pub(crate) fn chroot(thread: &Rc<Thread>, path: UserPtr<CString>) -> SysResult<()> {
    let location = find_directory(thread, path)?;
    if !thread.credentials().has_own(cap::SYS_CHROOT) {
        return Err(Errno::EPERM);
    }
    thread.fs().set_root(location);
    Ok(())
}
