//! The folder of the user's that a run works on: how it is shown, and what becomes of what is written.
//!
//! `run`, `shell` and `skill run` share it. Unless the user wants it otherwise, writes go to a layer,
//! and at the end somebody decides about them.

use std::path::{Path, PathBuf};

use host_sys::beneath::Folder;
use sandbox::ExitReport;
use sandbox_spec::{Change, HostPlace, Mount, MountAccess, Ownership, SandboxSpec, printable_path};

use crate::blocked::Ran;
use crate::failure::Failure;
use crate::masks::Masks;
use crate::report::Fate;
use crate::signals::Signals;
use crate::skill::aside::{Aside, Newer, Origin};
use crate::skill::listing::{counted, in_words};
use crate::skill::places;
use crate::skill::question::{Choice, Question};
use crate::user_terminal::UserTerminal;

/// A folder that a run works on.
pub struct Work {
    source: HostPlace,
    place: PathBuf,
    aside: Option<Aside>,
    layer: Option<HostPlace>,
    access: MountAccess,
    masks: Masks,
}

impl Work {
    /// A folder that is seen at `place`, through a layer that keeps what `name` writes.
    pub fn layered(
        name: String,
        source: PathBuf,
        place: PathBuf,
        ran: Ran,
    ) -> Result<Self, Failure> {
        let aside = Aside::new(Origin { name, folder: Some(source.clone()) })?;
        let layer = Some(aside.layer()?);
        let access = MountAccess::Overlay;
        Ok(Self { aside: Some(aside), layer, access, ..Self::at_once(source, place, ran)? })
    }

    /// A folder that is changed at once.
    pub fn at_once(source: PathBuf, place: PathBuf, ran: Ran) -> Result<Self, Failure> {
        // Whatever its name means later, this folder is shown, and this one was looked at for masks.
        let folder = Folder::at(&source).map_err(|error| {
            Failure::new(format!("cannot use the folder {}: {error}", printable_path(&source)))
                .code(Failure::CANNOT_START)
        })?;
        Ok(Self::held(&source, folder, place, ran))
    }

    /// A folder that was found at a path, and is changed at once.
    pub fn held(path: &Path, folder: Folder, place: PathBuf, ran: Ran) -> Self {
        let masks = masks(&folder.proc_path(), ran);
        let source = places::held(path, folder);
        Self { source, place, aside: None, layer: None, access: MountAccess::ReadWrite, masks }
    }

    /// A folder that is not changed at all.
    pub fn read_only(source: PathBuf, place: PathBuf, ran: Ran) -> Result<Self, Failure> {
        Ok(Self { access: MountAccess::ReadOnly, ..Self::at_once(source, place, ran)? })
    }

    /// Nothing, and a layer that keeps what `name` writes.
    pub fn empty(name: String, place: PathBuf) -> Result<Self, Failure> {
        let aside = Aside::new(Origin { name, folder: None })?;
        let (source, layer) = (aside.nothing()?, Some(aside.layer()?));
        let (access, masks) = (MountAccess::Overlay, Masks::default());
        Ok(Self { source, place, aside: Some(aside), layer, access, masks })
    }

    /// The folder on the host.
    pub fn source(&self) -> &HostPlace {
        &self.source
    }

    /// The folder of the user's that is worked on, if there is one.
    pub fn origin_folder(&self) -> Option<&Path> {
        match &self.aside {
            Some(aside) => aside.origin().folder.as_deref(),
            None => Some(self.source.path()),
        }
    }

    /// Whether writes go to a layer.
    pub fn is_layered(&self) -> bool {
        self.aside.is_some()
    }

    /// Says what of the folder is not shown, if there is something to say.
    pub fn tell_masks(&self) {
        self.masks.tell();
    }

    /// The folder as a mount.
    pub fn mount(&self) -> Mount {
        Mount {
            source: self.source.clone(),
            destination: self.place.clone(),
            access: self.access,
            ownership: Ownership::default(),
            upper: self.layer.clone(),
            masked: self.masks.paths.clone(),
            is_counted: false,
        }
    }

    /// Gives the mount of a specification that shows the folder its layer and its masks.
    pub fn complete(&self, spec: &mut SandboxSpec) {
        for mount in spec.mounts.iter_mut().filter(|mount| mount.destination == self.place) {
            *mount = Mount { ownership: mount.ownership, ..self.mount() };
        }
    }

    /// From here on what is written is removed only by a decision.
    pub fn keep(&mut self) {
        if let Some(aside) = &mut self.aside {
            aside.keep();
        }
    }

    fn changes(&self) -> Result<Vec<Change>, Failure> {
        self.aside.as_ref().map_or(Ok(Vec::new()), Aside::changes)
    }

    /// What was written by a run that ended so. It is kept whatever the end was.
    pub fn after(
        &mut self,
        ended: Result<ExitReport, Failure>,
        signals: &Signals,
    ) -> Result<(ExitReport, Vec<Change>), Failure> {
        let changes = self.changes()?;
        match ended {
            Ok(report) => Ok((report, changes)),
            Err(failure) => {
                self.settle(&changes, Decision::Keep, signals)?;
                Err(failure)
            }
        }
    }

    /// Tells what was written, and writes it back or keeps it.
    pub fn settle(
        &mut self,
        changes: &[Change],
        decision: Decision<'_>,
        signals: &Signals,
    ) -> Result<Fate, Failure> {
        let Some(aside) = self.aside.take() else {
            return Ok(match self.access {
                MountAccess::ReadOnly => Fate::NothingWritten,
                MountAccess::ReadWrite | MountAccess::Overlay => Fate::WrittenAtOnce,
            });
        };
        if changes.is_empty() {
            aside.end_unused()?;
            return Ok(Fate::NothingWritten);
        }
        let folder = aside.origin().folder.clone();
        let choice = match (decision, &folder) {
            (Decision::Ask(terminal), Some(folder)) => {
                let layer = aside.files();
                let (folder, layer) = (folder.as_path(), layer.as_path());
                let question = Question { terminal, signals, folder, layer, changes };
                // Whoever does not answer has not agreed.
                question.ask().unwrap_or(Choice::Nothing)
            }
            (decision, _) => {
                let (list, place) = (in_words(changes), printable_path(&self.place));
                eprintln!("\n{} in {place}:\n{}", counted(changes), list.trim_end());
                if decision.is_apply() { Choice::All } else { Choice::Nothing }
            }
        };
        let kept = aside.path().to_path_buf();
        match choice {
            Choice::All => {
                aside.write_back(changes, Newer::Keep)?;
                return Ok(Fate::Applied);
            }
            Choice::Some(chosen) => {
                aside.write_some(&chosen, Newer::Keep)?;
                let n = changes.len() - chosen.len();
                let kept_in = printable_path(&kept);
                eprintln!("{n} kept aside: `belljar apply {kept_in}` lists them");
                return Ok(Fate::AppliedInPart(kept));
            }
            Choice::Nothing => aside.set_told(),
        }
        if folder.is_some() {
            eprintln!("kept aside: `belljar apply {}` writes it back", printable_path(&kept));
        } else {
            eprintln!("kept in {}", printable_path(aside.files()));
        }
        Ok(Fate::Kept(kept))
    }
}

/// What of a folder is not shown: credentials, and what is kept of runs.
pub fn masks(folder: &Path, ran: Ran) -> Masks {
    let mut masks = Masks::of(folder, ran);
    if let Some(state) = Aside::state() {
        masks.hide(&state);
    }
    masks
}

/// What is to be done with what was written.
#[derive(Clone, Copy)]
pub enum Decision<'t> {
    /// It is written back.
    Apply,
    /// The user is asked.
    Ask(&'t UserTerminal),
    /// It is kept aside, and the user is told how to get at it.
    Keep,
}

impl<'t> Decision<'t> {
    /// What follows from `--apply`, and from whether somebody is there to answer.
    pub fn of(apply: bool, terminal: Option<&'t UserTerminal>) -> Self {
        match (apply, terminal) {
            (true, _) => Self::Apply,
            (false, Some(terminal)) => Self::Ask(terminal),
            (false, None) => Self::Keep,
        }
    }

    fn is_apply(self) -> bool {
        matches!(self, Self::Apply)
    }
}
