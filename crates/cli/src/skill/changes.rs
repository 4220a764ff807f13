//! What a run changed in a folder, read from the layer that took its writes.
//!
//! The layer is laid out as Linux's overlayfs does it: a file that is there replaces the one
//! below, a character device 0:0 removes it, and a folder with the mark `opaque` hides the one
//! below. A file that was only copied up, or was written with what it had, is no change.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use host_sys::rustix;
pub use sandbox_spec::{Change, Happened, Now};

/// A folder at the top of the layer in which the kernel makes files ready. A run that was killed
/// leaves it behind.
const WORK: &str = ".belljar-work";

/// Lists what the layer `upper` changes in the folder `lower`, folders before what is in them.
/// Without a `lower` everything is new.
pub fn list(upper: &Path, lower: Option<&Path>) -> io::Result<Vec<Change>> {
    let mut listing = Listing { upper, lower, changes: Vec::new() };
    let mut pending = vec![(PathBuf::new(), Beneath::Shown)];
    while let Some((folder, beneath)) = pending.pop() {
        listing.list_folder(&folder, beneath, &mut pending)?;
    }
    listing.changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(listing.changes)
}

/// How a folder of the layer stands to the one below.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beneath {
    /// What is below is seen unless it is replaced.
    Shown,
    /// What is below and not replaced is gone.
    Hidden,
}

struct Listing<'l> {
    upper: &'l Path,
    lower: Option<&'l Path>,
    changes: Vec<Change>,
}

impl Listing<'_> {
    fn add(&mut self, path: PathBuf, happened: Happened, now: Now) {
        self.changes.push(Change { path, happened, now });
    }

    /// What the folder had at this path before the run.
    fn before(&self, path: &Path) -> Option<Metadata> {
        fs::symlink_metadata(self.lower?.join(path)).ok()
    }

    fn list_folder(
        &mut self,
        folder: &Path,
        beneath: Beneath,
        pending: &mut Vec<(PathBuf, Beneath)>,
    ) -> io::Result<()> {
        for entry in read_folder(&self.upper.join(folder))? {
            let path = folder.join(&entry);
            if path == Path::new(WORK) {
                continue;
            }
            let is = fs::symlink_metadata(self.upper.join(&path))?;
            let was = self.before(&path);
            if is_whiteout(&is) {
                if was.is_some() {
                    self.add(path, Happened::Removed, Now::Nothing);
                }
            } else if is.is_dir() {
                let merges = was.as_ref().is_some_and(Metadata::is_dir);
                let hides = beneath == Beneath::Hidden || is_opaque(&self.upper.join(&path));
                let below = if merges && hides { Beneath::Hidden } else { Beneath::Shown };
                if !merges {
                    self.add(path.clone(), happened(was.as_ref()), Now::Folder);
                }
                pending.push((path, below));
            } else if !self.is_same(&path, &is, was.as_ref())? {
                let now = self.now(&path, &is)?;
                self.add(path, happened(was.as_ref()), now);
            }
        }
        if let (Beneath::Hidden, Some(lower)) = (beneath, self.lower) {
            for entry in read_folder(&lower.join(folder))? {
                let path = folder.join(entry);
                if fs::symlink_metadata(self.upper.join(&path)).is_err() {
                    self.add(path, Happened::Removed, Now::Nothing);
                }
            }
        }
        Ok(())
    }

    fn now(&self, path: &Path, is: &Metadata) -> io::Result<Now> {
        Ok(if is.is_file() {
            Now::File { size: is.len() }
        } else if is.is_symlink() {
            Now::Link { target: fs::read_link(self.upper.join(path))? }
        } else {
            Now::Special
        })
    }

    fn is_same(&self, path: &Path, is: &Metadata, was: Option<&Metadata>) -> io::Result<bool> {
        let (Some(was), Some(lower)) = (was, self.lower) else { return Ok(false) };
        let (upper, lower) = (self.upper.join(path), lower.join(path));
        if is.is_symlink() && was.is_symlink() {
            return Ok(fs::read_link(upper)? == fs::read_link(lower)?);
        }
        if !(is.is_file() && was.is_file() && is.len() == was.len() && is.mode() == was.mode()) {
            return Ok(false);
        }
        // One that cannot be read any more is shown rather than passed over.
        Ok(have_same_bytes(&upper, &lower).unwrap_or(false))
    }
}

fn happened(was: Option<&Metadata>) -> Happened {
    if was.is_some() { Happened::Changed } else { Happened::Created }
}

fn is_whiteout(metadata: &Metadata) -> bool {
    metadata.file_type().is_char_device() && metadata.rdev() == 0
}

fn is_opaque(folder: &Path) -> bool {
    let mut value = [0; 1];
    let got = rustix::fs::lgetxattr(folder, "user.overlay.opaque", &mut value);
    got == Ok(1) && value == *b"y"
}

/// The names in a folder. The guest may have taken our right to read it; it is ours to give.
fn read_folder(folder: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
            fs::read_dir(folder)?
        }
        entries => entries?,
    };
    entries.map(|entry| Ok(entry?.file_name())).collect()
}

fn have_same_bytes(a: &Path, b: &Path) -> io::Result<bool> {
    let (mut a, mut b) = (File::open(a)?, File::open(b)?);
    let (mut from_a, mut from_b) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let n = a.read(&mut from_a)?;
        let same = from_b.get_mut(..n).unwrap_or_default();
        if n == 0 {
            return Ok(true);
        }
        if b.read_exact(same).is_err() || from_a.get(..n) != Some(&*same) {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(upper: &Path, lower: &Path) -> Vec<String> {
        let word =
            |change: &Change| format!("{} {}", change.happened.word(), change.path.display());
        list(upper, Some(lower)).unwrap().iter().map(word).collect()
    }

    fn folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let top = tempfile::tempdir().unwrap();
        let (upper, lower) = (top.path().join("upper"), top.path().join("lower"));
        fs::create_dir_all(upper.join("d")).unwrap();
        fs::create_dir_all(lower.join("d")).unwrap();
        fs::write(lower.join("d/old"), "old").unwrap();
        fs::write(lower.join("d/same"), "same").unwrap();
        (top, upper, lower)
    }

    #[test]
    fn a_file_that_was_only_copied_is_no_change() {
        let (_top, upper, lower) = folders();
        fs::write(upper.join("d/same"), "same").unwrap();
        assert_eq!(words(&upper, &lower), Vec::<String>::new());
        fs::write(upper.join("d/same"), "more").unwrap();
        fs::write(upper.join("new"), "").unwrap();
        assert_eq!(words(&upper, &lower), ["changed d/same", "created new"]);
    }

    #[test]
    fn an_opaque_folder_removes_what_is_below() {
        let (_top, upper, lower) = folders();
        let flags = rustix::fs::XattrFlags::empty();
        if rustix::fs::setxattr(upper.join("d"), "user.overlay.opaque", b"y", flags).is_err() {
            eprintln!("SKIPPED: no extended attributes here");
            return;
        }
        fs::write(upper.join("d/same"), "same").unwrap();
        assert_eq!(words(&upper, &lower), ["removed d/old"]);
    }

    #[test]
    fn a_whiteout_removes() {
        let (_top, upper, lower) = folders();
        let kind = rustix::fs::FileType::CharacterDevice;
        let place = upper.join("d/old");
        let mode = rustix::fs::Mode::empty();
        rustix::fs::mknodat(rustix::fs::CWD, place, kind, mode, 0).unwrap();
        assert_eq!(words(&upper, &lower), ["removed d/old"]);
    }

    #[test]
    fn a_file_may_become_a_folder() {
        let (_top, upper, lower) = folders();
        fs::create_dir(upper.join("d/old")).unwrap();
        fs::write(upper.join("d/old/x"), "").unwrap();
        assert_eq!(words(&upper, &lower), ["changed d/old", "created d/old/x"]);
    }
}
