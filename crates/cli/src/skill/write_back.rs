//! Writes changes that were kept aside back to the folder that they belong to.
//!
//! The layer was written by a program that nobody trusts. So no link is followed, neither there
//! nor in the folder: everything is done by name in folders that are held. What takes the place of
//! something is ready before that goes: a copy that fails costs nothing.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use host_sys::beneath::{Folder, Kind};

use super::changes::{Change, Now};

/// Permissions that are written back: no set-id bits.
const KEPT_MODE: u32 = 0o777;

/// How the name of a folder begins in which something is made ready.
const BESIDE: &str = ".belljar-new-";
/// Its name there.
const NEW: &str = "new";

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
            Now::Folder if there == Some(Kind::Folder) => Ok(()),
            Now::Folder => {
                put(&folder, name, there, &|beside| beside.make_folder(NEW, 0o755).map(|_| ()))
            }
            Now::Link { target } => {
                put(&folder, name, there, &|beside| beside.make_link(NEW, target))
            }
            Now::File { .. } => {
                let (from, from_name) = self.from.parent_of(&change.path)?;
                let held = from.hold(from_name)?;
                let (mode, file) = (held.status.mode & KEPT_MODE, held.open()?);
                if there != Some(Kind::Folder) {
                    return folder.replace_by_copy(name, mode, &file);
                }
                put(&folder, name, there, &|beside| beside.replace_by_copy(NEW, mode, &file))
            }
        }
    }
}

/// Makes something in a folder of its own, and then puts it where `there` is what was there.
fn put(
    folder: &Folder,
    name: &OsStr,
    there: Option<Kind>,
    make: &dyn Fn(&Folder) -> io::Result<()>,
) -> io::Result<()> {
    let (beside_name, beside) = folder.make_unique_folder(BESIDE)?;
    let done = make(&beside).and_then(|()| {
        if there.is_some() {
            folder.remove_unlocked(name)?;
        }
        beside.rename(NEW, folder, name)
    });
    // Who cannot be put in its place goes; the failure that is told is the one that led here.
    let tidied = folder.remove_unlocked(&beside_name);
    done.and(tidied)
}

#[cfg(test)]
mod tests {
    use super::super::changes::tests::list;
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

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

    #[test]
    fn a_source_that_cannot_be_read_costs_nothing() {
        let case = case();
        fs::create_dir_all(case.folder.join("src/deep")).unwrap();
        fs::write(case.folder.join("src/deep/mine"), "mine").unwrap();
        fs::write(case.upper.join("src"), "theirs").unwrap();
        let changes = list(&case.upper, Some(&case.folder)).unwrap();
        fs::remove_file(case.upper.join("src")).unwrap();
        // A link, and nothing, where a file was listed.
        for _ in 0..2 {
            assert_eq!(write_all(&case, &changes).len(), 1);
            assert_eq!(fs::read(case.folder.join("src/deep/mine")).unwrap(), b"mine");
            assert_eq!(fs::read_dir(&case.folder).unwrap().count(), 1, "nothing is left beside it");
            let _ = symlink("/etc/passwd", case.upper.join("src"));
        }
    }

    #[test]
    fn anything_takes_the_place_of_anything() {
        let kinds = ["file", "folder", "link"];
        for was in kinds {
            for is in kinds {
                let case = case();
                for (top, kind) in [(&case.folder, was), (&case.upper, is)] {
                    match kind {
                        "file" => fs::write(top.join("x"), kind.to_owned() + was).unwrap(),
                        "folder" => fs::create_dir(top.join("x")).unwrap(),
                        _ => symlink(top, top.join("x")).unwrap(),
                    }
                }
                assert!(apply(&case).is_empty(), "{was} to {is}");
                let kind = fs::symlink_metadata(case.folder.join("x")).unwrap().file_type();
                let is_right = match is {
                    "file" => kind.is_file(),
                    "folder" => kind.is_dir(),
                    _ => kind.is_symlink(),
                };
                assert!(is_right && fs::read_dir(&case.folder).unwrap().count() == 1);
            }
        }
    }
}
