//! Packages of Python: fetched as wheels, and built from source where there is no wheel.
//!
//! pip learns what a package without a wheel requires by running its code. So pip is only let fetch
//! wheels. When it says that one is missing, the source archive is fetched as a file, built in a
//! sandbox without keys and network, and pip is asked again with the wheel that came of it.

use std::cell::RefCell;
use std::collections::BTreeSet;

use sandbox_spec::{HostPlace, MountAccess};
use skills::install::{
    BUILT_FOLDER, DEFAULT_INDEX_PROBE, ENVIRONMENT_FOLDER, FETCHED_FOLDER, Installer,
    PYTHON_FOLDER, RequirementError, Requirements, SOURCE_FOLDER, Source, TEMPORARY_FOLDER,
    build_requirements, build_requirements_command, build_wheel_command, fetch_source_command,
    fetch_wheels_command, is_unreachable, missing_requirement, python, source_archive,
};
use skills::printable;

use super::install_step::{FailedStep, Purpose, Step, Steps};
use crate::failure::Failure;

/// How many packages may be built on the way to one that is asked for.
const MAX_DEPTH: usize = 8;
/// How often a package may ask for more while it is built.
const MAX_ASKED: usize = 8;

/// A virtual environment that is being filled.
pub struct Python<'a> {
    steps: &'a Steps<'a>,
    requirements: &'a Requirements,
    /// The virtual environment.
    folder: HostPlace,
    /// Wheels that were built here.
    built: HostPlace,
    source: Source,
    /// What was built from source already.
    sources: RefCell<BTreeSet<String>>,
}

impl<'a> Python<'a> {
    /// Makes an empty virtual environment, and asks where packages come from.
    pub fn new(
        steps: &'a Steps<'a>,
        requirements: &'a Requirements,
        folder: HostPlace,
        find_source: impl FnOnce(&str) -> Source,
    ) -> Result<Self, Failure> {
        let built = steps.make_folder("built")?;
        let source = Source::default();
        let mut python =
            Self { steps, requirements, folder, built, source, sources: RefCell::default() };
        let (venv, access) = (requirements.venv_command(), MountAccess::ReadWrite);
        python.steps.run(python.step(Purpose::Build, Installer::Venv, venv, access))?;
        let probe = self::python(&["-I", "-c", DEFAULT_INDEX_PROBE]);
        let step = python.step(Purpose::Build, Installer::Venv, probe, MountAccess::ReadOnly);
        let index = python.steps.run(step)?;
        python.source = find_source(&index);
        Ok(python)
    }

    /// Where packages come from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Fetches, builds and installs.
    pub fn fill(&self) -> Result<(), Failure> {
        let fetched = self.fetch(&self.requirements.python, 0)?;
        let command = self.requirements.pip_install_command();
        let mut step = self.step(Purpose::Build, Installer::Pip, command, MountAccess::ReadWrite);
        step.folders.push((fetched, FETCHED_FOLDER.to_owned(), MountAccess::ReadOnly));
        self.steps.run(step).map(drop)
    }

    /// Fetches wheels for requirements and for all that those require, and builds those that the
    /// registry does not have. Says where they are.
    fn fetch(&self, requirements: &[String], depth: usize) -> Result<HostPlace, Failure> {
        loop {
            let fetched = self.steps.make_folder("fetched")?;
            if requirements.is_empty() {
                return Ok(fetched);
            }
            let command = fetch_wheels_command(requirements);
            let mut step =
                self.step(Purpose::Fetch, Installer::Pip, command, MountAccess::ReadOnly);
            step.folders.extend([
                (fetched.clone(), FETCHED_FOLDER.to_owned(), MountAccess::ReadWrite),
                (self.built.clone(), BUILT_FOLDER.to_owned(), MountAccess::ReadOnly),
            ]);
            let Err(failed) = self.steps.try_run(step)? else { return Ok(fetched) };
            let missing = missing_requirement(&failed.text).filter(|missing| {
                !is_unreachable(&failed.text) && self.sources.borrow_mut().insert(missing.clone())
            });
            match missing {
                Some(missing) if depth < MAX_DEPTH => self.build(&missing, failed, depth)?,
                _ => return Err(failed.tell()),
            }
        }
    }

    /// Fetches the source of a requirement and builds a wheel of it. `why` is how pip said that
    /// there is no wheel.
    fn build(&self, requirement: &str, why: FailedStep, depth: usize) -> Result<(), Failure> {
        let archives = self.steps.make_folder("source")?;
        let command = fetch_source_command(requirement);
        let mut step = self.step(Purpose::Fetch, Installer::Pip, command, MountAccess::ReadOnly);
        step.folders.push((archives.clone(), SOURCE_FOLDER.to_owned(), MountAccess::ReadWrite));
        let archive = match self.steps.try_run(step)? {
            Ok(text) => source_archive(&text),
            // There is neither: pip says better what there is.
            Err(failed) if missing_requirement(&failed.text).is_some() => return Err(why.tell()),
            Err(failed) => return Err(failed.tell()),
        };
        let Some(archive) = archive else { return Err(why.tell()) };
        eprintln!("  building {} without network", printable(&archive));
        let shown = (archives, SOURCE_FOLDER.to_owned(), MountAccess::ReadOnly);
        let mut wanted = self.build_requirements(&archive, &shown)?;
        for _ in 0..MAX_ASKED {
            let fetched = self.fetch(&wanted, depth + 1)?;
            let command = build_wheel_command(&archive);
            let mut step =
                self.step(Purpose::Build, Installer::Pip, command, MountAccess::ReadOnly);
            step.folders.extend([
                shown.clone(),
                (fetched, FETCHED_FOLDER.to_owned(), MountAccess::ReadOnly),
                (self.built.clone(), BUILT_FOLDER.to_owned(), MountAccess::ReadWrite),
            ]);
            let Err(failed) = self.steps.try_run(step)? else { return Ok(()) };
            // What builds it may ask for more once it runs.
            match missing_requirement(&failed.text).filter(|more| !wanted.contains(more)) {
                Some(more) => wanted.push(more),
                None => return Err(failed.tell()),
            }
        }
        Err(Failure::new(format!("{} asks for ever more to be built", printable(&archive)))
            .hint("do not trust where it came from")
            .code(Failure::CANNOT_START))
    }

    fn build_requirements(
        &self,
        archive: &str,
        shown: &(HostPlace, String, MountAccess),
    ) -> Result<Vec<String>, Failure> {
        let command = build_requirements_command(archive);
        let mut step = self.step(Purpose::Build, Installer::Pip, command, MountAccess::ReadOnly);
        step.folders.push(shown.clone());
        let text = self.steps.run(step)?;
        build_requirements(&text).map_err(|error| of_requirement(archive, &error))
    }

    /// A step with the virtual environment. While it is only read, whatever runs cannot change what
    /// a later step with keys runs.
    fn step(
        &self,
        purpose: Purpose,
        installer: Installer,
        command: Vec<String>,
        access: MountAccess,
    ) -> Step<'_> {
        let target = format!("{ENVIRONMENT_FOLDER}/{PYTHON_FOLDER}");
        Step {
            purpose,
            installer,
            command,
            folders: vec![(self.folder.clone(), target, access)],
            directory: TEMPORARY_FOLDER.to_owned(),
            source: &self.source,
        }
    }
}

fn of_requirement(archive: &str, error: &RequirementError) -> Failure {
    Failure::new(printable(&format!("{archive} cannot be built: {error}")))
        .hint("make an environment yourself, and name it with --venv")
        .code(Failure::CANNOT_START)
}
