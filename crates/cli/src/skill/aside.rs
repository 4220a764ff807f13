//! Folders that keep what a run wrote until somebody decides about it.
//!
//! They are in the user's state folder and not in `/tmp`: they may outlive the run, and they need
//! a file system with extended attributes.
//!
//! `NAME/files` takes the writes, `NAME/origin.json` says whose they are and is locked for as long
//! as the run goes on, and `NAME/told` is there once the user was told of it. So what a run left
//! that was killed is found by the next one.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use host_sys::beneath::{Folder, Status};
use host_sys::rustix;
use sandbox_spec::{HostPlace, printable_path};
use serde::{Deserialize, Serialize};
use skills::printable;

use super::changes::{self, Change, Now};
use super::listing::{counted, shown_path};
use super::places;
use super::spare_layer;
use super::write_back::write_back;
use crate::failure::Failure;

/// Where the changes of a run belong.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// The name of the skill or of the program.
    #[serde(alias = "skill")]
    pub name: String,
    /// The folder that it worked on; nothing if it was an empty one.
    pub folder: Option<PathBuf>,
}

/// A folder with the changes of one run.
#[derive(Debug)]
pub struct Aside {
    /// The folder that all of them are in.
    top: Folder,
    name: OsString,
    folder: Folder,
    /// Whether the folder stays when this value goes.
    is_kept: bool,
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
            Failure::new(format!("cannot keep changes in {}: {error}", printable_path(&top)))
                .hint("let XDG_STATE_HOME name a folder that can be written")
                .code(Failure::CANNOT_START)
        };
        let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let prefix: String = origin.name.chars().take(64).map(word).collect();
        let state = Folder::make_at(&top).map_err(failed)?;
        let above = top.parent().and_then(|above| Folder::at(above).ok());
        let prefix = format!("{prefix}-");
        let spare = || spare_layer::take(&state, above.as_ref()?, &prefix, FILES);
        let spare = origin.folder.as_ref().and_then(|_| spare());
        let is_new = spare.is_none();
        let (name, folder) = match spare {
            Some(spare) => spare,
            None => state.make_unique_folder(&prefix).map_err(failed)?,
        };
        let path = top.join(&name);
        // From here on what was made goes if something fails.
        let lock = folder.open_itself().map_err(failed)?;
        let mut made = Self { top: state, name, folder, is_kept: false, path, origin, _lock: lock };
        made._lock = made.prepare(is_new).map_err(failed)?;
        Ok(made)
    }

    /// Makes what is in a new one, and locks it.
    fn prepare(&self, is_new: bool) -> io::Result<File> {
        if is_new {
            self.folder.make_folder(FILES, 0o755)?;
        }
        if self.origin.folder.is_none() {
            self.folder.make_folder(NOTHING, 0o755)?;
        }
        let mut file = self.folder.create(ORIGIN, 0o600)?;
        // Who looks for what was left may hold it for a moment, and finds nothing yet.
        file.lock()?;
        file.write_all(serde_json::to_string_pretty(&self.origin)?.as_bytes())?;
        Ok(file)
    }

    /// What every run has kept and nobody has decided about, by path. Runs that go on are not
    /// among them.
    pub fn all() -> Result<Vec<Self>, Failure> {
        let top = state_folder()?;
        let failed = |error: io::Error| {
            Failure::new(format!("cannot read what is kept in {}: {error}", printable_path(&top)))
        };
        let state = match Folder::at(&top) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            held => held.map_err(failed)?,
        };
        let entries = state.list(MAX_KEPT).map_err(failed)?;
        // What cannot be opened is no folder of ours, or is in use.
        let opened = entries.iter().map(|entry| Self::open_in(&state, &top, &entry.name));
        Ok(opened.filter_map(Result::ok).collect())
    }

    /// Tells of what runs have left that were killed before they could tell of it, once. What
    /// they left empty goes.
    pub fn tell_forgotten() {
        // Who has no state folder has nothing in it.
        let Ok(top) = state_folder() else { return };
        let Ok(state) = Folder::at(&top) else { return };
        for entry in state.list(MAX_KEPT).unwrap_or_default() {
            let is_told = || state.folder(&entry.name)?.status_of(TOLD);
            // This is at the end of every run: what was told of is not looked into.
            if is_told().is_ok_and(|it| it.is_some()) {
                continue;
            }
            let Ok(aside) = Self::open_in(&state, &top, &entry.name) else {
                // It is in use, or nothing ran in it.
                let _ = remove_if_never_used(&state, &entry.name);
                continue;
            };
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
        let _ = self.folder.create(TOLD, 0o600);
    }

    /// What it is, in a line.
    pub fn words(&self) -> String {
        let count = self.changes().map_or_else(|_| "changes".to_owned(), |it| counted(&it));
        let name = printable(&self.origin.name);
        match &self.origin.folder {
            Some(folder) => format!("{name} wrote to {}: {count}", shown_path(folder)),
            None => format!("{name} wrote to an empty folder: {count}"),
        }
    }

    /// How to get at it.
    pub fn remedy(&self) -> String {
        let path = printable_path(&self.path);
        match &self.origin.folder {
            Some(_) => {
                format!("`belljar apply {path}` writes it back, with --discard it is thrown away")
            }
            None => format!(
                "it is in {}; `belljar apply --discard {path}` throws it away",
                printable_path(self.files())
            ),
        }
    }

    /// Opens one that was kept. Only those in the user's state folder are: what says where changes
    /// go must not come from elsewhere.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |error: io::Error| not_kept(path, &error);
        let absolute = std::path::absolute(path).map_err(failed)?;
        let given = Folder::at(&absolute).and_then(|folder| folder.status()).map_err(failed)?;
        let top = state_folder()?;
        let state = Folder::at(&top).map_err(failed)?;
        let name = absolute.file_name().unwrap_or_default();
        match state.folder(name).and_then(|folder| folder.status()) {
            Ok(ours) if ours.identity == given.identity => Self::open_in(&state, &top, name),
            _ => Err(not_kept(path, &format!("it is not in {}", printable_path(&top)))),
        }
    }

    fn open_in(state: &Folder, top: &Path, name: &OsStr) -> Result<Self, Failure> {
        let path = top.join(name);
        let failed = |error: io::Error| not_kept(&path, &error);
        let folder = state.folder(name).map_err(failed)?;
        let lock = folder.open(ORIGIN).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::new(format!("{} is in use", printable_path(path)))
                    .hint("wait for the end of the run that writes to it"));
            }
        }
        let text = folder.read(ORIGIN, MAX_ORIGIN_BYTES).map_err(failed)?;
        let origin = serde_json::from_slice(&text).map_err(|error| failed(error.into()))?;
        let top = state.again().map_err(failed)?;
        Ok(Self { top, name: name.to_owned(), folder, is_kept: true, path, origin, _lock: lock })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder for everything that outlives a run, if the environment names one. No guest may
    /// see it, or change it: what is kept there says where it is written to.
    pub fn state() -> Option<PathBuf> {
        state_folder().ok()?.parent().map(Path::to_path_buf)
    }

    /// The folder that takes the writes.
    pub fn files(&self) -> PathBuf {
        self.path.join(FILES)
    }

    /// The folder that takes the writes, for a sandbox.
    pub fn layer(&self) -> Result<HostPlace, Failure> {
        self.place(FILES)
    }

    /// An empty folder, for a run that starts with nothing.
    pub fn nothing(&self) -> Result<HostPlace, Failure> {
        self.place(NOTHING)
    }

    fn place(&self, name: &str) -> Result<HostPlace, Failure> {
        let path = self.path.join(name);
        let folder = self.folder.folder(name).map_err(|error| {
            Failure::new(format!("cannot keep changes in {}: {error}", printable_path(&path)))
                .code(Failure::CANNOT_START)
        })?;
        Ok(places::held(&path, folder))
    }

    /// Where the changes belong.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// What was changed.
    pub fn changes(&self) -> Result<Vec<Change>, Failure> {
        let listed = || {
            let lower = self.origin.folder.as_deref().map(Folder::at_exactly).transpose()?;
            changes::list_beneath(&self.folder.folder(FILES)?, lower.as_ref())
        };
        listed().map_err(|error: io::Error| {
            Failure::new(format!("cannot list what was written: {error}"))
                .hint(format!("it is in {}", printable_path(&self.path)))
        })
    }

    /// Lets the folder stay when this value goes.
    pub fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Ends a run that has written nothing. The next one may have the layer.
    pub fn end_unused(mut self) -> Result<(), Failure> {
        let put = || -> io::Result<()> {
            let above = Folder::at(self.path.ancestors().nth(2).unwrap_or(&self.path))?;
            let marks = [ORIGIN, TOLD];
            spare_layer::put(&self.top, &above, &self.name, &self.folder, FILES, &marks)
        };
        if self.origin.folder.is_none() || put().is_err() {
            return self.discard();
        }
        self.is_kept = true;
        Ok(())
    }

    /// Removes it.
    pub fn discard(mut self) -> Result<(), Failure> {
        self.is_kept = true;
        self.top.remove(&self.name).map_err(|error| {
            Failure::new(format!("cannot remove {}: {error}", printable_path(&self.path)))
        })
    }

    /// Refuses to replace what somebody else changed since the run began: the program has not seen
    /// it, and whoever agrees to what it wrote need not know of it.
    fn refuse_newer(&mut self, folder: &Path, changes: &[Change]) -> Result<(), Failure> {
        let Ok(Some(began)) = self.folder.status_of(ORIGIN) else { return Ok(()) };
        // Who cannot be looked at cannot be written to either, which is then told.
        let Ok(there) = Folder::at_exactly(folder) else { return Ok(()) };
        let status = |path: &Path| {
            let (parent, name) = there.parent_of(path).ok()?;
            parent.status_of(name).ok()?
        };
        let is_newer = |change: &&Change| {
            let is_after = |it: Status| it.changed > began.modified;
            change.now != Now::Folder && status(&change.path).is_some_and(is_after)
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
        let path = printable_path(&self.path);
        Err(Failure::new(format!("nothing was written to {}", printable_path(folder)))
            .hint(format!("`belljar apply --overwrite {path}` replaces what is newer")))
    }

    /// Writes the changes to the folder that they belong to. If something could not be written
    /// everything is kept aside as well.
    pub fn write_back(mut self, changes: &[Change], newer: Newer) -> Result<(), Failure> {
        self.write(changes, newer)?;
        self.discard()
    }

    /// Writes some of the changes. The others stay aside.
    pub fn write_some(mut self, chosen: &[Change], newer: Newer) -> Result<(), Failure> {
        self.keep();
        self.set_told();
        self.write(chosen, newer)
    }

    fn write(&mut self, changes: &[Change], newer: Newer) -> Result<(), Failure> {
        let Some(folder) = self.origin.folder.clone() else {
            self.keep();
            return Err(Failure::new("it worked on an empty folder: there is none to write to")
                .hint(format!("copy what you need from {}", printable_path(self.files()))));
        };
        if newer == Newer::Keep {
            self.refuse_newer(&folder, changes)?;
        }
        let held = self.folder.folder(FILES).and_then(|from| {
            // Written down when the run began: a link there now leads elsewhere.
            Ok((from, Folder::at_exactly(&folder)?))
        });
        let (from, to) = held.map_err(|error| {
            self.keep();
            Failure::new(format!("cannot write to {}: {error}", printable_path(folder)))
                .hint(format!("the changes are kept in {}", printable_path(&self.path)))
        })?;
        let failed = write_back(from, to, changes);
        if failed.is_empty() {
            return Ok(());
        }
        self.keep();
        for one in &failed {
            eprintln!("error: cannot write {}: {}", shown_path(&one.path), one.cause);
        }
        Err(Failure::new(format!("{} of {} changes were not written", failed.len(), changes.len()))
            .hint(format!("everything is kept in {}", printable_path(&self.path))))
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if !self.is_kept {
            // What stays is found by the next run, and told of.
            let _ = self.top.remove(&self.name);
        }
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

/// How many runs may have kept something.
const MAX_KEPT: usize = 100_000;
/// How long the text may be that says whose changes they are.
const MAX_ORIGIN_BYTES: u64 = 64 << 10;
/// A folder that is younger may not be ready yet.
const MIN_AGE: Duration = Duration::from_secs(60);
const FILES: &str = "files";
const NOTHING: &str = "nothing";
const TOLD: &str = "told";
const ORIGIN: &str = "origin.json";

fn not_kept(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::new(format!("{} holds no changes of a run: {why}", printable_path(path)))
        .hint("give the folder that `belljar` named at its end")
}

/// Removes a folder without a word of whose it is: whoever made it was cut off before anything ran.
fn remove_if_never_used(state: &Folder, name: &OsStr) -> io::Result<()> {
    let folder = state.folder(name)?;
    let status = folder.status()?;
    let changed = u64::try_from(status.changed.0).unwrap_or_default();
    let age = SystemTime::UNIX_EPOCH
        .checked_add(Duration::from_secs(changed))
        .and_then(|changed| changed.elapsed().ok());
    let is_old = age.is_some_and(|age| age >= MIN_AGE);
    let is_ours = status.uid == rustix::process::geteuid().as_raw();
    if is_old && is_ours && folder.status_of(ORIGIN)?.is_none() {
        state.remove(name)?;
    }
    Ok(())
}

fn state_folder() -> Result<PathBuf, Failure> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let state = named("XDG_STATE_HOME").or_else(|| Some(named("HOME")?.join(".local/state")));
    state.map(|state| state.join("belljar/aside")).ok_or_else(|| {
        Failure::new(
            "there is no folder to keep changes in: neither XDG_STATE_HOME nor HOME is set",
        )
        .hint("set one of them; --rw and --work DIR let writes through at once, --no-cwd shows no folder")
        .code(Failure::CANNOT_START)
    })
}
