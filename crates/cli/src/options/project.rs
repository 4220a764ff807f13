//! The folder that the user stands in: whether it is shown, and what becomes of what is written to it.

use std::path::{Path, PathBuf};

use clap::Args;
use sandbox_spec::{Mount, RootFs, SandboxSpec, printable_path};

use super::policy::{Learning, PolicyOptions};
use super::{SandboxOptions, home_folder};
use crate::blocked::Ran;
use crate::failure::Failure;
use crate::project::{Project, Showing, name_of};
use crate::toolchains::{Surroundings, Toolchains};
use crate::work::Work;

/// Options about the current folder.
#[derive(Args, Debug)]
#[command(next_help_heading = "Current folder")]
pub struct ProjectOptions {
    /// Let writes to the current folder, and to the project that it is in, through at once
    #[arg(long, conflicts_with_all = ["apply", "no_cwd"])]
    rw: bool,
    /// Do not show the current folder
    #[arg(long)]
    no_cwd: bool,
    /// Write what the program changed back to the current folder, without asking
    #[arg(long, conflicts_with = "no_cwd")]
    pub apply: bool,
    #[command(flatten)]
    policy: PolicyOptions,
}

impl ProjectOptions {
    /// Holds the program to the user's policy, and opens the file for what is learned.
    pub fn hold(
        &self,
        sandbox: &SandboxOptions,
        spec: &mut SandboxSpec,
    ) -> Result<Option<Learning>, Failure> {
        self.policy.apply(&sandbox.common, spec)
    }

    /// Shows the project at its own path and lets the program start in the current folder. Nothing
    /// is shown if the user says so, uses a root of their own, shows the folder already, or starts
    /// the program elsewhere.
    pub fn show(
        &self,
        sandbox: &SandboxOptions,
        spec: &mut SandboxSpec,
    ) -> Result<Option<Work>, Failure> {
        if self.no_cwd || spec.root != RootFs::Host {
            return Ok(None);
        }
        let project = Project::find()?;
        let start = match &sandbox.cwd {
            // What is relative is so to the current folder, as everywhere on a command line.
            Some(path) => without_dots(&project.here.join(path)),
            None => project.here.clone(),
        };
        if !start.starts_with(&project.folder) {
            return Ok(None);
        }
        match project.showing() {
            Showing::AtItsPath => {}
            Showing::Already => {
                if project.folder.parent().is_none() && sandbox.cwd.is_none() {
                    tell_top();
                }
                spec.working_directory = start;
                return Ok(None);
            }
            Showing::TakenInside => {
                if sandbox.cwd.is_none() {
                    tell_taken(&project.folder);
                }
                return Ok(None);
            }
        }
        spec.working_directory = start;
        if spec.mounts.iter().any(|mount| shows(mount, &project.folder)) {
            return Ok(None);
        }
        let name = spec.program.first().map_or_else(|| "shell".to_owned(), |it| name_of(it));
        let (source, place) = (project.folder.clone(), project.folder);
        let layered = || Work::layered(name, source.clone(), place.clone(), Ran::Program);
        let work = match (self.rw, self.apply) {
            (true, _) => Work::at_once(source, place, Ran::Program)?,
            (false, true) => layered()?,
            (false, false) => layered().or_else(|failure| {
                tell_read_only(&place, &failure);
                Work::read_only(source.clone(), place.clone(), Ran::Program)
            })?,
        };
        work.tell_masks();
        // First, so that what the user mounts can be in it; the project may be in a tool's folder.
        let found = find_toolchains(Some(work.source().path()));
        let shown: Vec<Mount> = found.mounts().chain([work.mount()]).collect();
        let is_free = |mount: &Mount| !spec.mounts.iter().any(|it| shows(it, &mount.destination));
        let shown: Vec<Mount> = shown.into_iter().filter(is_free).collect();
        spec.mounts.splice(0..0, shown);
        sandbox.add_variables(spec, work.source().path(), &found);
        Ok(Some(work))
    }
}

/// The tools that the user's `PATH` reaches.
pub fn find_toolchains(project: Option<&Path>) -> Toolchains {
    let home = home_folder().map(|home| home.canonicalize().unwrap_or(home));
    let path = std::env::var_os("PATH").unwrap_or_default();
    Toolchains::find(&Surroundings {
        home: home.as_deref(),
        path: &path,
        variable: &|name| std::env::var_os(name),
        project,
    })
}

/// Whether a mount already has something of the user's at the place of a folder.
fn shows(mount: &Mount, folder: &Path) -> bool {
    folder.starts_with(&mount.destination)
}

/// A path without `.` and `..`, by its names alone.
fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(clean.pop()),
            std::path::Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean
}

fn tell_top() {
    eprintln!(
        "warning: / is the whole file system: only what every sandbox has of it is shown, and what \
         is written to it is lost\n\
         hint: stand in the folder that the program shall work on, or show it: --mount SRC:DST"
    );
}

/// A machine without a place to keep things, as in many containers, still runs what only reads.
fn tell_read_only(folder: &Path, failure: &Failure) {
    let (folder, why) = (printable_path(folder), failure.message());
    eprintln!(
        "warning: {folder} cannot be written to: {why}\n\
         hint: let XDG_STATE_HOME name a folder that can be written; --rw lets writes through at \
         once, --no-cwd leaves the folder out"
    );
}

fn tell_taken(folder: &Path) {
    let folder = printable_path(folder);
    eprintln!(
        "warning: {folder} is not shown: a sandbox has something of its own there\n\
         hint: show it elsewhere: --mount .:/work:rw --cwd /work"
    );
}
