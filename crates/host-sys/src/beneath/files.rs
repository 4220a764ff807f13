//! Files beneath a folder: read, made new, and replaced as a whole.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use super::open::{checked, open_name};
use super::sparse::copy_with_holes;
use super::{Folder, Kind, Status, proc_path};
use crate::open_again;

/// How often a name is drawn that nothing has yet.
const MAX_DRAWS: usize = 16;

/// As for any new file: the user's mask takes from it.
pub(super) const NEW_MODE: u32 = 0o666;

/// The permissions of a file that is put in a place.
#[derive(Clone, Copy, Debug)]
pub(super) enum NewMode {
    /// These.
    Exactly(u32),
    /// Those that a new file of the user gets.
    AsNew,
}

/// Something that is held without being opened: a file, a link, or whatever else has a name.
#[derive(Debug)]
pub struct Held {
    descriptor: OwnedFd,
    /// What it is.
    pub status: Status,
}

impl Held {
    /// Opens the file for reading. Anything else than a file is refused, unopened.
    pub fn open(&self) -> io::Result<File> {
        self.check_file()?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        Ok(open_again(&self.descriptor, flags)?.into())
    }

    /// Fails if it is no file.
    pub fn check_file(&self) -> io::Result<()> {
        if self.status.kind == Kind::File {
            return Ok(());
        }
        let words = format!("it is {}, not a file", self.status.kind.words());
        Err(io::Error::new(io::ErrorKind::InvalidInput, words))
    }

    /// Sets its permissions. A link has none.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        if self.status.kind == Kind::Link {
            return Err(Errno::OPNOTSUPP.into());
        }
        Ok(rustix::fs::chmod(self.proc_path(), Mode::from_raw_mode(mode))?)
    }

    /// A path that means it; see [`Folder::proc_path`].
    pub fn proc_path(&self) -> PathBuf {
        proc_path(self.descriptor.as_fd())
    }
}

impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Folder {
    /// Holds whatever has this name; of a link, the link.
    pub fn hold(&self, name: impl AsRef<OsStr>) -> io::Result<Held> {
        let descriptor = open_name(self, name.as_ref(), OFlags::PATH, Mode::empty())?;
        let status = Status::of(&rustix::fs::fstat(&descriptor)?);
        Ok(Held { descriptor, status })
    }

    /// Opens a file for reading. A link, a FIFO, a socket or a device is an error.
    pub fn open(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.hold(name)?.open()
    }

    /// All bytes of a file that has at most `most` of them.
    pub fn read(&self, name: impl AsRef<OsStr>, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open(name)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length <= most) {
            return Ok(bytes);
        }
        let words = format!("it has more than {most} bytes");
        Err(io::Error::new(io::ErrorKind::FileTooLarge, words))
    }

    /// Makes a file where nothing was, for writing.
    pub fn create(&self, name: impl AsRef<OsStr>, mode: u32) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        Ok(open_name(self, name.as_ref(), flags, Mode::from_raw_mode(mode))?.into())
    }

    /// Puts a file with these bytes and permissions in the place of whatever has this name and is no
    /// folder. It is made beside its place first, so that it appears whole or not at all.
    pub fn replace(
        &self,
        name: impl AsRef<OsStr>,
        mode: u32,
        mut bytes: impl Read,
    ) -> io::Result<()> {
        let fill = |file: &mut File| io::copy(&mut bytes, file).map(|_| ());
        self.replace_with(name.as_ref(), NewMode::Exactly(mode), fill)
    }

    /// The same with the bytes of a file, of which holes stay holes: a file that takes nothing on
    /// the disk may say that it has more bytes than any disk.
    pub fn replace_by_copy(
        &self,
        name: impl AsRef<OsStr>,
        mode: u32,
        from: &File,
    ) -> io::Result<()> {
        let fill = |file: &mut File| copy_with_holes(from, file);
        self.replace_with(name.as_ref(), NewMode::Exactly(mode), fill)
    }

    pub(super) fn replace_with(
        &self,
        name: &OsStr,
        mode: NewMode,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let name = checked(name)?;
        let (beside, mut file) = self.create_beside(mode)?;
        let written = fill(&mut file)
            .and_then(|()| file.flush())
            .and_then(|()| match mode {
                NewMode::Exactly(mode) => Ok(rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?),
                NewMode::AsNew => Ok(()),
            })
            .and_then(|()| self.rename(&beside, self, name));
        if written.is_err() {
            // The failure that is told is the one that led here.
            let _ = self.remove_file(&beside);
        }
        written
    }

    /// Sets the permissions of what has this name, and is no link.
    pub fn set_mode_of(&self, name: impl AsRef<OsStr>, mode: u32) -> io::Result<()> {
        self.hold(name)?.set_mode(mode)
    }

    /// Removes a name that is no folder's. A link goes, not what it leads to.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(self, checked(name.as_ref())?, AtFlags::empty())?)
    }

    /// A new file under a name that nobody can have guessed.
    fn create_beside(&self, mode: NewMode) -> io::Result<(OsString, File)> {
        let mode = match mode {
            // Nobody else reads it before it is whole.
            NewMode::Exactly(_) => 0o600,
            NewMode::AsNew => NEW_MODE,
        };
        self.with_new_name(BESIDE, |name| self.create(name, mode))
    }

    /// Makes something under a name that begins with `prefix` and that nothing had.
    pub(super) fn with_new_name<T>(
        &self,
        prefix: &str,
        make: impl Fn(&OsStr) -> io::Result<T>,
    ) -> io::Result<(OsString, T)> {
        for _ in 0..MAX_DRAWS {
            let name = unguessed_name(prefix)?;
            match make(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|made| (name, made)),
            }
        }
        Err(Errno::EXIST.into())
    }
}

/// How the names of files begin that are not in their place yet.
pub(super) const BESIDE: &str = ".belljar-";

/// A name that nobody can have guessed.
pub(super) fn unguessed_name(prefix: &str) -> io::Result<OsString> {
    let mut bytes = [0; 8];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(format!("{prefix}{:016x}", u64::from_ne_bytes(bytes)).into())
}
