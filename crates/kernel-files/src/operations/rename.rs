//! `rename` in all its forms.

use std::rc::Rc;

use kernel_core::facts;
use linux_abi::files::ResolveFlags;
use linux_abi::{Errno, SysResult};

use super::create::check_may_create;
use super::remove::{check_may_remove, check_not_mounted};
use crate::dentry::Dentry;
use crate::fs_context::Access;
use crate::inode::{Inode, RenameMode};
use crate::landlock;
use crate::metadata::FileKind;
use crate::mount::Location;
use crate::notify::{self, Event};
use crate::observed;
use crate::permission::{self, Want};
use crate::walk::{Found, Last, LastLink, resolve};

bitflags::bitflags! {
    /// `RENAME_*` of `renameat2(2)`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RenameFlags: u32 {
        /// Fail if the new name is taken.
        const NO_REPLACE = 1;
        /// Let the two files change places.
        const EXCHANGE = 2;
        /// Leave a whiteout behind.
        const WHITEOUT = 4;
    }
}

/// Gives the file at the old path the new path.
pub fn rename(
    access: &Access<'_>,
    (old_start, old_path): (&Location, &[u8]),
    (new_start, new_path): (&Location, &[u8]),
    flags: RenameFlags,
) -> SysResult<()> {
    let find =
        |start, path| resolve(access, start, path, LastLink::KeepAlways, ResolveFlags::empty());
    let old = find(old_start, old_path)?;
    let new = find(new_start, new_path)?;
    if !Rc::ptr_eq(&old.parent.mount, &new.parent.mount) {
        return Err(Errno::EXDEV);
    }
    let Last::Name(old_name) = &old.last else { return Err(Errno::EBUSY) };
    let Last::Name(new_name) = &new.last else {
        let no_replace = flags.contains(RenameFlags::NO_REPLACE);
        return Err(if no_replace { Errno::EEXIST } else { Errno::EBUSY });
    };
    old.parent.check_writable()?;
    let moved = old.target.as_ref().ok_or(Errno::ENOENT)?;
    check_names(&old, &new, moved, flags)?;
    let target = new.target.as_ref();
    if let Some(target) = target
        && Rc::ptr_eq(target.inode()?, moved.inode()?)
    {
        return Ok(());
    }
    check_permissions(access, &old, &new, moved, flags)?;
    let replaces = match target {
        Some(target) => Some(target.inode()?.kind()),
        None => None,
    };
    let refer = landlock::Refer {
        from: &old.parent,
        to: &new.parent,
        kind: moved.inode()?.kind(),
        moves: true,
        replaces,
        exchanges: flags.contains(RenameFlags::EXCHANGE),
    };
    refer.check(access.credentials)?;
    observed::check_name(&old.parent, old_name)?;
    observed::check_name(&new.parent, new_name)?;
    let mode = if flags.contains(RenameFlags::EXCHANGE) {
        RenameMode::Exchange
    } else if flags.contains(RenameFlags::WHITEOUT) {
        RenameMode::Whiteout
    } else {
        RenameMode::Replace
    };
    let old_directory = old.parent.inode()?.directory().ok_or(Errno::ENOTDIR)?;
    old_directory.rename(old_name, new.parent.inode()?, new_name, mode)?;
    facts::changed();
    move_dentries(&new, moved, new_name, mode);
    observed::tell_rename((&old.parent, old_name), (&new.parent, new_name), target.is_some());
    let moves_directory = is_directory(moved.inode()?);
    let cookie = notify::next_cookie();
    notify::in_directory(
        &**old.parent.inode()?,
        Event::MovedFrom(cookie),
        old_name,
        moves_directory,
    );
    notify::in_directory(&**new.parent.inode()?, Event::MovedTo(cookie), new_name, moves_directory);
    notify::of_inode(&**moved.inode()?, Event::MoveSelf);
    Ok(())
}

fn is_directory(inode: &Rc<dyn Inode>) -> bool {
    inode.kind() == FileKind::Directory
}

/// What Linux checks of the names before it looks at permissions.
fn check_names(old: &Found, new: &Found, moved: &Location, flags: RenameFlags) -> SysResult<()> {
    let exchanges = flags.contains(RenameFlags::EXCHANGE);
    if flags.contains(RenameFlags::NO_REPLACE) && new.target.is_some() {
        return Err(Errno::EEXIST);
    }
    if exchanges {
        let target = new.target.as_ref().ok_or(Errno::ENOENT)?;
        if !is_directory(target.inode()?) && new.has_trailing_slash {
            return Err(Errno::ENOTDIR);
        }
    }
    if !is_directory(moved.inode()?)
        && (old.has_trailing_slash || (new.has_trailing_slash && !exchanges))
    {
        return Err(Errno::ENOTDIR);
    }
    // A directory cannot go beneath itself, and what is replaced cannot be above what moves.
    if moved.dentry.contains(&new.parent.dentry) {
        return Err(Errno::EINVAL);
    }
    if let Some(target) = &new.target
        && target.dentry.contains(&old.parent.dentry)
    {
        return Err(if exchanges { Errno::EINVAL } else { Errno::ENOTEMPTY });
    }
    Ok(())
}

fn check_permissions(
    access: &Access<'_>,
    old: &Found,
    new: &Found,
    moved: &Location,
    flags: RenameFlags,
) -> SysResult<()> {
    let moves_directory = is_directory(moved.inode()?);
    check_may_remove(access, &old.parent, moved)?;
    let exchanges = flags.contains(RenameFlags::EXCHANGE);
    match &new.target {
        None => check_may_create(access, &new.parent)?,
        Some(target) => {
            check_may_remove(access, &new.parent, target)?;
            let replaces_directory = is_directory(target.inode()?);
            if !exchanges && moves_directory && !replaces_directory {
                return Err(Errno::ENOTDIR);
            }
            if !exchanges && !moves_directory && replaces_directory {
                return Err(Errno::EISDIR);
            }
        }
    }
    // The `..` of a directory that goes elsewhere changes, which is a write to it.
    if !Rc::ptr_eq(&old.parent.dentry, &new.parent.dentry) {
        if moves_directory {
            permission::check(&**moved.inode()?, access.credentials, Want::WRITE)?;
        }
        if let Some(target) = &new.target
            && exchanges
            && is_directory(target.inode()?)
        {
            permission::check(&**target.inode()?, access.credentials, Want::WRITE)?;
        }
    }
    check_not_mounted(&old.parent, moved)?;
    new.target.as_ref().map_or(Ok(()), |target| check_not_mounted(&new.parent, target))
}

/// Brings the remembered names in line with what the file system did.
fn move_dentries(new: &Found, moved: &Location, new_name: &[u8], mode: RenameMode) {
    if let Some(target) = &new.target {
        if mode == RenameMode::Exchange {
            Dentry::exchange(&moved.dentry, &target.dentry);
            return;
        }
        target.dentry.unlinked();
    }
    moved.dentry.moved(&new.parent.dentry, new_name);
}
