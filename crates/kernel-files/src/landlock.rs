//! Landlock's rules about files: what a domain lets its tasks do at a place.

use std::rc::Rc;

use kernel_core::credentials::Credentials;
use kernel_core::landlock::{Domain, FileKey, fs};
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, SysResult};

use crate::inode::{Inode, NewKind};
use crate::metadata::FileKind;
use crate::mount::Location;

/// What names a file in a rule.
pub fn key_of(inode: &Rc<dyn Inode>) -> FileKey {
    Rc::as_ptr(inode).cast::<()>().addr()
}

/// The rights that a layer gives at a place: those of rules for it and for everything above.
fn given(layer: &Domain, place: &Location) -> u64 {
    let mut rights = 0;
    let mut at = place.clone();
    loop {
        if let Some(inode) = at.dentry.inode_if_any() {
            rights |= layer.rights_of(key_of(inode));
        }
        let above = match at.dentry.parent() {
            Some(parent) if !at.is_mount_root() => {
                Some(Location { mount: Rc::clone(&at.mount), dentry: parent })
            }
            _ => at.mount.place(),
        };
        match above {
            Some(above) => at = above,
            None => return rights,
        }
    }
}

/// Whether a place is one that rules can name: pipes, sockets and the like are at none.
fn is_placed(place: &Location) -> bool {
    place.mount.namespace().is_some()
}

/// `EACCES` unless all layers give these rights at a place.
fn check_domain(domain: &Domain, place: &Location, rights: u64) -> SysResult<()> {
    if !is_placed(place) {
        return Ok(());
    }
    for layer in domain.layers() {
        let needed = rights & layer.handled_fs();
        if needed != 0 && needed & !given(layer, place) != 0 {
            return Err(Errno::EACCES);
        }
    }
    Ok(())
}

/// `EACCES` if the caller's rules, should it have any, do not give `rights` at a place.
pub fn check(credentials: &Credentials, place: &Location, rights: u64) -> SysResult<()> {
    match &credentials.landlock {
        Some(domain) => check_domain(domain, place, rights),
        None => Ok(()),
    }
}

/// `EACCES` if a file may not be opened so.
pub(crate) fn check_open(
    credentials: &Credentials,
    place: &Location,
    flags: OpenFlags,
) -> SysResult<()> {
    if credentials.landlock.is_none() {
        return Ok(());
    }
    let is_directory = place.inode()?.kind() == FileKind::Directory;
    let mut rights = 0;
    if flags.can_read() {
        rights |= if is_directory { fs::READ_DIR } else { fs::READ_FILE };
    }
    if flags.can_write() {
        rights |= fs::WRITE_FILE;
    }
    if flags.contains(OpenFlags::TRUNC) {
        rights |= fs::TRUNCATE;
    }
    check(credentials, place, rights)
}

/// What may not be done later with a file that was opened at a place.
pub(crate) fn withheld(credentials: &Credentials, place: &Location) -> u64 {
    let Some(domain) = &credentials.landlock else { return 0 };
    [fs::TRUNCATE, fs::IOCTL_DEV]
        .into_iter()
        .filter(|&right| check_domain(domain, place, right).is_err())
        .fold(0, |all, right| all | right)
}

/// What stays withheld from an open file.
pub struct Withheld(pub u64);

/// The right to make a file of this kind.
pub(crate) fn right_to_make(kind: &NewKind<'_>) -> u64 {
    match kind {
        NewKind::Regular => fs::MAKE_REG,
        NewKind::Directory => fs::MAKE_DIR,
        NewKind::Symlink(_) => fs::MAKE_SYM,
        NewKind::Fifo => fs::MAKE_FIFO,
        NewKind::Socket => fs::MAKE_SOCK,
        NewKind::CharacterDevice(_) => fs::MAKE_CHAR,
        NewKind::BlockDevice(_) => fs::MAKE_BLOCK,
    }
}

/// The right to have an existing file of this kind in a folder where it was not.
fn right_to_place(kind: FileKind) -> u64 {
    match kind {
        FileKind::Directory => fs::MAKE_DIR,
        FileKind::Symlink => fs::MAKE_SYM,
        FileKind::Fifo => fs::MAKE_FIFO,
        FileKind::Socket => fs::MAKE_SOCK,
        FileKind::CharacterDevice => fs::MAKE_CHAR,
        FileKind::BlockDevice => fs::MAKE_BLOCK,
        _ => fs::MAKE_REG,
    }
}

/// The right to take a file of this kind out of a folder.
pub(crate) fn right_to_remove(kind: FileKind) -> u64 {
    if kind == FileKind::Directory { fs::REMOVE_DIR } else { fs::REMOVE_FILE }
}

/// A file of a folder gets a name in another one, or another name in the same.
pub(crate) struct Refer<'a> {
    /// The folder that it is in.
    pub(crate) from: &'a Location,
    /// The folder that it comes to.
    pub(crate) to: &'a Location,
    /// What it is.
    pub(crate) kind: FileKind,
    /// It leaves the old folder.
    pub(crate) moves: bool,
    /// What it replaces.
    pub(crate) replaces: Option<FileKind>,
    /// What it replaces takes its place.
    pub(crate) exchanges: bool,
}

impl Refer<'_> {
    /// `EACCES` if names may not be made or removed, `EXDEV` if files may not change folders.
    pub(crate) fn check(&self, credentials: &Credentials) -> SysResult<()> {
        let Some(domain) = &credentials.landlock else { return Ok(()) };
        let mut leaving = if self.moves { right_to_remove(self.kind) } else { 0 };
        let mut coming = right_to_place(self.kind);
        if let Some(replaced) = self.replaces {
            coming |= right_to_remove(replaced);
            if self.exchanges {
                leaving |= right_to_place(replaced);
            }
        }
        check_domain(domain, self.from, leaving)?;
        check_domain(domain, self.to, coming)?;
        if Rc::ptr_eq(&self.from.dentry, &self.to.dentry) || !domain.concerns_files() {
            return Ok(());
        }
        let is_fine = |layer: &Domain| {
            if layer.handled_fs() == 0 {
                return true;
            }
            let (old, new) = (given(layer, self.from), given(layer, self.to));
            let both = old & new & fs::REFER != 0;
            // Nothing may gain rights by going elsewhere.
            let of_kind = |kind| if kind == FileKind::Directory { fs::ALL } else { fs::OF_FILES };
            let gains = new & !old & layer.handled_fs() & of_kind(self.kind) != 0;
            let swaps = self.replaces.filter(|_| self.exchanges);
            let loses =
                swaps.is_some_and(|kind| old & !new & layer.handled_fs() & of_kind(kind) != 0);
            both && !gains && !loses
        };
        if domain.layers().all(is_fine) { Ok(()) } else { Err(Errno::EXDEV) }
    }
}
