//! Names that go: `unlink` and `rmdir`.

use std::rc::Rc;

use kernel_core::facts;
use kernel_core::supervisor::FileEvent;
use linux_abi::files::ResolveFlags;
use linux_abi::{Errno, SysResult};

use crate::fs_context::Access;
use crate::landlock;
use crate::metadata::FileKind;
use crate::mount::Location;
use crate::notify::{self, Event};
use crate::observed;
use crate::permission::{self, Want, check_sticky};
use crate::walk::{Last, LastLink, resolve};

/// Removes the name of something that is no directory.
pub fn unlink(access: &Access<'_>, start: &Location, path: &[u8]) -> SysResult<()> {
    let found = resolve(access, start, path, LastLink::KeepAlways, ResolveFlags::empty())?;
    let Last::Name(name) = &found.last else { return Err(Errno::EISDIR) };
    found.parent.check_writable()?;
    let target = found.target.as_ref().ok_or(Errno::ENOENT)?;
    let is_directory = target.inode()?.kind() == FileKind::Directory;
    if found.has_trailing_slash {
        return Err(if is_directory { Errno::EISDIR } else { Errno::ENOTDIR });
    }
    check_may_remove(access, &found.parent, target)?;
    if is_directory {
        return Err(Errno::EISDIR);
    }
    check_not_mounted(&found.parent, target)?;
    let right = landlock::right_to_remove(target.inode()?.kind());
    landlock::check(access.credentials, &found.parent, right)?;
    observed::check_name(&found.parent, name)?;
    let end = if notify::is_watched() { end_of(target)? } else { End::NotYet };
    found.parent.inode()?.directory().ok_or(Errno::ENOTDIR)?.unlink(name)?;
    if target.inode()?.kind() == FileKind::Symlink {
        facts::changed(); // the path may lead elsewhere next time
    }
    target.dentry.unlinked();
    observed::tell_name(&found.parent, name, FileEvent::Removed);
    tell(&found.parent, target, name, end)
}

/// Removes an empty directory.
pub fn rmdir(access: &Access<'_>, start: &Location, path: &[u8]) -> SysResult<()> {
    let found = resolve(access, start, path, LastLink::KeepAlways, ResolveFlags::empty())?;
    let name = match &found.last {
        Last::Name(name) => name,
        Last::Dot => return Err(Errno::EINVAL),
        Last::DotDot => return Err(Errno::ENOTEMPTY),
        Last::Root => return Err(Errno::EBUSY),
    };
    found.parent.check_writable()?;
    let target = found.target.as_ref().ok_or(Errno::ENOENT)?;
    check_may_remove(access, &found.parent, target)?;
    if target.inode()?.kind() != FileKind::Directory {
        return Err(Errno::ENOTDIR);
    }
    check_not_mounted(&found.parent, target)?;
    let right = landlock::right_to_remove(target.inode()?.kind());
    landlock::check(access.credentials, &found.parent, right)?;
    observed::check_name(&found.parent, name)?;
    found.parent.inode()?.directory().ok_or(Errno::ENOTDIR)?.rmdir(name)?;
    facts::changed();
    target.dentry.unlinked();
    observed::tell_name(&found.parent, name, FileEvent::Removed);
    target.dentry.forget_children();
    tell(&found.parent, target, name, End::OfDirectory)
}

/// What becomes of something that loses a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It has other names.
    NotYet,
    /// This was its last one.
    OfFile,
    /// Directories have but one.
    OfDirectory,
}

/// Asked before the name goes: afterwards nobody may be able to say.
fn end_of(file: &Location) -> SysResult<End> {
    let has_others = file.inode()?.metadata()?.n_links > 1;
    Ok(if has_others { End::NotYet } else { End::OfFile })
}

/// Tells those who watch.
fn tell(parent: &Location, victim: &Location, name: &[u8], end: End) -> SysResult<()> {
    if !notify::is_watched() {
        return Ok(());
    }
    let is_directory = end == End::OfDirectory;
    let inode = victim.inode()?;
    if !is_directory {
        notify::of_inode(&**inode, Event::Attrib);
    }
    // Nobody else has the folder: its end comes before the loss of its name, as on Linux.
    if is_directory && Rc::strong_count(&victim.dentry) == 1 {
        notify::of_inode(&**inode, Event::DeleteSelf);
    } else if end != End::NotYet {
        victim.dentry.tell_of_end();
    }
    notify::in_directory(&**parent.inode()?, Event::Delete, name, is_directory);
    Ok(())
}

/// The part of Linux's `may_delete` that does not depend on what the victim is.
pub(super) fn check_may_remove(
    access: &Access<'_>,
    parent: &Location,
    victim: &Location,
) -> SysResult<()> {
    let directory = parent.inode()?;
    permission::check(&**directory, access.credentials, Want::WRITE | Want::EXECUTE)?;
    let ownership = directory.ownership()?;
    check_sticky(ownership, victim.inode()?.ownership()?, access.credentials)
}

/// `EBUSY` if something is mounted at `target`: the walk then has gone on into that mount.
pub(super) fn check_not_mounted(parent: &Location, target: &Location) -> SysResult<()> {
    let is_hidden_here = || {
        // What others have mounted there does not count, as on Linux.
        let all = parent.mount.namespace().map_or_else(Vec::new, |namespace| namespace.all());
        all.iter()
            .filter_map(|mount| mount.place())
            .any(|place| Rc::ptr_eq(&place.dentry, &target.dentry))
    };
    let is_free = Rc::ptr_eq(&parent.mount, &target.mount)
        && (!target.dentry.is_mount_point() || !is_hidden_here());
    if is_free { Ok(()) } else { Err(Errno::EBUSY) }
}
