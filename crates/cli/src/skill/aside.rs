//! Folders that keep what a run wrote until somebody decides about it.
//!
//! They are in the user's state folder and not in `/tmp`: they may outlive the run, and they need
//! a file system with extended attributes.
//!
//! `NAME/files` takes the writes, `NAME/origin.json` says whose they are and is locked for as long
//! as the run goes on, and `NAME/told` is there once the user was told of it. So what a run left
//! that was killed is found by the next one.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skills::printable;

use super::changes::{self, Change, Now};
use super::listing::{counted, shown_path};
use super::write_back::write_back;
use crate::failure::Failure;

/// Where the changes of a run belong.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// The skill's name.
    pub skill: String,
    /// The folder that the skill worked on; nothing if it was an empty one.
    pub folder: Option<PathBuf>,
}

/// A folder with the changes of one run.
#[derive(Debug)]
pub struct Aside {
    /// The folder itself, removed with this value unless it is kept.
    folder: Option<tempfile::TempDir>,
    path: PathBuf,
    origin: Origin,
    /// Held while a run, or a decision, is under way.
    _lock: File,
}

impl Aside {
    /// Makes a new one for a run.
    pub fn new(origin: Origin) -> Result<Self, Failure> {
        let top = state_folder()?;
        let failed = |error: io::Error| {
            Failure::new(format!("cannot keep changes in {}: {error}", top.display()))
                .hint("let XDG_STATE_HOME name a folder that can be written")
                .code(Failure::CANNOT_START)
        };
        std::fs::create_dir_all(&top).map_err(failed)?;
        let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = origin.skill.chars().take(64).map(word).collect();
        let folder = tempfile::Builder::new()
            .prefix(&format!("{name}-"))
            .tempdir_in(&top)
            .map_err(failed)?;
        let path = folder.path().to_path_buf();
        for folder in [FILES, NOTHING] {
            std::fs::create_dir(path.join(folder)).map_err(failed)?;
        }
        let text = serde_json::to_string_pretty(&origin).map_err(|e| failed(e.into()))?;
        let file = path.join(ORIGIN);
        let lock = File::create(&file).map_err(failed)?;
        lock.try_lock().map_err(|error| failed(error.into()))?;
        std::fs::write(&file, text).map_err(failed)?;
        Ok(Self { folder: Some(folder), path, origin, _lock: lock })
    }

    /// What every run has kept and nobody has decided about, by path. Runs that go on are not
    /// among them.
    pub fn all() -> Result<Vec<Self>, Failure> {
        let entries = std::fs::read_dir(state_folder()?);
        // What cannot be opened is no folder of ours, or is in use.
        let opened = entries.into_iter().flatten().flatten().map(|entry| Self::open(&entry.path()));
        let mut all: Vec<Self> = opened.filter_map(Result::ok).collect();
        all.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(all)
    }

    /// Tells of what runs have left that were killed before they could tell of it, once. What
    /// they left empty goes.
    pub fn tell_forgotten() {
        // Who has no state folder has nothing in it.
        for aside in Self::all().unwrap_or_default() {
            if aside.path.join(TOLD).exists() {
                continue;
            }
            match aside.changes() {
                Ok(changes) if changes.is_empty() => {
                    // Tried again by the next run.
                    let _ = aside.discard();
                }
                _ => {
                    eprintln!("note: an earlier run was cut off: {}", aside.words());
                    eprintln!("hint: {}", aside.remedy());
                    aside.set_told();
                }
            }
        }
    }

    /// The user knows of it.
    pub fn set_told(&self) {
        // Who could not be marked is told of again.
        let _ = File::create(self.path.join(TOLD));
    }

    /// What it is, in a line.
    pub fn words(&self) -> String {
        let count = self.changes().map_or_else(|_| "changes".to_owned(), |it| counted(&it));
        let skill = printable(&self.origin.skill);
        match &self.origin.folder {
            Some(folder) => format!("{skill} wrote to {}: {count}", folder.display()),
            None => format!("{skill} wrote to an empty folder: {count}"),
        }
    }

    /// How to get at it.
    pub fn remedy(&self) -> String {
        let path = self.path.display();
        match &self.origin.folder {
            Some(_) => format!(
                "`belljar skill apply {path}` writes it back, with --discard it is thrown away"
            ),
            None => format!(
                "it is in {}; `belljar skill apply --discard {path}` throws it away",
                self.files().display()
            ),
        }
    }

    /// Opens one that was kept.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            Failure::new(format!("{} holds no changes of a run: {error}", path.display()))
                .hint("give the folder that `belljar skill run` named at its end")
        };
        let path = path.canonicalize().map_err(failed)?;
        let lock = File::open(path.join(ORIGIN)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::new(format!("{} is in use", path.display()))
                    .hint("wait for the end of the run that writes to it"));
            }
        }
        let text = std::fs::read(path.join(ORIGIN)).map_err(failed)?;
        let origin = serde_json::from_slice(&text).map_err(|error| failed(error.into()))?;
        Ok(Self { folder: None, path, origin, _lock: lock })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder that takes the writes.
    pub fn files(&self) -> PathBuf {
        self.path.join(FILES)
    }

    /// An empty folder, for a run that starts with nothing.
    pub fn nothing(&self) -> PathBuf {
        self.path.join(NOTHING)
    }

    /// Where the changes belong.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// What was changed.
    pub fn changes(&self) -> Result<Vec<Change>, Failure> {
        changes::list(&self.files(), self.origin.folder.as_deref()).map_err(|error| {
            Failure::new(format!("cannot list what was written: {error}"))
                .hint(format!("it is in {}", self.path.display()))
        })
    }

    /// Lets the folder stay when this value goes.
    pub fn keep(&mut self) {
        if let Some(folder) = &mut self.folder {
            folder.disable_cleanup(true);
        }
    }

    /// Removes it.
    pub fn discard(self) -> Result<(), Failure> {
        // Folders that the guest locked cannot be removed before they are listed.
        let _ = self.changes();
        std::fs::remove_dir_all(&self.path).map_err(|error| {
            Failure::new(format!("cannot remove {}: {error}", self.path.display()))
        })
    }

    /// Refuses to replace what somebody else changed since the run began: the skill has not seen it,
    /// and whoever agrees to what the skill wrote need not know of it.
    fn refuse_newer(&mut self, folder: &Path, changes: &[Change]) -> Result<(), Failure> {
        let Ok(began) = std::fs::metadata(self.path.join(ORIGIN)) else { return Ok(()) };
        let began = (began.mtime(), began.mtime_nsec());
        let is_newer = |change: &&Change| {
            let there = std::fs::symlink_metadata(folder.join(&change.path));
            let changed = |it: std::fs::Metadata| (it.ctime(), it.ctime_nsec());
            change.now != Now::Folder && there.is_ok_and(|there| changed(there) > began)
        };
        let newer: Vec<&Change> = changes.iter().filter(is_newer).collect();
        if newer.is_empty() {
            return Ok(());
        }
        self.keep();
        self.set_told();
        for change in &newer {
            eprintln!("error: {} was changed since the run began", shown_path(&change.path));
        }
        let path = self.path.display();
        Err(Failure::new(format!("nothing was written to {}", folder.display()))
            .hint(format!("`belljar skill apply --overwrite {path}` replaces what is newer")))
    }

    /// Writes the changes to the folder that they belong to. If something could not be written
    /// everything is kept aside as well.
    pub fn write_back(mut self, changes: &[Change], newer: Newer) -> Result<(), Failure> {
        let Some(folder) = self.origin.folder.clone() else {
            self.keep();
            return Err(Failure::new(
                "the skill worked on an empty folder: there is none to write to",
            )
            .hint(format!("copy what you need from {}", self.files().display())));
        };
        if newer == Newer::Keep {
            self.refuse_newer(&folder, changes)?;
        }
        let failed = write_back(&self.files(), &folder, changes).map_err(|error| {
            self.keep();
            Failure::new(format!("cannot write to {}: {error}", folder.display()))
                .hint(format!("the changes are kept in {}", self.path.display()))
        })?;
        if failed.is_empty() {
            return self.discard();
        }
        self.keep();
        for one in &failed {
            eprintln!("error: cannot write {}: {}", shown_path(&one.path), one.cause);
        }
        Err(Failure::new(format!("{} of {} changes were not written", failed.len(), changes.len()))
            .hint(format!("everything is kept in {}", self.path.display())))
    }
}

/// What becomes of files that somebody else changed since the run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newer {
    /// They stay, and nothing is written.
    Keep,
    /// They are replaced.
    Replace,
}

const FILES: &str = "files";
const NOTHING: &str = "nothing";
const TOLD: &str = "told";
const ORIGIN: &str = "origin.json";

fn state_folder() -> Result<PathBuf, Failure> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let state = named("XDG_STATE_HOME").or_else(|| Some(named("HOME")?.join(".local/state")));
    state.map(|state| state.join("belljar/aside")).ok_or_else(|| {
        Failure::new(
            "there is no folder to keep changes in: neither XDG_STATE_HOME nor HOME is set",
        )
        .hint("set one of them, or use --work DIR")
        .code(Failure::CANNOT_START)
    })
}
