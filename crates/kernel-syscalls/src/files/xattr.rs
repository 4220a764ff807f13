//! Extended attributes: `getxattr(2)`, `setxattr(2)`, `listxattr(2)`, `removexattr(2)`, each by
//! path, by link, by descriptor, and relative to a directory (`getxattrat` and so on).

use std::rc::Rc;

use kernel_core::credentials::{Credentials, cap};
use kernel_core::memory::{CString, UserPtr};
use kernel_core::supervisor::Right;
use kernel_files::acl::{Acl, AclKind};
use kernel_files::anonymous::location_of;
use kernel_files::inode::XattrMode;
use kernel_files::notify::{self, Event};
use kernel_files::observed;
use kernel_files::operations::change_acl;
use kernel_files::permission::{Want, check, is_owner};
use kernel_files::walk::LastLink;
use kernel_files::{FileKind, Inode, Location};
use kernel_tasks::Thread;
use linux_abi::files::{XattrArgs, at};
use linux_abi::{Errno, Fd, SysResult};

use super::caller::{
    Caller, HERE, check_flags, last_link, read_growing, read_optional_path, read_path, real_file,
};

/// The longest name, with its zero.
const MAX_NAME: usize = 256;
/// The longest value.
const MAX_VALUE: usize = 64 << 10;
/// The longest list of names.
const MAX_LIST: usize = 64 << 10;

type Path = UserPtr<CString>;

fn by_path(thread: &Rc<Thread>, path: Path, last_link: LastLink) -> SysResult<Location> {
    let path = read_path(thread, path)?;
    Caller::new(thread).find(HERE, &path, 0, last_link)
}

fn by_fd(thread: &Rc<Thread>, fd: Fd) -> SysResult<Location> {
    Ok(location_of(&real_file(thread, fd)?))
}

fn read_name(thread: &Thread, name: UserPtr<CString>) -> SysResult<Vec<u8>> {
    match name.read_string(&thread.memory(), MAX_NAME) {
        Ok(name) if name.is_empty() => Err(Errno::ERANGE),
        Err(Errno::ENAMETOOLONG) => Err(Errno::ERANGE),
        result => result,
    }
}

/// Whether `credentials` may do `want` with this attribute; `EINVAL` for a name space without a
/// name in it.
fn check_name(
    inode: &dyn Inode,
    name: &[u8],
    credentials: &Credentials,
    want: Want,
) -> SysResult<()> {
    check_access(inode, name, credentials, want)?;
    if matches!(name, b"user." | b"trusted." | b"security.") { Err(Errno::EINVAL) } else { Ok(()) }
}

/// The rules of xattr(7).
fn check_access(
    inode: &dyn Inode,
    name: &[u8],
    credentials: &Credentials,
    want: Want,
) -> SysResult<()> {
    let reads = want == Want::READ;
    if name.starts_with(b"trusted.") {
        return match (credentials.has(cap::SYS_ADMIN), reads) {
            (true, _) => Ok(()),
            (false, true) => Err(Errno::ENODATA),
            (false, false) => Err(Errno::EPERM),
        };
    }
    if name.starts_with(b"security.") {
        let is_capability = name == b"security.capability";
        let needed = if is_capability { cap::SETFCAP } else { cap::SYS_ADMIN };
        return if reads || credentials.has(needed) { Ok(()) } else { Err(Errno::EPERM) };
    }
    if !name.starts_with(b"user.") {
        return Err(Errno::EOPNOTSUPP);
    }
    // Links and devices belong to nobody's users, so users may not keep data there.
    if !matches!(inode.kind(), FileKind::Regular | FileKind::Directory) {
        return Err(if reads { Errno::ENODATA } else { Errno::EPERM });
    }
    let ownership = inode.ownership()?;
    let is_sticky = ownership.mode & linux_abi::files::mode::STICKY != 0;
    if inode.kind() == FileKind::Directory
        && is_sticky
        && !reads
        && !is_owner(ownership, credentials)
    {
        return Err(Errno::EPERM);
    }
    check(inode, credentials, want)
}

fn get(
    thread: &Rc<Thread>,
    location: &Location,
    name: UserPtr<CString>,
    buffer: UserPtr<u8>,
    size: usize,
) -> SysResult<usize> {
    let name = read_name(thread, name)?;
    let inode = location.inode()?;
    if let Some(kind) = AclKind::of_name(&name) {
        let acl = inode.acl(kind)?.ok_or(Errno::ENODATA)?;
        return put(thread, buffer, size, &acl.to_bytes());
    }
    check_name(&**inode, &name, &thread.credentials(), Want::READ)?;
    let value = inode.xattrs().ok_or(Errno::EOPNOTSUPP)?.get(&name)?;
    put(thread, buffer, size, &value)
}

/// Writes what was asked for; a size of zero only asks how much that would be.
fn put(thread: &Thread, buffer: UserPtr<u8>, size: usize, bytes: &[u8]) -> SysResult<usize> {
    if size == 0 {
        return Ok(bytes.len());
    }
    if bytes.len() > size {
        return Err(Errno::ERANGE);
    }
    if !bytes.is_empty() {
        buffer.write_many(&thread.memory(), bytes)?;
    }
    Ok(bytes.len())
}

fn set(
    thread: &Rc<Thread>,
    location: &Location,
    name: UserPtr<CString>,
    value: UserPtr<u8>,
    size: usize,
    flags: u32,
) -> SysResult<()> {
    let mode = match flags {
        0 => XattrMode::CreateOrReplace,
        1 => XattrMode::Create,
        2 => XattrMode::Replace,
        _ => return Err(Errno::EINVAL),
    };
    let name = read_name(thread, name)?;
    if size > MAX_VALUE {
        return Err(Errno::E2BIG);
    }
    let value = if size == 0 { Vec::new() } else { value.read_many(&thread.memory(), size)? };
    if let Some(kind) = AclKind::of_name(&name) {
        return change_acl(location, &thread.credentials(), kind, Acl::parse(&value)?);
    }
    location.check_writable()?;
    let inode = location.inode()?;
    check_name(&**inode, &name, &thread.credentials(), Want::WRITE)?;
    observed::check(location, Right::Write)?;
    inode.xattrs().ok_or(Errno::EOPNOTSUPP)?.set(&name, &value, mode)?;
    notify::at(location, Event::Attrib);
    Ok(())
}

fn list(
    thread: &Rc<Thread>,
    location: &Location,
    buffer: UserPtr<u8>,
    size: usize,
) -> SysResult<usize> {
    let Some(xattrs) = location.inode()?.xattrs() else { return Ok(0) };
    let sees_trusted = thread.credentials().has(cap::SYS_ADMIN);
    let mut names = Vec::new();
    for name in xattrs.list()? {
        if sees_trusted || !name.starts_with(b"trusted.") {
            names.extend_from_slice(&name);
            names.push(0);
        }
    }
    if names.len() > MAX_LIST {
        return Err(Errno::E2BIG);
    }
    put(thread, buffer, size, &names)
}

fn remove(thread: &Rc<Thread>, location: &Location, name: UserPtr<CString>) -> SysResult<()> {
    let name = read_name(thread, name)?;
    if let Some(kind) = AclKind::of_name(&name) {
        return change_acl(location, &thread.credentials(), kind, None);
    }
    location.check_writable()?;
    let inode = location.inode()?;
    check_name(&**inode, &name, &thread.credentials(), Want::WRITE)?;
    observed::check(location, Right::Write)?;
    inode.xattrs().ok_or(Errno::EOPNOTSUPP)?.remove(&name)?;
    notify::at(location, Event::Attrib);
    Ok(())
}

macro_rules! family {
    ($get:ident $set:ident $list:ident $remove:ident ($place:ty, $thread:ident, $named:ident) $find:expr) => {
        /// Reads an attribute.
        pub(crate) fn $get(
            $thread: &Rc<Thread>,
            $named: $place,
            name: UserPtr<CString>,
            value: UserPtr<u8>,
            size: usize,
        ) -> SysResult<usize> {
            get($thread, &$find?, name, value, size)
        }

        /// Sets an attribute.
        pub(crate) fn $set(
            $thread: &Rc<Thread>,
            $named: $place,
            name: UserPtr<CString>,
            value: UserPtr<u8>,
            size: usize,
            flags: u32,
        ) -> SysResult<()> {
            set($thread, &$find?, name, value, size, flags)
        }

        /// Lists the names of all attributes.
        pub(crate) fn $list(
            $thread: &Rc<Thread>,
            $named: $place,
            names: UserPtr<u8>,
            size: usize,
        ) -> SysResult<usize> {
            list($thread, &$find?, names, size)
        }

        /// Removes an attribute.
        pub(crate) fn $remove(
            $thread: &Rc<Thread>,
            $named: $place,
            name: UserPtr<CString>,
        ) -> SysResult<()> {
            remove($thread, &$find?, name)
        }
    };
}

family!(getxattr setxattr listxattr removexattr (Path, thread, path)
    by_path(thread, path, LastLink::Follow));
family!(lgetxattr lsetxattr llistxattr lremovexattr (Path, thread, path)
    by_path(thread, path, LastLink::Keep));
family!(fgetxattr fsetxattr flistxattr fremovexattr (Fd, thread, fd) by_fd(thread, fd));

/// What a path relative to a directory names; an empty one the descriptor itself, if asked for.
fn by_place(thread: &Rc<Thread>, directory: Fd, path: Path, flags: u32) -> SysResult<Location> {
    let takes_empty = flags & at::EMPTY_PATH != 0;
    let path =
        if takes_empty { read_optional_path(thread, path)? } else { read_path(thread, path)? };
    if path.is_empty() && takes_empty && directory != HERE {
        return by_fd(thread, directory);
    }
    Caller::new(thread).find(directory, &path, flags, last_link(flags))
}

/// Checks what all calls relative to a directory check first.
fn check_place(flags: u32) -> SysResult<()> {
    check_flags(flags, at::SYMLINK_NOFOLLOW | at::EMPTY_PATH)
}

/// Reads an attribute of a file that is named relative to a directory.
pub(crate) fn getxattrat(
    thread: &Rc<Thread>,
    directory: Fd,
    path: Path,
    flags: u32,
    name: UserPtr<CString>,
    args: UserPtr<XattrArgs>,
    size: usize,
) -> SysResult<usize> {
    let args = read_growing(thread, args, size)?;
    if args.flags != 0 {
        return Err(Errno::EINVAL);
    }
    check_place(flags)?;
    let location = by_place(thread, directory, path, flags)?;
    get(thread, &location, name, UserPtr::new(args.value), args.size as usize)
}

/// Sets an attribute of a file that is named relative to a directory.
pub(crate) fn setxattrat(
    thread: &Rc<Thread>,
    directory: Fd,
    path: Path,
    flags: u32,
    name: UserPtr<CString>,
    args: UserPtr<XattrArgs>,
    size: usize,
) -> SysResult<()> {
    let args = read_growing(thread, args, size)?;
    check_place(flags)?;
    let location = by_place(thread, directory, path, flags)?;
    let value = UserPtr::new(args.value);
    set(thread, &location, name, value, args.size as usize, args.flags)
}

/// Lists the attributes of a file that is named relative to a directory.
pub(crate) fn listxattrat(
    thread: &Rc<Thread>,
    directory: Fd,
    path: Path,
    flags: u32,
    names: UserPtr<u8>,
    size: usize,
) -> SysResult<usize> {
    check_place(flags)?;
    list(thread, &by_place(thread, directory, path, flags)?, names, size)
}

/// Removes an attribute of a file that is named relative to a directory.
pub(crate) fn removexattrat(
    thread: &Rc<Thread>,
    directory: Fd,
    path: Path,
    flags: u32,
    name: UserPtr<CString>,
) -> SysResult<()> {
    check_place(flags)?;
    remove(thread, &by_place(thread, directory, path, flags)?, name)
}
