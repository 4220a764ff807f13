//! Trees of files that somebody hostile may have shaped.
//!
//! A guest, a package or an archive chooses what is in such a tree: every name, every link, every
//! mode. A path that leads through it means whatever the guest wants it to mean. So there are no
//! paths here. A [`Folder`] is held by a descriptor, and everything is done in it by one name at a
//! time; a link is never followed, and what is not an ordinary file is never opened, so that no
//! FIFO makes us wait and no device does anything.
//!
//! Each name is opened with `openat2(2)`: beneath the folder, without links. Hosts before Linux 5.6
//! lack that call. There `openat(2)` with `O_NOFOLLOW` does as well, because a single name has
//! no parent to leave to and no link on its way. A longer path goes name by name, on every host.

mod files;
mod list;
mod named;
mod open;
mod remove;
mod results;
mod sparse;
mod status;
#[cfg(test)]
mod tests;
mod walk;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

pub use files::Held;
pub use list::Entry;
pub use named::read_named;
pub use results::ResultFile;
pub use status::{Kind, Status};
pub use walk::{Found, Limits, Next};

use open::{checked, open_name};
use results::is_stream;

/// A folder that is held open: what becomes of its name does not matter any more.
#[derive(Debug)]
pub struct Folder {
    /// Opened with `O_PATH`.
    descriptor: OwnedFd,
}

impl Folder {
    /// Holds the folder at a path that the user chose, not a guest: links on the way are followed.
    pub fn at(path: &Path) -> io::Result<Self> {
        let descriptor = rustix::fs::open(path, HOLD, Mode::empty())?;
        Ok(Self { descriptor })
    }

    /// The folder that a descriptor holds; anything else is an error.
    pub fn of(descriptor: impl Into<OwnedFd>) -> io::Result<Self> {
        let folder = Self { descriptor: descriptor.into() };
        match folder.status()?.kind {
            Kind::Folder => Ok(folder),
            _ => Err(Errno::NOTDIR.into()),
        }
    }

    /// Holds the folder at an absolute path that had no link on it when it was written down. A link
    /// there now was put there by somebody else, and is not followed.
    pub fn at_exactly(path: &Path) -> io::Result<Self> {
        let below = path.strip_prefix("/").map_err(|_| Errno::INVAL)?;
        Self::at(Path::new("/"))?.descend(below).map_err(|error| {
            match Errno::from_io_error(&error) {
                Some(Errno::LOOP | Errno::NOTDIR) => {
                    io::Error::other("on its path is a link, or something else by now")
                }
                _ => error,
            }
        })
    }

    /// Like [`Folder::at`], and makes it and what is missing above it first.
    pub fn make_at(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        Self::at(path)
    }

    /// Holds a folder in this one.
    pub fn folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let descriptor = open_name(&self.descriptor, name.as_ref(), HOLD, Mode::empty())?;
        Ok(Self { descriptor })
    }

    /// Holds the folder at a relative path beneath this one, name by name. The empty path is this
    /// folder.
    pub fn descend(&self, path: &Path) -> io::Result<Self> {
        let mut at = self.again()?;
        for part in path.components() {
            let Component::Normal(name) = part else { return Err(Errno::INVAL.into()) };
            at = at.folder(name)?;
        }
        Ok(at)
    }

    /// Holds the folder that has the last name of a relative path, and gives that name.
    pub fn parent_of<'p>(&self, path: &'p Path) -> io::Result<(Self, &'p OsStr)> {
        let name = checked(path.file_name().ok_or(Errno::INVAL)?)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        Ok((self.descend(parent)?, name))
    }

    /// Makes a folder that was not there, and holds it.
    pub fn make_folder(&self, name: impl AsRef<OsStr>, mode: u32) -> io::Result<Self> {
        let name = checked(name.as_ref())?;
        rustix::fs::mkdirat(&self.descriptor, name, Mode::from_raw_mode(mode))?;
        self.folder(name)
    }

    /// Holds a folder in this one, which is made if nothing has this name.
    pub fn ensure_folder(&self, name: impl AsRef<OsStr>, mode: u32) -> io::Result<Self> {
        let name = name.as_ref();
        match self.make_folder(name, mode) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.folder(name),
            made => made,
        }
    }

    /// Holds the folder at a relative path beneath this one, and makes what is missing on the way.
    pub fn ensure_path(&self, path: &Path, mode: u32) -> io::Result<Self> {
        let mut at = self.again()?;
        for part in path.components() {
            let Component::Normal(name) = part else { return Err(Errno::INVAL.into()) };
            at = at.ensure_folder(name, mode)?;
        }
        Ok(at)
    }

    /// Makes a private folder under a new name that begins with `prefix`.
    pub fn make_unique_folder(&self, prefix: &str) -> io::Result<(OsString, Self)> {
        self.with_new_name(prefix, |name| self.make_folder(name, 0o700))
    }

    /// What has this name, nothing if nothing has it. A link is a link.
    pub fn status_of(&self, name: impl AsRef<OsStr>) -> io::Result<Option<Status>> {
        let name = checked(name.as_ref())?;
        match rustix::fs::statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Status::of(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// What this folder is.
    pub fn status(&self) -> io::Result<Status> {
        Ok(Status::of(&rustix::fs::fstat(&self.descriptor)?))
    }

    /// Where a link leads. Whoever uses the answer as a path follows the link.
    pub fn read_link(&self, name: impl AsRef<OsStr>) -> io::Result<PathBuf> {
        use std::os::unix::ffi::OsStringExt;
        let target = rustix::fs::readlinkat(&self.descriptor, checked(name.as_ref())?, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }

    /// Where following a relative path, with the links on it, would lead. Nothing is opened, and
    /// nothing outside is looked at.
    pub fn leads(&self, path: &Path) -> io::Result<Leads> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        match rustix::fs::openat2(&self.descriptor, path, flags, Mode::empty(), resolve) {
            Ok(_) => Ok(Leads::Inside),
            Err(Errno::XDEV) => Ok(Leads::Outside),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(Leads::Nowhere),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Makes a link where nothing was.
    pub fn make_link(&self, name: impl AsRef<OsStr>, target: &Path) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.descriptor, checked(name.as_ref())?)?)
    }

    /// Gives something another name, maybe in another folder. What has that name, and is no
    /// folder with something in it, is replaced.
    pub fn rename(
        &self,
        name: impl AsRef<OsStr>,
        to: &Self,
        to_name: impl AsRef<OsStr>,
    ) -> io::Result<()> {
        let (name, to_name) = (checked(name.as_ref())?, checked(to_name.as_ref())?);
        Ok(rustix::fs::renameat(&self.descriptor, name, &to.descriptor, to_name)?)
    }

    /// Sets the permissions of this folder.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::chmod(self.proc_path(), Mode::from_raw_mode(mode))?)
    }

    /// Gives its owner, if that is us, every right to this folder. A guest may have taken it.
    pub fn unlock(&self) -> io::Result<()> {
        const OWNERS: u32 = 0o700;
        let Status { mode, uid, .. } = self.status()?;
        if mode & OWNERS != OWNERS && uid == rustix::process::geteuid().as_raw() {
            self.set_mode(mode | OWNERS)?;
        }
        Ok(())
    }

    /// An extended attribute of this folder, if it has it and it is not longer than `value`.
    pub fn attribute<'v>(&self, name: &str, value: &'v mut [u8]) -> Option<&'v [u8]> {
        let length = rustix::fs::getxattr(self.proc_path(), name, &mut *value).ok()?;
        value.get(..length)
    }

    /// A path that means this folder, whatever becomes of its name, in this process and for as long
    /// as this value is there. For what can only be told a path, such as a mount.
    pub fn proc_path(&self) -> PathBuf {
        proc_path(self.descriptor.as_fd())
    }

    /// The folder itself, opened, for a lock on it.
    pub fn open_itself(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // Not by name: `.` is the folder that is held.
        Ok(rustix::fs::openat(&self.descriptor, ".", flags, Mode::empty())?.into())
    }

    /// Another descriptor of the same folder.
    pub fn again(&self) -> io::Result<Self> {
        Ok(Self { descriptor: self.descriptor.try_clone()? })
    }
}

/// Where a path leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leads {
    /// To something beneath the folder.
    Inside,
    /// Out of the folder, at one of its links at least.
    Outside,
    /// To nothing.
    Nowhere,
}

impl From<Folder> for OwnedFd {
    fn from(folder: Folder) -> Self {
        folder.descriptor
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// How a folder is held: for reaching what is in it, not for reading.
const HOLD: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The link in `/proc` leads to what the descriptor holds, and not through any name.
fn proc_path(descriptor: BorrowedFd<'_>) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", descriptor.as_raw_fd()))
}
