//! Writes changes that were kept aside back to the folder that they belong to.
//!
//! The layer was written by a program that nobody trusts. So no link is followed, neither there
//! nor in the folder: everything is done by name in folders that are held.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use host_sys::beneath::{Folder, Kind};

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
pub fn write_back(upper: Folder, folder: Folder, changes: &[Change]) -> Vec<NotWritten> {
    let places = Places { from: upper, to: folder };
    let mut failed = Vec::new();
    for change in changes {
        if let Err(cause) = places.write(change) {
            failed.push(NotWritten { path: change.path.clone(), cause });
        }
    }
    failed
}

struct Places {
    from: Folder,
    to: Folder,
}

impl Places {
    fn write(&self, change: &Change) -> io::Result<()> {
        let (folder, name) = self.to.parent_of(&change.path)?;
        let there = folder.status_of(name)?.map(|it| it.kind);
        match &change.now {
            Now::Special => Err(io::Error::other("it is no file, folder or link")),
            Now::Nothing => folder.remove_unlocked(name),
            Now::Folder => {
                if there != Some(Kind::Folder) {
                    folder.remove_unlocked(name)?;
                    folder.make_folder(name, 0o755)?;
                }
                Ok(())
            }
            Now::Link { target } => {
                folder.remove_unlocked(name)?;
                folder.make_link(name, target)
            }
            Now::File { .. } => {
                if there == Some(Kind::Folder) || change.happened == Happened::Removed {
                    folder.remove_unlocked(name)?;
                }
                self.copy(&change.path, &folder, name)
            }
        }
    }

    fn copy(&self, path: &Path, folder: &Folder, name: &OsStr) -> io::Result<()> {
        let (from, from_name) = self.from.parent_of(path)?;
        let held = from.hold(from_name)?;
        folder.replace_by_copy(name, held.status.mode & KEPT_MODE, &held.open()?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::changes::tests::list;
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

    fn write_all(case: &Case, changes: &[Change]) -> Vec<NotWritten> {
        let held = |path: &Path| Folder::at(path).unwrap();
        write_back(held(&case.upper), held(&case.folder), changes)
    }

    fn apply(case: &Case) -> Vec<NotWritten> {
        let changes = list(&case.upper, Some(&case.folder)).unwrap();
        let failed = write_all(case, &changes);
        if failed.is_empty() {
            assert_eq!(list(&case.upper, Some(&case.folder)).unwrap(), []);
        }
        failed
    }

    #[test]
    fn a_file_of_holes_takes_nothing_of_the_disk() {
        use std::os::unix::fs::MetadataExt;
        let case = case();
        let file = fs::File::create(case.upper.join("huge")).unwrap();
        file.set_len(8 << 40).unwrap();
        let changes = list(&case.upper, Some(&case.folder)).unwrap();
        assert!(write_all(&case, &changes).is_empty());
        // To see that nothing is different would take hours, so that it is not looked for.
        assert_eq!(list(&case.upper, Some(&case.folder)).unwrap().len(), 1);
        let there = fs::metadata(case.folder.join("huge")).unwrap();
        assert_eq!((there.len(), there.blocks()), (8 << 40, 0));
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
        assert!(write_all(&case, &changes).is_empty());
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
