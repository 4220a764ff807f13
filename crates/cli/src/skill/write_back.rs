//! Writes changes that were kept aside back to the folder that they belong to.
//!
//! The layer was written by a program that nobody trusts. So no link is followed, neither there
//! nor in the folder: every folder on the way is opened beneath the top, without links, and
//! everything is done in it by name.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use host_sys::rustix::fs::{
    self, AtFlags, FileType, Mode, OFlags, ResolveFlags, fchmod, openat, openat2, renameat,
};
use host_sys::rustix::io::Errno;

use super::changes::{Change, Happened, Now};

/// Permissions that are written back: no set-id bits.
const KEPT_MODE: u32 = 0o777;

/// A change that could not be written back.
#[derive(Debug)]
pub struct NotWritten {
    /// The path, relative to the folder.
    pub path: PathBuf,
    /// Why not.
    pub cause: io::Error,
}

/// Writes the changes of the layer `upper` to `folder`. What cannot be written is returned; the
/// rest is done nevertheless.
pub fn write_back(upper: &Path, folder: &Path, changes: &[Change]) -> io::Result<Vec<NotWritten>> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let places = Places {
        from: openat(fs::CWD, upper, flags, Mode::empty())?,
        to: openat(fs::CWD, folder, flags, Mode::empty())?,
    };
    let mut failed = Vec::new();
    for change in changes {
        if let Err(cause) = places.write(change) {
            failed.push(NotWritten { path: change.path.clone(), cause });
        }
    }
    Ok(failed)
}

struct Places {
    from: OwnedFd,
    to: OwnedFd,
}

impl Places {
    fn write(&self, change: &Change) -> io::Result<()> {
        let (folder, name) = split(&self.to, &change.path)?;
        let there = kind_at(folder.as_fd(), name)?;
        match &change.now {
            Now::Special => Err(io::Error::other("it is no file, folder or link")),
            Now::Nothing => remove(folder.as_fd(), name, there),
            Now::Folder => {
                if there != Some(FileType::Directory) {
                    remove(folder.as_fd(), name, there)?;
                    fs::mkdirat(&folder, name, Mode::from_raw_mode(0o755))?;
                }
                Ok(())
            }
            Now::Link { target } => {
                remove(folder.as_fd(), name, there)?;
                Ok(fs::symlinkat(target, &folder, name)?)
            }
            Now::File { .. } => {
                if there == Some(FileType::Directory) || change.happened == Happened::Removed {
                    remove(folder.as_fd(), name, there)?;
                }
                self.copy(&change.path, folder.as_fd(), name)
            }
        }
    }

    /// Copies a file beside its place and then puts it there, so that it appears whole.
    fn copy(&self, path: &Path, folder: BorrowedFd<'_>, name: &Path) -> io::Result<()> {
        let (from, from_name) = split(&self.from, path)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut source = File::from(openat(&from, from_name, flags, Mode::empty())?);
        let metadata = source.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is no file any more"));
        }
        let aside = format!(".belljar-{}", std::process::id());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut copy = File::from(openat(folder, &aside, flags, Mode::from_raw_mode(0o600))?);
        let bits = std::os::unix::fs::MetadataExt::mode(&metadata) & KEPT_MODE;
        let written = io::copy(&mut source, &mut copy)
            .and_then(|_| Ok(fchmod(&copy, Mode::from_raw_mode(bits))?))
            .and_then(|()| Ok(renameat(folder, &aside, folder, name)?));
        if written.is_err() {
            // The failure that is told is the one that led here.
            let _ = fs::unlinkat(folder, &aside, AtFlags::empty());
        }
        written
    }
}

/// The folder that holds `path`, reached without following a link, and the last name.
fn split<'p>(top: &OwnedFd, path: &'p Path) -> io::Result<(OwnedFd, &'p Path)> {
    let name = path.file_name().ok_or(Errno::INVAL)?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let folder = openat2(top, parent, flags, Mode::empty(), resolve)?;
    Ok((folder, Path::new(name)))
}

fn kind_at(folder: BorrowedFd<'_>, name: &Path) -> io::Result<Option<FileType>> {
    match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn remove(folder: BorrowedFd<'_>, name: &Path, there: Option<FileType>) -> io::Result<()> {
    match there {
        None => Ok(()),
        Some(FileType::Directory) => {
            // Follows no link beneath this path, whose beginning is the folder that we hold.
            let held = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
            std::fs::remove_dir_all(held.join(name))
        }
        Some(_) => Ok(fs::unlinkat(folder, name, AtFlags::empty())?),
    }
}

#[cfg(test)]
mod tests {
    use super::super::changes::list;
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    struct Case {
        _top: tempfile::TempDir,
        upper: PathBuf,
        folder: PathBuf,
    }

    fn case() -> Case {
        let top = tempfile::tempdir().unwrap();
        let (upper, folder) = (top.path().join("upper"), top.path().join("folder"));
        fs::create_dir(&upper).unwrap();
        fs::create_dir(&folder).unwrap();
        Case { _top: top, upper, folder }
    }

    fn apply(case: &Case) -> Vec<NotWritten> {
        let changes = list(&case.upper, Some(&case.folder)).unwrap();
        let failed = write_back(&case.upper, &case.folder, &changes).unwrap();
        if failed.is_empty() {
            assert_eq!(list(&case.upper, Some(&case.folder)).unwrap(), []);
        }
        failed
    }

    #[test]
    fn files_folders_and_links_arrive() {
        let case = case();
        fs::create_dir_all(case.upper.join("a/b")).unwrap();
        fs::write(case.upper.join("a/b/tool"), "x").unwrap();
        let mode = fs::Permissions::from_mode(0o4755);
        fs::set_permissions(case.upper.join("a/b/tool"), mode).unwrap();
        symlink("b/tool", case.upper.join("a/link")).unwrap();
        let changes = list(&case.upper, Some(&case.folder)).unwrap();
        assert!(write_back(&case.upper, &case.folder, &changes).unwrap().is_empty());
        let tool = fs::metadata(case.folder.join("a/b/tool")).unwrap();
        assert_eq!(tool.permissions().mode() & 0o7777, 0o755);
        assert_eq!(fs::read_link(case.folder.join("a/link")).unwrap(), Path::new("b/tool"));
        assert_eq!(fs::read_dir(case.folder.join("a/b")).unwrap().count(), 1);
    }

    #[test]
    fn a_link_in_the_folder_is_replaced_and_never_followed() {
        let case = case();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("key"), "mine").unwrap();
        symlink(outside.path(), case.folder.join("d")).unwrap();
        symlink(outside.path().join("key"), case.folder.join("f")).unwrap();
        fs::create_dir(case.upper.join("d")).unwrap();
        fs::write(case.upper.join("d/key"), "theirs").unwrap();
        fs::write(case.upper.join("f"), "theirs").unwrap();
        assert!(apply(&case).is_empty());
        assert_eq!(fs::read(outside.path().join("key")).unwrap(), b"mine");
        assert_eq!(fs::read(case.folder.join("d/key")).unwrap(), b"theirs");
        assert_eq!(fs::read(case.folder.join("f")).unwrap(), b"theirs");
    }

    #[test]
    fn a_folder_is_replaced_by_a_file() {
        let case = case();
        fs::create_dir_all(case.folder.join("x/y")).unwrap();
        fs::write(case.upper.join("x"), "file").unwrap();
        assert!(apply(&case).is_empty());
        assert!(case.folder.join("x").is_file());
    }
}
