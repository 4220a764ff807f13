//! The cache of environments: a folder each, made under a lock, and there only when it is whole.
//!
//! `NAME/` is an environment, `NAME.making/` one that is being made by whoever holds the lock
//! `NAME.lock`. A name is the SHA-256 of the key. In the folder `content` is what packages brought; it is all that sandboxes ever
//! see. Beside it, where no sandbox writes, are the key, and the [seal](super::seal) that
//! is looked at before each use. What is in `content` has the names that packages chose, so
//! everything here is done beneath held folders.

use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host_sys::beneath::Folder;
use host_sys::rustix;

use sandbox_spec::{HostPlace, printable_path};

use super::{places, seal};
use crate::failure::Failure;
use crate::signals::Signals;

/// How often a lock that somebody else holds is tried again.
const RETRY: Duration = Duration::from_millis(100);
/// How many names the cache may have.
const MAX_NAMES: usize = 1 << 20;
/// How long a key may be.
const MAX_KEY_BYTES: u64 = 1 << 20;
/// How long a stamp may be.
const MAX_STAMP_BYTES: u64 = 64;

const KEY: &str = "key";
const MANIFEST: &str = "manifest";
const STAMP: &str = "stamp";
/// How the name of one ends that is being made.
const MAKING: &str = ".making";
/// What sandboxes see.
pub const CONTENT: &str = "content";
/// What is needed only while an environment is made.
const WORK: &str = "work";
/// Nobody else looks into the cache.
const PRIVATE: u32 = 0o700;

/// The cache.
pub struct Cache {
    top: PathBuf,
}

/// The place for a key.
pub enum Slot {
    /// What sandboxes see of the environment: the very folder that was checked.
    Made(HostPlace),
    /// It is not there.
    Free,
    /// It is not what was made, and this is how that was seen.
    Changed(String),
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot use the cache {}: {error}", printable_path(path)))
        .hint("let XDG_CACHE_HOME name a folder of yours that can be written")
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
        let names = Folder::at(&self.top).and_then(|top| top.list(MAX_NAMES));
        names.map_or(true, |names| names.is_empty())
    }

    /// Finds the environment with a key, and sees whether it is still what was made.
    pub fn look_up(&self, name: &str, key: &str) -> Result<Slot, Failure> {
        let path = self.top.join(name);
        let found = match self.hold() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Slot::Free),
            Err(error) => return Err(failed(&self.top, &error)),
            Ok(top) => match top.status_of(name) {
                Ok(None) => return Ok(Slot::Free),
                Err(error) => return Err(failed(&path, &error)),
                Ok(Some(_)) => top.folder(name),
            },
        };
        let checked = found.and_then(|entry| check(&entry, key));
        Ok(match checked {
            Ok(Checked::Same(content)) => Slot::Made(places::held(&path.join(CONTENT), content)),
            Ok(Checked::Differs(how)) => Slot::Changed(how),
            Err(error) => Slot::Changed(error.to_string()),
        })
    }

    /// Takes the lock of a name, and waits for whoever has it.
    pub fn lock(&self, name: &str, signals: &Signals) -> Result<Lock, Failure> {
        let wrong = |error: io::Error| failed(&self.top, &error);
        DirBuilder::new().recursive(true).mode(PRIVATE).create(&self.top).map_err(wrong)?;
        let top = self.hold().map_err(wrong)?;
        if top.status().map_err(wrong)?.mode != PRIVATE {
            top.set_mode(PRIVATE).map_err(wrong)?;
        }
        let file = lock_file(&top, &format!("{name}.lock")).map_err(wrong)?;
        let mut has_told = false;
        loop {
            signals.check()?;
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(wrong(error)),
                Err(TryLockError::WouldBlock) => {
                    if !has_told {
                        eprintln!("waiting: another belljar is installing the same packages");
                        has_told = true;
                    }
                    std::thread::sleep(RETRY);
                }
            }
        }
        Ok(Lock { top, path: self.top.clone(), name: name.to_owned(), _file: file })
    }

    /// Holds the folder. Somebody else's is not used: it would hold whatever that one put there.
    fn hold(&self) -> io::Result<Folder> {
        let top = Folder::at(&self.top)?;
        if top.status()?.uid == rustix::process::geteuid().as_raw() {
            return Ok(top);
        }
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to somebody else"))
    }
}

/// What came of looking at an environment.
enum Checked {
    /// It is what was made, and this is what sandboxes see of it.
    Same(Folder),
    /// It is not, and this is how that was seen.
    Differs(String),
}

impl Checked {
    fn differs(how: &str) -> io::Result<Self> {
        Ok(Self::Differs(how.to_owned()))
    }
}

/// Says in what an environment differs from what was made, if it does.
fn check(entry: &Folder, key: &str) -> io::Result<Checked> {
    // Whoever can write here can write a seal as well.
    const OTHERS: u32 = 0o022;
    let status = entry.status()?;
    if status.uid != rustix::process::geteuid().as_raw() || status.mode & OTHERS != 0 {
        return Checked::differs("somebody else may have written it");
    }
    if entry.read(KEY, MAX_KEY_BYTES)? != key.as_bytes() {
        return Checked::differs("it was made for something else");
    }
    let content = entry.folder(CONTENT)?;
    let sealed = entry.read(STAMP, MAX_STAMP_BYTES)?;
    if seal::stamp(&content)?.as_bytes() == sealed {
        return Ok(Checked::Same(content));
    }
    // It may have been copied or restored: then every file has another place and the same bytes.
    let manifest = String::from_utf8(entry.read(MANIFEST, seal::MAX_MANIFEST_BYTES)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    let now = seal::seal(&content)?;
    if now.manifest != manifest {
        return Ok(Checked::Differs(seal::first_difference(&manifest, &now.manifest)));
    }
    entry.replace(STAMP, 0o600, now.stamp.as_bytes())?;
    Ok(Checked::Same(content))
}

fn lock_file(top: &Folder, name: &str) -> io::Result<File> {
    match top.create(name, 0o600) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => top.open(name),
        made => made,
    }
}

/// The right to make an environment. It goes with the process, however that ends.
pub struct Lock {
    top: Folder,
    path: PathBuf,
    name: String,
    _file: File,
}

impl Lock {
    /// Removes what other installations have left that were killed.
    fn sweep(&self) {
        for entry in self.top.list(MAX_NAMES).unwrap_or_default() {
            let name = entry.name.to_str().and_then(|it| it.strip_suffix(MAKING));
            let Some(name) = name.filter(|name| *name != self.name) else { continue };
            // Whoever makes it holds its lock.
            let Ok(lock) = lock_file(&self.top, &format!("{name}.lock")) else { continue };
            if lock.try_lock().is_ok() {
                // What stays is no concern of this installation, and is tried again by the next.
                let _ = self.top.remove(&entry.name);
            }
        }
    }

    /// Starts with an empty folder. What an installation that was killed has left goes.
    pub fn start(self) -> Result<Making, Failure> {
        let name = format!("{}{MAKING}", self.name);
        let path = self.path.join(&name);
        let wrong = |error: io::Error| failed(&path, &error);
        self.top.remove(&name).map_err(wrong)?;
        self.sweep();
        let folder = self.top.make_folder(&name, PRIVATE).map_err(wrong)?;
        let making = Making { lock: self, name, path: path.clone(), folder, is_done: false };
        for name in [CONTENT, WORK] {
            making.folder.make_folder(name, 0o755).map_err(wrong)?;
        }
        Ok(making)
    }
}

/// An environment that is being made. It goes with this value unless it was finished.
pub struct Making {
    lock: Lock,
    name: String,
    path: PathBuf,
    folder: Folder,
    is_done: bool,
}

impl Making {
    /// Everything that there is of it so far.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The folder for what sandboxes will see.
    pub fn content(&self) -> Result<Place, Failure> {
        self.place(CONTENT)
    }

    /// The folder for what is needed only until it is finished.
    pub fn work(&self) -> Result<Place, Failure> {
        self.place(WORK)
    }

    fn place(&self, name: &str) -> Result<Place, Failure> {
        let path = self.path.join(name);
        let folder = self.folder.folder(name).map_err(|error| failed(&path, &error))?;
        Ok(Place { folder, path })
    }

    /// Seals it and gives it its name: from now on it is found.
    pub fn finish(mut self, key: &str) -> Result<HostPlace, Failure> {
        let path = self.lock.path.join(&self.lock.name);
        let content = self.seal(key).map_err(|error| {
            Failure::new(format!("the packages brought what cannot be kept: {error}"))
                .hint("do not trust where they came from")
                .code(Failure::CANNOT_START)
        })?;
        let (top, name) = (&self.lock.top, &self.lock.name);
        // What has the name now was changed after it was made.
        top.remove(name)
            .and_then(|()| top.rename(&self.name, top, name))
            .map_err(|error| failed(&path, &error))?;
        self.is_done = true;
        Ok(places::held(&path.join(CONTENT), content))
    }

    fn seal(&self, key: &str) -> io::Result<Folder> {
        self.folder.remove(WORK)?;
        let content = self.folder.folder(CONTENT)?;
        seal::tidy(&content)?;
        let sealed = seal::seal(&content)?;
        self.folder.replace(KEY, 0o600, key.as_bytes())?;
        self.folder.replace(MANIFEST, 0o600, sealed.manifest.as_bytes())?;
        self.folder.replace(STAMP, 0o600, sealed.stamp.as_bytes())?;
        Ok(content)
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        if !self.is_done {
            // The next installation tries again to remove it.
            let _ = self.lock.top.remove(&self.name);
        }
    }
}

/// A folder of ours in which no sandbox sees its own top, held, and with the path that it has. A
/// sandbox is shown folders that were made in it, never the folder itself.
pub struct Place {
    folder: Folder,
    path: PathBuf,
}

impl Place {
    /// Makes a folder that was not there, and holds it.
    pub fn make(&self, name: &str) -> Result<HostPlace, Failure> {
        let path = self.path.join(name);
        let made = self.folder.make_folder(name, 0o755).map_err(|error| failed(&path, &error))?;
        Ok(places::held(&path, made))
    }

    /// Removes a folder that was made here, with whatever is in it.
    pub fn remove(&self, name: &str) -> Result<(), Failure> {
        let path = self.path.join(name);
        self.folder.remove(name).map_err(|error| {
            Failure::new(format!("cannot remove {}: {error}", printable_path(path)))
                .code(Failure::CANNOT_START)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn cache(folder: &tempfile::TempDir) -> Cache {
        Cache { top: folder.path().join("c") }
    }

    fn made(cache: &Cache) -> PathBuf {
        let signals = Signals::take_over().unwrap();
        let making = cache.lock("a", &signals).unwrap().start().unwrap();
        let place = making.content().unwrap().make("python").unwrap();
        fs::write(place.path().join("module.py"), "pass\n").unwrap();
        making.finish("k").unwrap().path().to_path_buf()
    }

    #[test]
    fn only_what_is_finished_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, signals) = (cache(&folder), Signals::take_over().unwrap());
        assert!(cache.is_empty());
        let making = cache.lock("a", &signals).unwrap().start().unwrap();
        making.work().unwrap().make("x").unwrap();
        assert!(matches!(cache.look_up("a", "k").unwrap(), Slot::Free));
        drop(making);
        assert!(!folder.path().join("c/a.making").exists());
        // As after a kill.
        fs::create_dir_all(folder.path().join("c/a.making/content")).unwrap();
        fs::write(folder.path().join("c/a.making/content/half"), "").unwrap();
        let content = made(&cache);
        assert!(!content.join("half").exists());
        assert!(
            matches!(cache.look_up("a", "k").unwrap(), Slot::Made(place) if place.path() == content)
        );
        assert!(matches!(cache.look_up("a", "other").unwrap(), Slot::Changed(_)));
        assert_eq!(fs::metadata(folder.path().join("c")).unwrap().permissions().mode(), 0o40700);
    }

    #[test]
    fn what_killed_installations_left_goes_and_what_others_make_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, signals) = (cache(&folder), Signals::take_over().unwrap());
        fs::create_dir_all(folder.path().join("c/left.making/content")).unwrap();
        let other = cache.lock("other", &signals).unwrap().start().unwrap();
        assert!(!folder.path().join("c/left.making").exists());
        made(&cache);
        assert!(folder.path().join("c/other.making/content").exists());
        drop(other);
    }

    #[test]
    fn what_was_changed_is_not_used() {
        let changes: [fn(&Path); 9] = [
            |entry| {
                // Whoever can write there could have made it all, with its seal.
                fs::set_permissions(entry, fs::Permissions::from_mode(0o770)).unwrap();
            },
            |entry| {
                // The stamp is of no use any more, and the manifest lacks its end.
                fs::write(entry.join("stamp"), "").unwrap();
                let manifest = fs::read_to_string(entry.join("manifest")).unwrap();
                let short = manifest.get(..manifest.len() - 10).unwrap();
                fs::write(entry.join("manifest"), short).unwrap();
            },
            |entry| fs::write(entry.join("content/python/extra.pth"), "").unwrap(),
            |entry| {
                let file = entry.join("content/python/module.py");
                fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
            },
            |entry| fs::write(entry.join("content/python/module.py"), "evil\n").unwrap(),
            |entry| fs::remove_file(entry.join("manifest")).unwrap(),
            |entry| fs::write(entry.join("key"), "another").unwrap(),
            |entry| {
                fs::rename(entry.join("content"), entry.join("moved")).unwrap();
                symlink("/etc", entry.join("content")).unwrap();
            },
            |entry| symlink("/etc/passwd", entry.join("content/python/more")).unwrap(),
        ];
        for (n, change) in changes.iter().enumerate() {
            let folder = tempfile::tempdir().unwrap();
            let cache = cache(&folder);
            let content = made(&cache);
            change(content.parent().unwrap());
            if !content.parent().unwrap().join(MANIFEST).exists() {
                // Nobody misses the manifest while nothing else has changed.
                assert!(matches!(cache.look_up("a", "k").unwrap(), Slot::Made(_)));
                fs::write(content.join("python/module.py"), "pass\n").unwrap();
            }
            assert!(matches!(cache.look_up("a", "k").unwrap(), Slot::Changed(_)), "{n}");
            made(&cache);
            assert!(matches!(cache.look_up("a", "k").unwrap(), Slot::Made(_)), "{n}");
        }
    }

    #[test]
    fn what_was_only_touched_is_used_and_stamped_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(&folder);
        let content = made(&cache);
        let stamp = || fs::read(content.parent().unwrap().join("stamp")).unwrap();
        let before = stamp();
        fs::write(content.join("python/module.py"), "pass\n").unwrap();
        assert!(matches!(cache.look_up("a", "k").unwrap(), Slot::Made(_)));
        assert_ne!(stamp(), before);
    }

    #[test]
    fn nothing_that_a_link_leads_to_is_unlocked_or_removed() {
        let folder = tempfile::tempdir().unwrap();
        let host = folder.path().join("host");
        fs::create_dir_all(host.join("inner")).unwrap();
        fs::set_permissions(host.join("inner"), fs::Permissions::from_mode(0o555)).unwrap();
        let made = folder.path().join("made");
        fs::create_dir(&made).unwrap();
        symlink(&host, made.join("tmp")).unwrap();
        fs::set_permissions(&made, fs::Permissions::from_mode(0o555)).unwrap();
        Folder::at(folder.path()).unwrap().remove("made").unwrap();
        assert!(!made.exists());
        let mode = fs::metadata(host.join("inner")).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o555);
    }

    #[test]
    fn what_was_checked_is_shown_whatever_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(&folder);
        let content = made(&cache);
        let Slot::Made(place) = cache.look_up("a", "k").unwrap() else { panic!("it is not there") };
        let entry = content.parent().unwrap();
        fs::rename(entry, folder.path().join("away")).unwrap();
        fs::create_dir_all(content.join("python")).unwrap();
        fs::write(content.join("python/module.py"), "stolen\n").unwrap();
        let shown = places::folder(&place).unwrap().folder("python").unwrap();
        assert_eq!(shown.read("module.py", 9).unwrap(), b"pass\n");
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
