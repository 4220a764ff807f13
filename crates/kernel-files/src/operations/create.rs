//! New names: `open(O_CREAT)`, `mkdir`, `mknod`, `symlink`, `bind`, `link`.

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_core::supervisor::{FileEvent, Right};
use linux_abi::files::{LINK_MAX, ResolveFlags, mode};
use linux_abi::{Errno, SysResult};

use super::acl::InheritedAcls;
use crate::fs_context::Access;
use crate::inode::{Inode, NewInode, NewKind};
use crate::landlock;
use crate::metadata::{DeviceNumber, FileKind};
use crate::mount::Location;
use crate::notify::{self, Event};
use crate::observed;
use crate::permission::{self, Want};
use crate::walk::{Found, LastLink, resolve};

/// Makes a file at `path`: all of `mkdir`, `mknod`, `symlink` and `bind`. `EEXIST` if there is
/// something of that name. `bits` are the permissions before `umask`.
pub fn create(
    access: &Access<'_>,
    start: &Location,
    path: &[u8],
    kind: NewKind<'_>,
    bits: u32,
) -> SysResult<Location> {
    let found = resolve(access, start, path, LastLink::New, ResolveFlags::empty())?;
    let is_directory = kind.kind() == FileKind::Directory;
    check_new_name(&found, is_directory)
        .and_then(|()| create_in(access, &found.parent, found.new_name()?, kind, bits))
        .map_err(|errno| found.why_not_made(errno))
}

/// The checks of Linux's `filename_create`.
fn check_new_name(found: &Found, is_directory: bool) -> SysResult<()> {
    found.new_name()?;
    found.check_can_be_made()?;
    if found.target.is_some() {
        return Err(Errno::EEXIST);
    }
    if found.has_trailing_slash && !is_directory {
        return Err(Errno::ENOENT);
    }
    Ok(())
}

/// Makes a file of a name that is known to be free.
pub fn create_in(
    access: &Access<'_>,
    parent: &Location,
    name: &[u8],
    kind: NewKind<'_>,
    bits: u32,
) -> SysResult<Location> {
    parent.check_writable()?;
    check_may_create(access, parent)?;
    if let NewKind::CharacterDevice(number) | NewKind::BlockDevice(number) = kind
        && number != DeviceNumber::default()
    {
        access.fs.special().check_make(access.caller, kind.kind(), number)?;
    }
    landlock::check(access.credentials, parent, landlock::right_to_make(&kind))?;
    observed::check_name(parent, name)?;
    let inode = parent.inode()?;
    let (new, acls) = new_inode(access, &**inode, kind, bits)?;
    let created = inode.directory().ok_or(Errno::ENOTDIR)?.create(name, &new)?;
    acls.give(&*created)?;
    let is_directory = kind.kind() == FileKind::Directory;
    notify::in_directory(&**inode, Event::Create, name, is_directory);
    observed::tell_name(parent, name, FileEvent::Created(is_directory));
    let dentry = parent.dentry.adopt(name, Some(created));
    Ok(Location { mount: Rc::clone(&parent.mount), dentry })
}

pub(super) fn check_may_create(access: &Access<'_>, parent: &Location) -> SysResult<()> {
    if parent.dentry.is_unlinked() {
        return Err(Errno::ENOENT);
    }
    permission::check(&**parent.inode()?, access.credentials, Want::WRITE | Want::EXECUTE)
}

/// Owner, permissions and access control lists of a file that shall be made in `parent`.
pub fn new_inode<'a>(
    access: &Access<'_>,
    parent: &dyn Inode,
    kind: NewKind<'a>,
    bits: u32,
) -> SysResult<(NewInode<'a>, InheritedAcls)> {
    let credentials = access.credentials;
    let bits = bits & mode::CHANGEABLE;
    let inherited = InheritedAcls::of(parent, kind.kind(), bits);
    let without_umask = || (InheritedAcls::default(), bits & !access.fs.umask());
    let (acls, mut bits) = inherited.unwrap_or_else(without_umask);
    let parent = parent.ownership()?;
    if matches!(kind, NewKind::Symlink(_)) {
        bits = mode::PERMISSIONS;
    }
    let owner = credentials.fsuid;
    if credentials.user_namespace.uid(owner).is_none()
        || credentials.user_namespace.gid(credentials.fsgid).is_none()
    {
        return Err(Errno::EOVERFLOW);
    }
    let inherits_group = parent.mode & mode::SET_GID != 0;
    let gid = if inherits_group { parent.gid } else { credentials.fsgid };
    if matches!(kind, NewKind::Directory) {
        // Directories do not get set-id bits from the caller, only from their parent.
        bits &= mode::PERMISSIONS | mode::STICKY;
        if inherits_group {
            bits |= mode::SET_GID;
        }
    } else if inherits_group
        && bits & mode::SET_GID != 0
        && bits & mode::GROUP_EXECUTE != 0
        && !credentials.in_group(gid)
        && !credentials.has_over(cap::FSETID, credentials.fsuid, gid)
    {
        bits &= !mode::SET_GID;
    }
    Ok((NewInode { kind, mode: bits, uid: owner, gid }, acls))
}

/// Marks a file without a name that may get its first one: it was made with `O_TMPFILE`, and not
/// with `O_EXCL`.
pub(crate) struct Linkable;

/// Gives the file at `target` one more name.
pub fn link(
    access: &Access<'_>,
    target: &Location,
    start: &Location,
    path: &[u8],
) -> SysResult<()> {
    let found = resolve(access, start, path, LastLink::New, ResolveFlags::empty())?;
    link_found(access, target, &found).map_err(|errno| found.why_not_made(errno))
}

fn link_found(access: &Access<'_>, target: &Location, found: &Found) -> SysResult<()> {
    check_new_name(found, false)?;
    found.parent.check_writable()?;
    if !Rc::ptr_eq(&target.mount, &found.parent.mount) {
        return Err(Errno::EXDEV);
    }
    check_may_create(access, &found.parent)?;
    let metadata = target.inode()?.metadata()?;
    if metadata.kind() == FileKind::Directory {
        return Err(Errno::EPERM);
    }
    let attachments = target.inode()?.attachments();
    if metadata.n_links == 0 && attachments.get::<Linkable>().is_none() {
        return Err(Errno::ENOENT);
    }
    if metadata.n_links >= LINK_MAX {
        return Err(Errno::EMLINK);
    }
    if let Some(from) = target.dentry.parent() {
        let from = Location { mount: Rc::clone(&target.mount), dentry: from };
        let refer = landlock::Refer {
            from: &from,
            to: &found.parent,
            kind: metadata.kind(),
            moves: false,
            replaces: None,
            exchanges: false,
        };
        refer.check(access.credentials)?;
    }
    observed::check(target, Right::Write)?;
    observed::check_name(&found.parent, found.new_name()?)?;
    add_name(found, target)?;
    attachments.remove::<Linkable>();
    Ok(())
}

fn add_name(found: &Found, target: &Location) -> SysResult<()> {
    let name = found.new_name()?;
    let inode = target.inode()?;
    let parent = found.parent.inode()?;
    parent.directory().ok_or(Errno::ENOTDIR)?.link(name, inode)?;
    notify::of_inode(&**inode, Event::Attrib);
    notify::in_directory(&**parent, Event::Create, name, false);
    found.parent.dentry.adopt(name, Some(Rc::clone(inode)));
    observed::tell_name(&found.parent, name, FileEvent::Created(false));
    Ok(())
}
