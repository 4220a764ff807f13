//! Files of the host that hold secrets, by their names and modes. The default root shows none of
//! them. What a user mounts is shown as it is, but for what is masked.
//!
//! What is masked is refused (`EACCES`), in the host folder itself: no mount that a guest makes or
//! takes away leads around it, and nothing can be made in its place.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::rc::Rc;

use host_sys::rustix;
use linux_abi::{Errno, SysResult};
use sandbox_spec::credentials::{HIDDEN_NAMES, NAMES_IN_FOLDERS};

use super::HostFs;
use super::inode::HostInode;
use super::shared::HostId;
use crate::inode::Inode;
use crate::metadata::FileKind;

/// What of a folder is not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hides {
    /// Nothing: the operator has named the folder.
    #[default]
    Nothing,
    /// Files of [`HIDDEN_NAMES`] in folders for settings, as in `/usr/local/etc`. Elsewhere a
    /// program has these names for data of its own.
    SecretSettings,
    /// Files of [`HIDDEN_NAMES`] everywhere, and what not everybody on the host may read: a program
    /// in a sandbox is nobody in particular, even if root has started it.
    Secrets,
}

/// The name of a folder for settings.
const SETTINGS_FOLDER: &[u8] = b"etc";

const OTHERS_READ: u32 = 0o004;
const OTHERS_SEARCH: u32 = 0o001;

impl Hides {
    /// Whether a name says that a file is secret. `folder` is the name of the folder it is in.
    pub fn hides_name(self, folder: &[u8], name: &[u8]) -> bool {
        let is_asked = match self {
            Self::Nothing => false,
            Self::SecretSettings => folder == SETTINGS_FOLDER,
            Self::Secrets => true,
        };
        is_asked
            && (HIDDEN_NAMES.iter().any(|it| it.as_bytes() == name)
                || NAMES_IN_FOLDERS
                    .iter()
                    .any(|(top, it, _)| top.as_bytes() == folder && it.as_bytes() == name))
    }

    /// Whether a mode says that a file is not for everybody. That of a link says nothing.
    pub fn hides_mode(self, mode: u32) -> bool {
        let needed = match FileKind::of_mode(mode) {
            FileKind::Regular => OTHERS_READ,
            FileKind::Directory => OTHERS_READ | OTHERS_SEARCH,
            _ => 0,
        };
        self == Self::Secrets && mode & needed != needed
    }
}

impl HostFs {
    /// Masks paths from the top of the folder. What is not there yet is masked if the directory that
    /// it would be in is there.
    pub fn mask(&self, paths: &[PathBuf]) -> SysResult<()> {
        for path in paths {
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { continue };
            let mut names = folder.iter().map(OsStrExt::as_bytes);
            let found = names.try_fold(Rc::clone(&self.root), |at, name| at.find(name));
            let id = match found {
                Ok(folder) => folder.directory_id(),
                // What guests cannot reach needs no mask; links are masked where they lead to.
                Err(Errno::ENOENT | Errno::ENOTDIR | Errno::EACCES | Errno::ELOOP) => None,
                Err(errno) => return Err(errno),
            };
            if let Some(id) = id {
                let name = name.as_bytes().into();
                self.shared.masked.borrow_mut().entry(id).or_default().push(name);
            }
        }
        Ok(())
    }
}

impl HostInode {
    /// `EACCES` for a name in this directory that is masked.
    pub(super) fn check_name_is_free(&self, name: &[u8]) -> SysResult<()> {
        let masked = self.shared.masked.borrow();
        if masked.is_empty() {
            return Ok(());
        }
        let is_masked = |names: &Vec<Box<[u8]>>| names.iter().any(|masked| **masked == *name);
        let names = self.directory_id().and_then(|id| masked.get(&id));
        if names.is_some_and(is_masked) { Err(Errno::EACCES) } else { Ok(()) }
    }

    /// The number of this directory; nothing for other files.
    fn directory_id(&self) -> Option<HostId> {
        (self.kind() == FileKind::Directory).then_some(self.id())
    }

    /// An error for a name in this directory that is not shown.
    pub(super) fn check_name_is_shown(&self, name: &[u8]) -> SysResult<()> {
        self.check_name_is_free(name)?;
        let hides = self.shared.options.hides;
        if hides == Hides::Nothing {
            return Ok(());
        }
        let place = self.place.borrow();
        let folder = place.as_ref().map_or(&b""[..], |place| &place.name);
        if hides.hides_name(folder, name) { Err(Errno::ENOENT) } else { Ok(()) }
    }

    /// `ENOENT` for a file that is not shown because of its mode.
    pub(super) fn check_mode_is_shown(&self, stat: &rustix::fs::Statx) -> SysResult<()> {
        let is_hidden = self.shared.options.hides.hides_mode(u32::from(stat.stx_mode));
        if is_hidden { Err(Errno::ENOENT) } else { Ok(()) }
    }

    /// Whether a name that the host lists is shown.
    pub(super) fn lists(&self, name: &[u8]) -> bool {
        match self.shared.options.hides {
            Hides::Nothing => self.check_name_is_free(name).is_ok(),
            Hides::SecretSettings => self.check_name_is_shown(name).is_ok(),
            Hides::Secrets => self.find(name).is_ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_secret_where_it_is_asked_for() {
        assert!(!Hides::Nothing.hides_name(b"etc", b"npmrc"));
        assert!(Hides::SecretSettings.hides_name(b"etc", b"npmrc"));
        assert!(!Hides::SecretSettings.hides_name(b"npm", b"npmrc"));
        assert!(Hides::Secrets.hides_name(b"tool", b".env"));
        assert!(Hides::Secrets.hides_name(b"conf", b"settings.xml"));
        assert!(!Hides::Secrets.hides_name(b"editor", b"settings.xml"));
        assert!(!Hides::Secrets.hides_name(b"lib", b"secrets.py"));
    }

    #[test]
    fn what_others_cannot_read_is_hidden() {
        let (file, folder, link) = (0o100_000, 0o040_000, 0o120_000);
        assert!(
            Hides::Secrets.hides_mode(file | 0o640) && Hides::Secrets.hides_mode(folder | 0o750)
        );
        assert!(Hides::Secrets.hides_mode(folder | 0o754));
        assert!(!Hides::Secrets.hides_mode(file | 0o644) && !Hides::Secrets.hides_mode(link));
        assert!(!Hides::SecretSettings.hides_mode(file | 0o600));
    }
}
