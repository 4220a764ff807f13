//! Packages of Node: fetched with the keys, then their scripts run without keys and network.

use std::path::Path;

use host_sys::beneath::Folder;
use sandbox_spec::{HostPlace, MountAccess, printable_path};
use skills::install::{
    ENVIRONMENT_FOLDER, Installer, NODE_FOLDER, Requirements, Source, failed_script,
    packages_with_scripts,
};
use skills::printable;

use super::environment_cache::Place;
use super::install_step::{FailedStep, Purpose, Step, Steps};
use super::places;
use crate::failure::Failure;

/// How long npm's list of what it has installed may be.
const MAX_LIST_BYTES: u64 = 64 << 20;
/// Where that list is, below the folder.
const MODULES: &str = "node_modules";
const LIST: &str = ".package-lock.json";

/// A folder that is being filled with packages of Node.
pub struct Node<'a> {
    steps: &'a Steps<'a>,
    requirements: &'a Requirements,
    place: HostPlace,
    folder: Folder,
    source: Source,
}

impl<'a> Node<'a> {
    /// Starts with a new folder.
    pub fn new(
        steps: &'a Steps<'a>,
        requirements: &'a Requirements,
        content: &Place,
        source: Source,
    ) -> Result<Self, Failure> {
        let place = content.make(NODE_FOLDER)?;
        let folder = places::folder(&place).map_err(|error| cannot_use(place.path(), &error))?;
        Ok(Self { steps, requirements, place, folder, source })
    }

    /// Where packages come from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Fetches packages, and runs their scripts.
    pub fn fill(&self) -> Result<(), Failure> {
        let text = self.requirements.package_json();
        let written = self.folder.replace("package.json", 0o644, text.as_bytes());
        written.map_err(|error| cannot_use(self.place.path(), &error))?;
        self.steps.run(self.step(Purpose::Fetch, self.requirements.npm_fetch_command()))?;
        let packages = self.packages_with_scripts()?;
        if packages.as_ref().is_some_and(Vec::is_empty) {
            return Ok(());
        }
        self.run_scripts(packages.unwrap_or_default())
    }

    /// Runs what packages bring to be run when they are installed. A package whose script fails
    /// may work all the same, so this is told and goes on.
    fn run_scripts(&self, packages: Vec<String>) -> Result<(), Failure> {
        let Err(first) = self.run_scripts_of(&[])? else { return Ok(()) };
        if packages.len() <= 1 {
            tell_failed_script(&first);
            return Ok(());
        }
        // npm ended with the first that failed, and those after it shall not go without.
        for package in &packages {
            if let Err(failed) = self.run_scripts_of(&[package])? {
                tell_failed_script(&failed);
            }
        }
        Ok(())
    }

    fn run_scripts_of(&self, packages: &[&str]) -> Result<Result<String, FailedStep>, Failure> {
        let command = self.requirements.npm_scripts_command(packages);
        self.steps.try_run(self.step(Purpose::Build, command))
    }

    /// The packages with scripts, if npm's list says so. A list with a key in it goes: the scripts
    /// would read it.
    fn packages_with_scripts(&self) -> Result<Option<Vec<String>>, Failure> {
        let Ok(modules) = self.folder.folder(MODULES) else { return Ok(None) };
        let Ok(list) = modules.read(LIST, MAX_LIST_BYTES) else { return Ok(None) };
        let list = String::from_utf8_lossy(&list);
        if self.source.has_key_in(&list) {
            modules.remove_file(LIST).map_err(|error| cannot_use(self.place.path(), &error))?;
        }
        Ok(packages_with_scripts(&list))
    }

    fn step(&self, purpose: Purpose, command: Vec<String>) -> Step<'_> {
        let directory = format!("{ENVIRONMENT_FOLDER}/{NODE_FOLDER}");
        Step {
            purpose,
            installer: Installer::Npm,
            command,
            folders: vec![(self.place.clone(), directory.clone(), MountAccess::ReadWrite)],
            directory,
            source: &self.source,
        }
    }
}

/// Tells that what a package brings to be run failed, and what it said.
fn tell_failed_script(failed: &FailedStep) {
    failed.tell_lines();
    let package = printable(failed_script(&failed.text).unwrap_or("a package"));
    eprintln!(
        "warning: the install script of {package} failed; it is installed without\nhint: such \
         scripts run without network; if it needs one, use a folder of your own with --node-modules"
    );
}

fn cannot_use(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot use {}: {error}", printable_path(path)))
        .code(Failure::CANNOT_START)
}
