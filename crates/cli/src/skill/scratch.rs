//! The one folder for everything temporary, so that nothing is left behind.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use host_sys::rustix;

use crate::failure::Failure;

const PREFIX: &str = "belljar-skill-";
/// A folder that is younger may not be locked yet.
const MIN_AGE: Duration = Duration::from_secs(60);

/// A private folder that holds everything temporary of this process and goes with this value. The
/// folder is locked while it is in use, so that what a killed process left behind is found.
#[derive(Debug)]
pub struct Scratch {
    _folder: tempfile::TempDir,
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
        sweep(&std::env::temp_dir(), MIN_AGE);
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir()
            .map_err(|error| failed(error.to_string()))?;
        let lock = File::open(folder.path()).map_err(|error| failed(error.to_string()))?;
        lock.try_lock().map_err(|error| failed(error.to_string()))?;
        tempfile::env::override_temp_dir(folder.path())
            .map_err(|other| failed(format!("{} is in use", other.display())))?;
        Ok(Self { _folder: folder, _lock: lock })
    }
}

/// Removes what processes of this user left that were killed.
fn sweep(top: &Path, min_age: Duration) {
    for entry in std::fs::read_dir(top).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            // Whatever is in the way of this does not concern the run.
            let _ = remove_if_left(&entry.path(), min_age);
        }
    }
}

fn remove_if_left(folder: &Path, min_age: Duration) -> io::Result<()> {
    let metadata = folder.symlink_metadata()?;
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    let is_old = metadata.modified()?.elapsed().is_ok_and(|age| age >= min_age);
    if !(metadata.is_dir() && is_ours && is_old) {
        return Ok(());
    }
    let lock = File::open(folder)?;
    if lock.try_lock().is_ok() {
        super::environment_cache::remove(folder)?;
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
        sweep(top.path(), MIN_AGE);
        assert!(left.exists(), "it is too young");
        sweep(top.path(), Duration::ZERO);
        assert!(!left.exists() && held.exists() && other.exists());
    }
}
