//! The one folder for everything temporary, so that nothing is left behind.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use host_sys::beneath::{Folder, Kind};
use host_sys::rustix;

use sandbox_spec::printable_path;

use crate::failure::Failure;

const PREFIX: &str = "belljar-skill-";
/// A folder that is younger may not be locked yet.
const MIN_AGE: Duration = Duration::from_secs(60);
/// How many names of the folder for temporary files are looked at.
const MAX_NAMES: usize = 1 << 20;

/// A private folder that holds everything temporary of this process and goes with this value,
/// whatever guests made of it. The folder is locked while it is in use, so that what a killed
/// process left behind is found.
#[derive(Debug)]
pub struct Scratch {
    top: Folder,
    name: OsString,
    _lock: File,
}

impl Scratch {
    /// Makes the folder. From here on every temporary file is in it. Signals must have been taken
    /// over before: one that ended us at once would leave the folder behind.
    pub fn new() -> Result<Self, Failure> {
        let failed = |error: String| {
            Failure::new(format!("cannot make a temporary folder: {error}"))
                .hint("let TMPDIR name a folder that can be written")
                .code(Failure::CANNOT_START)
        };
        let path = tempfile::env::temp_dir();
        let made = Self::new_in(&path).map_err(|error| failed(error.to_string()))?;
        tempfile::env::override_temp_dir(&path.join(&made.name))
            .map_err(|other| failed(format!("{} is in use", printable_path(other))))?;
        Ok(made)
    }

    fn new_in(path: &Path) -> io::Result<Self> {
        let top = Folder::at(path)?;
        sweep(&top, MIN_AGE);
        let (name, folder) = top.make_unique_folder(PREFIX)?;
        let lock = folder.open_itself()?;
        lock.try_lock()?;
        Ok(Self { top, name, _lock: lock })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays is swept by a later run.
        let _ = self.top.remove(&self.name);
    }
}

/// Removes what processes of this user left that were killed.
fn sweep(top: &Folder, min_age: Duration) {
    for entry in top.list(MAX_NAMES).unwrap_or_default() {
        if entry.kind == Kind::Folder && entry.name.to_string_lossy().starts_with(PREFIX) {
            // Whatever is in the way of this does not concern the run.
            let _ = remove_if_left(top, &entry.name, min_age);
        }
    }
}

fn remove_if_left(top: &Folder, name: &OsStr, min_age: Duration) -> io::Result<()> {
    let folder = top.folder(name)?;
    let status = folder.status()?;
    let is_ours = status.uid == rustix::process::geteuid().as_raw();
    let modified = u64::try_from(status.modified.0).unwrap_or_default();
    let age = SystemTime::UNIX_EPOCH
        .checked_add(Duration::from_secs(modified))
        .and_then(|modified| modified.elapsed().ok());
    if !is_ours || age.is_none_or(|age| age < min_age) {
        return Ok(());
    }
    let lock = folder.open_itself()?;
    if lock.try_lock().is_ok() {
        top.remove(name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_holds_is_swept() {
        let top = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let folder = top.path().join(name);
            std::fs::create_dir_all(folder.join("inner")).unwrap();
            folder
        };
        let (left, held) = (make("belljar-skill-a"), make("belljar-skill-b"));
        let other = make("another");
        let lock = File::open(&held).unwrap();
        lock.try_lock().unwrap();
        let held_top = Folder::at(top.path()).unwrap();
        sweep(&held_top, MIN_AGE);
        assert!(left.exists(), "it is too young");
        sweep(&held_top, Duration::ZERO);
        assert!(!left.exists() && held.exists() && other.exists());
    }

    #[test]
    fn it_goes_whatever_is_in_it() {
        let top = tempfile::tempdir().unwrap();
        let scratch = Scratch::new_in(top.path()).unwrap();
        let mut at = scratch.top.folder(&scratch.name).unwrap();
        at.make_folder("locked", 0).unwrap();
        for _ in 0..3000 {
            at = at.make_folder("deep", 0o700).unwrap();
        }
        drop((at, scratch));
        assert_eq!(std::fs::read_dir(top.path()).unwrap().count(), 0);
    }
}
