//! What a run changed in a folder, read from the layer that took its writes.
//!
//! The layer is laid out as Linux's overlayfs does it: a file that is there replaces the one
//! below, a character device 0:0 removes it, and a folder with the mark `opaque` hides the one
//! below. A file that was only copied up, or was written with what it had, is no change.
//!
//! A guest wrote the layer: both sides are read beneath folders that are held.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use host_sys::beneath::{Entry, Folder, Kind, Limits, Next, Status};
pub use sandbox_spec::{Change, Gone, Happened, Now};

use super::leads::Leads;

/// A folder at the top of the layer in which the kernel makes files ready. A run that was killed
/// leaves it behind.
const WORK: &str = ".belljar-work";

/// How large a file may be to be compared with the one below. A larger one that was copied up is
/// shown as changed: a file of holes may say that it has more bytes than could be read in a day.
const MAX_COMPARED_BYTES: u64 = 4 << 30;

/// How many bytes the paths of all changes together may have. Those of folders in folders grow with
/// the square of their number.
const MAX_PATH_BYTES: usize = 128 << 20;

/// How many names of folders that go are counted.
const MAX_COUNTED: usize = 1 << 20;

/// Lists what the layer `upper` changes in the folder `lower`, folders before what is in them.
/// Without a `lower` everything is new.
pub fn list_beneath(upper: &Folder, lower: Option<&Folder>) -> io::Result<Vec<Change>> {
    let limits = Limits::default();
    let left = MAX_PATH_BYTES;
    let to_count = MAX_COUNTED;
    let mut listing = Listing { limits, n_seen: 0, left, to_count, changes: Vec::new() };
    let mut pending = vec![(PathBuf::new(), Beneath::Shown)];
    while let Some((path, beneath)) = pending.pop() {
        if path.components().count() > limits.depth {
            return Err(limits.too_deep());
        }
        let folder = Pair {
            upper: upper.descend(&path)?,
            // Where the folder has something else, or nothing, everything is new.
            lower: lower.and_then(|lower| lower.descend(&path).ok()),
            path,
        };
        listing.list_folder(&folder, beneath, &mut pending)?;
    }
    listing.changes.sort_by(|a, b| a.path.cmp(&b.path));
    let mut leads = Leads::new(upper, lower);
    for change in &mut listing.changes {
        if let Now::Link { target } = &change.now {
            change.leads_out = leads.out(&change.path, target);
        }
    }
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

/// A folder of the layer, and the one that it changes.
struct Pair {
    path: PathBuf,
    upper: Folder,
    lower: Option<Folder>,
}

impl Pair {
    /// What the folder had under this name before the run.
    fn before(&self, name: &OsStr) -> Option<Status> {
        self.lower.as_ref()?.status_of(name).ok().flatten()
    }

    fn is_opaque(&self, name: &OsStr) -> bool {
        let mut value = [0; 1];
        let folder = self.upper.folder(name);
        folder.is_ok_and(|it| it.attribute("user.overlay.opaque", &mut value) == Some(b"y"))
    }

    fn now(&self, name: &OsStr, is: &Status) -> io::Result<Now> {
        Ok(match is.kind {
            Kind::File => Now::File { size: is.size, mode: is.mode & 0o7777 },
            Kind::Link => Now::Link { target: self.upper.read_link(name)? },
            _ => Now::Special,
        })
    }

    fn is_same(&self, name: &OsStr, is: &Status, was: Option<&Status>) -> io::Result<bool> {
        let (Some(was), Some(lower)) = (was, &self.lower) else { return Ok(false) };
        match (is.kind, was.kind) {
            (Kind::Link, Kind::Link) => Ok(self.upper.read_link(name)? == lower.read_link(name)?),
            (Kind::File, Kind::File) if is.size > MAX_COMPARED_BYTES => Ok(false),
            (Kind::File, Kind::File) if is.size == was.size && is.mode == was.mode => {
                // One that cannot be read any more is shown rather than passed over.
                Ok(have_same_bytes(&self.upper, lower, name).unwrap_or(false))
            }
            _ => Ok(false),
        }
    }
}

struct Listing {
    limits: Limits,
    /// How many names were looked at.
    n_seen: usize,
    /// How many bytes paths may still have.
    left: usize,
    /// How many names of folders that go may still be counted.
    to_count: usize,
    changes: Vec<Change>,
}

impl Listing {
    fn add(&mut self, path: PathBuf, happened: Happened, now: Now) {
        self.changes.push(Change::new(path, happened, now));
    }

    /// Adds a change by which what was there goes.
    fn add_gone(&mut self, folder: &Pair, name: &OsStr, change: Change) {
        let was = folder.before(name);
        let is_folder = was.is_some_and(|was| was.kind == Kind::Folder);
        let gone = folder.lower.as_ref().filter(|_| is_folder).map(|lower| self.count(lower, name));
        self.changes.push(Change { gone, ..change });
    }

    /// How many files are in a folder that goes.
    fn count(&mut self, lower: &Folder, name: &OsStr) -> Gone {
        let mut n_files = 0;
        let mut n_names = 0;
        let limits = Limits { entries: self.to_count, ..self.limits };
        let walked = lower.folder(name).and_then(|folder| {
            folder.walk(limits, &mut |found| {
                n_names += 1;
                n_files += u64::from(found.status.kind != Kind::Folder);
                Ok(Next::Into)
            })
        });
        self.to_count = self.to_count.saturating_sub(n_names);
        Gone { files: n_files, is_at_least: walked.is_err() }
    }

    fn list_folder(
        &mut self,
        folder: &Pair,
        beneath: Beneath,
        pending: &mut Vec<(PathBuf, Beneath)>,
    ) -> io::Result<()> {
        // The guest may have taken our right to read it; it is ours to give.
        folder.upper.unlock()?;
        for name in self.names(&folder.upper)? {
            let path = self.joined(folder, &name)?;
            if path == Path::new(WORK) {
                continue;
            }
            let Some(is) = folder.upper.status_of(&name)? else { continue };
            let was = folder.before(&name);
            if is.character_device == Some(0) {
                if was.is_some() {
                    let change = Change::new(path, Happened::Removed, Now::Nothing);
                    self.add_gone(folder, &name, change);
                }
            } else if is.kind == Kind::Folder {
                let merges = was.is_some_and(|was| was.kind == Kind::Folder);
                let hides = beneath == Beneath::Hidden || folder.is_opaque(&name);
                let below = if merges && hides { Beneath::Hidden } else { Beneath::Shown };
                if !merges {
                    self.add(path.clone(), happened(was), Now::Folder);
                }
                pending.push((path, below));
            } else if !folder.is_same(&name, &is, was.as_ref())? {
                let now = folder.now(&name, &is)?;
                self.add_gone(folder, &name, Change::new(path, happened(was), now));
            }
        }
        if let (Beneath::Hidden, Some(lower)) = (beneath, &folder.lower) {
            for name in self.names(lower)? {
                if folder.upper.status_of(&name)?.is_none() {
                    let path = self.joined(folder, &name)?;
                    let change = Change::new(path, Happened::Removed, Now::Nothing);
                    self.add_gone(folder, &name, change);
                }
            }
        }
        Ok(())
    }

    fn joined(&mut self, folder: &Pair, name: &OsStr) -> io::Result<PathBuf> {
        let path = folder.path.join(name);
        let left = self.left.checked_sub(path.as_os_str().len());
        self.left = left.ok_or_else(|| {
            let words = format!("its paths have more than {MAX_PATH_BYTES} bytes together");
            io::Error::new(io::ErrorKind::QuotaExceeded, words)
        })?;
        Ok(path)
    }

    fn names(&mut self, folder: &Folder) -> io::Result<Vec<OsString>> {
        let entries = folder.list(self.limits.entries)?;
        self.n_seen = self.n_seen.saturating_add(entries.len());
        if self.n_seen > self.limits.entries {
            return Err(self.limits.too_many());
        }
        Ok(entries.into_iter().map(|Entry { name, .. }| name).collect())
    }
}

fn happened(was: Option<Status>) -> Happened {
    if was.is_some() { Happened::Changed } else { Happened::Created }
}

fn have_same_bytes(a: &Folder, b: &Folder, name: &OsStr) -> io::Result<bool> {
    let (mut a, mut b) = (a.open(name)?, b.open(name)?);
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
pub mod tests {
    use super::*;
    use std::fs;

    /// The same for paths.
    pub fn list(upper: &Path, lower: Option<&Path>) -> io::Result<Vec<Change>> {
        let lower = lower.map(Folder::at).transpose()?;
        list_beneath(&Folder::at(upper)?, lower.as_ref())
    }

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
            test_skips::skip("opaque-folders", "the file system has no user attributes");
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

    #[test]
    fn what_goes_with_a_folder_is_counted() {
        let (_top, upper, lower) = folders();
        fs::create_dir_all(lower.join("src/deep")).unwrap();
        for name in ["src/a", "src/b", "src/deep/c"] {
            fs::write(lower.join(name), "x").unwrap();
        }
        // A file takes the place of one folder, another is removed.
        fs::write(upper.join("src"), "file").unwrap();
        fs::remove_dir(upper.join("d")).unwrap();
        let kind = rustix::fs::FileType::CharacterDevice;
        let mode = rustix::fs::Mode::empty();
        rustix::fs::mknodat(rustix::fs::CWD, upper.join("d"), kind, mode, 0).unwrap();
        let changes = list(&upper, Some(&lower)).unwrap();
        let gone: Vec<_> = changes.iter().map(|it| it.gone.map(|gone| gone.files)).collect();
        assert_eq!(gone, [Some(2), Some(3)], "{changes:?}");
        assert!(changes.iter().all(|it| it.gone.is_some_and(|gone| !gone.is_at_least)));
    }

    #[test]
    fn links_are_marked_by_where_they_lead() {
        use std::os::unix::fs::symlink;
        let (_top, upper, lower) = folders();
        symlink(".", upper.join("here")).unwrap();
        symlink("here/../.ssh", upper.join("out")).unwrap();
        symlink("d/old", upper.join("in")).unwrap();
        let changes = list(&upper, Some(&lower)).unwrap();
        let marks: Vec<_> =
            changes.iter().map(|it| (it.path.to_str().unwrap(), it.leads_out)).collect();
        assert_eq!(marks, [("here", false), ("in", false), ("out", true)]);
    }
}
