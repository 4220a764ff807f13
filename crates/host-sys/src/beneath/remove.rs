//! Removes a tree, whatever it is made of.

use std::ffi::{OsStr, OsString};
use std::io;

use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;

use super::files::{BESIDE, unguessed_name};
use super::open::checked;
use super::{Entry, Folder, Kind};

/// How many names of a folder are read at once: a folder may have more than memory holds.
const AT_ONCE: usize = 4096;
/// How many folders are held at once. What lies deeper is moved up first.
const MAX_HELD: usize = 64;

impl Folder {
    /// Removes what has this name, with everything in it; nothing to remove is no failure. Folders
    /// that a guest locked are opened if they are ours. Links go, not what they lead to.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.remove_with(name.as_ref(), Locked::Opened)
    }

    /// The same for what is the user's: a folder that the user locked stays.
    pub fn remove_unlocked(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.remove_with(name.as_ref(), Locked::Kept)
    }

    fn remove_with(&self, name: &OsStr, locked: Locked) -> io::Result<()> {
        let name = checked(name)?;
        match self.remove_name(name, locked)? {
            Gone::Yes => Ok(()),
            Gone::Holds(folder) => {
                folder.empty(locked)?;
                self.remove_folder(name)
            }
        }
    }

    /// Removes everything in this folder, however deep it is. What somebody else adds meanwhile may
    /// stay, which is an error for the folder that it is in.
    pub fn remove_contents(&self) -> io::Result<()> {
        self.unlock()?;
        self.empty(Locked::Opened)
    }

    fn empty(&self, locked: Locked) -> io::Result<()> {
        let top = self.again()?;
        let mut levels = vec![Level::of(OsString::new(), top)];
        loop {
            let depth = levels.len();
            let Some(level) = levels.last_mut() else { return Ok(()) };
            let Some(Entry { name, kind }) = level.next()? else {
                let done = levels.pop();
                if let (Some(done), Some(parent)) = (done, levels.last()) {
                    parent.folder.remove_folder(&done.name)?;
                }
                continue;
            };
            // A kind may have changed since it was listed, so that either call may have to be made.
            let removed = match kind {
                Kind::Folder => level.folder.hold_to_remove(&name, locked),
                _ => level.folder.remove_name(&name, locked),
            };
            let Gone::Holds(folder) = removed? else { continue };
            if depth < MAX_HELD {
                levels.push(Level::of(name, folder));
                continue;
            }
            // Deeper folders are moved to the top, which is listed again at its end.
            match level.folder.rename(&name, self, unguessed_name(BESIDE)?) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                moved => moved?,
            }
            if let Some(top) = levels.first_mut() {
                top.is_listed = false;
            }
        }
    }

    /// Removes a name; if it is a folder that has something in it, holds that.
    fn remove_name(&self, name: &OsStr, locked: Locked) -> io::Result<Gone> {
        match unlinkat(self, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(Gone::Yes),
            // Some file systems say that it is not permitted to unlink a folder.
            Err(Errno::ISDIR | Errno::PERM) => self.hold_to_remove(name, locked),
            Err(errno) => Err(errno.into()),
        }
    }

    fn hold_to_remove(&self, name: &OsStr, locked: Locked) -> io::Result<Gone> {
        match self.folder(name) {
            Ok(folder) => {
                if locked == Locked::Opened {
                    folder.unlock()?;
                }
                Ok(Gone::Holds(folder))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Gone::Yes),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                match self.remove_file(name) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Gone::Yes),
                    removed => removed.map(|()| Gone::Yes),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Removes a folder that was just emptied.
    fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        match unlinkat(self, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            // Something else took its place.
            Err(Errno::NOTDIR) => self.remove_file(name),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// What becomes of folders whose owner may not change them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Locked {
    /// They are unlocked, and go.
    Opened,
    /// They stay, which is an error.
    Kept,
}

/// What became of a name that was to be removed.
enum Gone {
    /// It is not there any more.
    Yes,
    /// It is a folder, which has to be emptied first.
    Holds(Folder),
}

/// A folder that is being emptied.
struct Level {
    name: OsString,
    folder: Folder,
    /// What was listed and is still there.
    entries: Vec<Entry>,
    /// Whether everything in it has been listed.
    is_listed: bool,
}

impl Level {
    fn of(name: OsString, folder: Folder) -> Self {
        Self { name, folder, entries: Vec::new(), is_listed: false }
    }

    fn next(&mut self) -> io::Result<Option<Entry>> {
        if self.entries.is_empty() && !self.is_listed {
            self.entries = self.folder.list_some(AT_ONCE)?;
            self.is_listed = self.entries.len() < AT_ONCE;
        }
        Ok(self.entries.pop())
    }
}
