//! The cache of environments: a folder each, made under a lock, and there only when it is whole.
//!
//! `NAME/` is an environment, `NAME.making/` one that is being made by whoever holds the lock
//! `NAME.lock`. A name is a hash of the key; the key itself is in `NAME/key`.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::failure::Failure;
use crate::signals::Signals;

/// How many keys with the same hash find a place.
const MAX_SLOTS: usize = 8;
/// How often a lock that somebody else holds is tried again.
const RETRY: Duration = Duration::from_millis(100);

/// The cache.
pub struct Cache {
    top: PathBuf,
}

/// The place for a key.
pub enum Slot {
    /// The environment is here.
    Made(PathBuf),
    /// Nothing has this name yet.
    Free(String),
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot use the cache {}: {error}", path.display()))
        .hint("let XDG_CACHE_HOME name a folder that can be written")
        .code(Failure::CANNOT_START)
}

impl Cache {
    /// The user's cache. Nothing is made yet.
    pub fn open() -> Result<Self, Failure> {
        let named = |name: &str| {
            std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let cache = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
        let top = cache.map(|cache| cache.join("belljar/environments")).ok_or_else(|| {
            Failure::new("there is no cache folder: neither XDG_CACHE_HOME nor HOME is set")
                .hint("set one of them, or use --venv and --node-modules")
                .code(Failure::CANNOT_START)
        })?;
        Ok(Self { top })
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        std::fs::read_dir(&self.top).map_or(true, |mut entries| entries.next().is_none())
    }

    /// Finds the environment with a key, or a free name for it.
    pub fn look_up(&self, name: &str, key: &str) -> Result<Slot, Failure> {
        for n in 0..MAX_SLOTS {
            let name = if n == 0 { name.to_owned() } else { format!("{name}-{n}") };
            let path = self.top.join(&name);
            match std::fs::read_to_string(path.join(KEY)) {
                Ok(text) if text == key => return Ok(Slot::Made(path)),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Slot::Free(name));
                }
                Err(error) => return Err(failed(&path, &error)),
            }
        }
        Err(Failure::new("the cache has no place left for this environment")
            .hint(format!("remove {}", self.top.display()))
            .code(Failure::CANNOT_START))
    }

    /// Takes the lock of a name, and waits for whoever has it.
    pub fn lock(&self, name: &str, signals: &Signals) -> Result<Lock, Failure> {
        std::fs::create_dir_all(&self.top).map_err(|error| failed(&self.top, &error))?;
        let path = self.top.join(format!("{name}.lock"));
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| failed(&path, &error))?;
        let mut has_told = false;
        loop {
            signals.check()?;
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(failed(&path, &error)),
                Err(TryLockError::WouldBlock) => {
                    if !has_told {
                        eprintln!("waiting: another belljar is installing the same packages");
                        has_told = true;
                    }
                    std::thread::sleep(RETRY);
                }
            }
        }
        Ok(Lock { top: self.top.clone(), name: name.to_owned(), _file: file })
    }
}

const KEY: &str = "key";

/// The right to make an environment. It goes with the process, however that ends.
pub struct Lock {
    top: PathBuf,
    name: String,
    _file: File,
}

impl Lock {
    /// Starts with an empty folder. What an installation that was killed has left goes.
    pub fn start(self, key: &str) -> Result<Making, Failure> {
        let folder = self.top.join(format!("{}.making", self.name));
        remove(&folder).map_err(|error| failed(&folder, &error))?;
        let made = Making { lock: self, folder, is_done: false };
        std::fs::create_dir(&made.folder)
            .and_then(|()| std::fs::write(made.folder.join(KEY), key))
            .map_err(|error| failed(&made.folder, &error))?;
        Ok(made)
    }
}

/// An environment that is being made. It goes with this value unless it was finished.
pub struct Making {
    lock: Lock,
    folder: PathBuf,
    is_done: bool,
}

impl Making {
    /// The folder.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Gives it its name: from now on it is found.
    pub fn finish(mut self) -> Result<PathBuf, Failure> {
        let path = self.lock.top.join(&self.lock.name);
        std::fs::rename(&self.folder, &path).map_err(|error| failed(&path, &error))?;
        self.is_done = true;
        Ok(path)
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        if !self.is_done {
            // The next installation tries again to remove it.
            let _ = remove(&self.folder);
        }
    }
}

/// Removes a folder with everything in it, also folders that the guest has locked.
pub fn remove(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            unlock(folder);
            std::fs::remove_dir_all(folder)
        }
        other => other,
    }
}

fn unlock(folder: &Path) {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        // What cannot be unlocked makes the removal fail, which is then told.
        let _ = std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700));
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|t| t.is_dir());
        folders.extend(entries.filter(is_folder).map(|entry| entry.path()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(folder: &tempfile::TempDir) -> Cache {
        Cache { top: folder.path().join("c") }
    }

    #[test]
    fn only_what_is_finished_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, signals) = (cache(&folder), Signals::take_over().unwrap());
        assert!(cache.is_empty());
        let making = cache.lock("a", &signals).unwrap().start("k").unwrap();
        std::fs::write(making.path().join("x"), "").unwrap();
        assert!(matches!(cache.look_up("a", "k").unwrap(), Slot::Free(name) if name == "a"));
        drop(making);
        assert!(!folder.path().join("c/a.making").exists());
        // As after a kill.
        std::fs::create_dir(folder.path().join("c/a.making")).unwrap();
        std::fs::write(folder.path().join("c/a.making/half"), "").unwrap();
        let made = cache.lock("a", &signals).unwrap().start("k").unwrap().finish().unwrap();
        assert!(!made.join("half").exists());
        assert!(matches!(cache.look_up("a", "k").unwrap(), Slot::Made(path) if path == made));
        assert!(matches!(cache.look_up("a", "other").unwrap(), Slot::Free(name) if name == "a-1"));
    }

    #[test]
    fn a_lock_is_held_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, signals) = (cache(&folder), Signals::take_over().unwrap());
        let lock = cache.lock("a", &signals).unwrap();
        let file = File::open(folder.path().join("c/a.lock")).unwrap();
        assert!(file.try_lock().is_err());
        drop(lock);
        assert!(file.try_lock().is_ok());
    }
}
