//! Owners and modes that the host cannot hold, kept in an extended attribute.
//!
//! A folder that takes a guest's writes belongs to whoever started the sandbox, who may not give
//! files away or make them set-id. So the folder holds files that its owner can read and write,
//! and beside each what the guest believes. Links, FIFOs and sockets cannot have such attributes:
//! theirs is remembered for the run and then forgotten.

use std::os::fd::{AsRawFd, OwnedFd};

use host_sys::{errno_of, rustix};
use linux_abi::files::mode;
use linux_abi::{Errno, SysResult};
use rustix::fs::XattrFlags;

use super::inode::{HostInode, can_have_xattrs};
use super::place::Place;
use super::shared::Shared;
use crate::inode::Inode;
use crate::metadata::{FileKind, Metadata};

/// The attribute's name.
const NAME: &str = "user.belljar.owner";

/// Longer than any value of ours.
const MAX_VALUE: usize = 64;

/// Whether an attribute is ours, and none of the guest's business.
pub fn is_kept_mark(name: &[u8]) -> bool {
    name.starts_with(b"user.belljar.")
}

/// What the guest believes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    pub uid: u32,
    pub gid: u32,
    /// Permissions, set-id and sticky bits.
    pub mode: u32,
}

impl Kept {
    /// What is believed now.
    pub fn of(metadata: &Metadata) -> Self {
        let mode = metadata.mode & mode::CHANGEABLE;
        Self { uid: metadata.uid, gid: metadata.gid, mode }
    }

    /// Shows a file as the guest believes it to be.
    pub fn apply(self, metadata: &mut Metadata) {
        metadata.uid = self.uid;
        metadata.gid = self.gid;
        metadata.mode = metadata.mode & !mode::CHANGEABLE | self.mode;
    }

    /// The bits that the host gets: its owner can always use the file.
    pub fn host_mode(self, kind: FileKind) -> u32 {
        let own = if kind == FileKind::Directory { 0o700 } else { 0o600 };
        self.mode & mode::PERMISSIONS | own
    }

    /// Reads what is kept for `name` in `directory`, or for `directory` itself.
    pub fn read(directory: &OwnedFd, name: Option<&[u8]>) -> Option<Self> {
        let mut value = [0; MAX_VALUE];
        let path = path_of(directory, name);
        let length = match name {
            Some(_) => rustix::fs::lgetxattr(path, NAME, &mut value),
            None => rustix::fs::getxattr(path, NAME, &mut value),
        };
        let text = std::str::from_utf8(value.get(..length.ok()?)?).ok()?;
        let mut words = text.split(' ');
        let uid = words.next()?.parse().ok()?;
        let gid = words.next()?.parse().ok()?;
        let bits = u32::from_str_radix(words.next()?, 8).ok()?;
        Some(Self { uid, gid, mode: bits & mode::CHANGEABLE })
    }

    /// Keeps it for `name` in `directory`, or for `directory` itself. `EPERM` where the host has
    /// no such attributes.
    pub fn write(self, directory: &OwnedFd, name: Option<&[u8]>) -> SysResult<()> {
        let value = format!("{} {} {:o}", self.uid, self.gid, self.mode);
        let path = path_of(directory, name);
        let flags = XattrFlags::empty();
        let written = match name {
            Some(_) => rustix::fs::lsetxattr(path, NAME, value.as_bytes(), flags),
            None => rustix::fs::setxattr(path, NAME, value.as_bytes(), flags),
        };
        match written.map_err(errno_of) {
            Err(Errno::EOPNOTSUPP) => Err(Errno::EPERM),
            result => result,
        }
    }
}

/// Whether the host can keep anything beside the files of this folder; `EOPNOTSUPP` if it cannot.
/// A `tmpfs` can from Linux 6.6 on.
pub(super) fn check_keeping(folder: &OwnedFd) -> SysResult<()> {
    match rustix::fs::fgetxattr(folder, NAME, &mut [0_u8; MAX_VALUE]).map_err(errno_of) {
        Err(Errno::EOPNOTSUPP) => Err(Errno::EOPNOTSUPP),
        // That nothing is kept yet is no failure, and others show when something is kept.
        _ => Ok(()),
    }
}

/// One name in a directory that is held open. The link names the directory itself, so that no
/// other can take its place.
fn path_of(directory: &OwnedFd, name: Option<&[u8]>) -> Vec<u8> {
    let mut path = format!("/proc/self/fd/{}", directory.as_raw_fd()).into_bytes();
    if let Some(name) = name {
        path.push(b'/');
        path.extend_from_slice(name);
    }
    path
}

impl HostInode {
    /// What the guest believes of a file that has been found. Only if the folder keeps that.
    pub(super) fn read_kept(
        shared: &Shared,
        kind: FileKind,
        place: Option<&Place>,
        handle: Option<&OwnedFd>,
    ) -> Option<Kept> {
        if !shared.options.keeps_owners || !can_have_xattrs(kind) {
            return None;
        }
        match (place, handle) {
            (Some(place), _) => {
                Kept::read(&*place.parent.directory_handle().ok()?, Some(&place.name))
            }
            (None, Some(handle)) => Kept::read(handle, None),
            (None, None) => None,
        }
    }

    /// Keeps what the guest believes of owner and mode. Only if the folder does that.
    pub(super) fn keep(&self, kept: Kept) -> SysResult<()> {
        if can_have_xattrs(self.kind()) {
            match self.place() {
                Some(place) => self.where_it_is(&place, |place| {
                    kept.write(&*place.parent.directory_handle()?, Some(&place.name))
                })?,
                None => kept.write(&*self.directory_handle()?, None)?,
            }
        }
        self.kept.set(Some(kept));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Mode, OFlags};

    #[test]
    fn a_file_system_without_attributes_is_known_before_anything_is_written() {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open("/proc", flags, Mode::empty()).unwrap();
        assert_eq!(check_keeping(&folder), Err(Errno::EOPNOTSUPP));
    }
}
