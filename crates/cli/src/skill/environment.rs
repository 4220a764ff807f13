//! What a skill's packages come from: folders that the user names, or an environment in the cache
//! that was made for exactly these requirements.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use clap::Args;
use host_sys::beneath::{Entry, Folder, Kind, Status};
use sandbox::Backend;
use sandbox_spec::{ByteSize, HostPlace, LEAST_DISK, SizeError, printable_path};
use skills::deps::{Needs, find_needs, without_present};
use skills::install::{MadeEnvironment, Requirements, key_name};
use skills::{GUEST_PATH, RunOptions, Skill, printable};

use super::browsers;
use super::environment_cache::{Cache, Slot};
use super::install_step::DEFAULT_DISK;
use super::installer::Installation;
use super::inventory::Here;
use super::places;
use super::registry::interpreter_version;
use crate::failure::Failure;
use crate::options::absolute;
use crate::signals::Signals;

/// How long the text may be that says what a virtual environment builds on.
const MAX_CONFIGURATION_BYTES: u64 = 64 << 10;
/// How many names the folder of an installation's libraries may have.
const MAX_LIBRARIES: usize = 100_000;

/// Options that say where packages come from.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Packages")]
pub struct EnvironmentOptions {
    /// Get the packages that are missing: in a sandbox that reaches only the package registry,
    /// into a cache of Belljar's own
    #[arg(long)]
    pub install: bool,
    /// Let --install reach this host too, for a registry that keeps its files elsewhere
    #[arg(long, value_name = "HOST[:PORT]", requires = "install")]
    pub registry_host: Vec<String>,
    /// How much the packages may take on the disk, with what is needed while they are installed
    /// [default: 16G]
    #[arg(long, value_name = "SIZE", requires = "install", value_parser = disk_size)]
    pub install_limit: Option<ByteSize>,
    /// Use this virtual environment of Python
    #[arg(long, value_name = "DIR")]
    pub venv: Option<PathBuf>,
    /// Use this folder of Node packages
    #[arg(long, value_name = "DIR")]
    pub node_modules: Option<PathBuf>,
}

/// Where a run's packages are, on the host.
#[derive(Debug, Default)]
pub struct Environment {
    /// A virtual environment that the user named.
    pub venv: Option<HostPlace>,
    /// The installation of Python that it builds on, if sandboxes do not show that anyway.
    pub python_home: Option<HostPlace>,
    /// A folder of Node packages that the user named.
    pub node_modules: Option<HostPlace>,
    /// What was made for the skill.
    pub made: Option<MadeEnvironment>,
    /// Folders with browsers, as (source, place inside, the variable that names it).
    pub browsers: Vec<(HostPlace, &'static str, &'static str)>,
}

impl Environment {
    /// Puts it into the options of a run.
    pub fn apply(&self, options: &mut RunOptions) {
        options.venv.clone_from(&self.venv);
        options.python_home.clone_from(&self.python_home);
        options.node_modules.clone_from(&self.node_modules);
        options.environment.clone_from(&self.made);
        options.browsers.clone_from(&self.browsers);
    }
}

impl EnvironmentOptions {
    /// Finds the environment for a skill, and makes it if that is asked for.
    pub fn prepare(
        &self,
        skill: &Skill,
        backend: &dyn Backend,
        signals: &Signals,
    ) -> Result<Environment, Failure> {
        let mut environment = Environment::default();
        if let Some(venv) = &self.venv {
            let venv = without_dots(&absolute(venv)?);
            let (venv, home) = virtual_environment(&venv)?;
            environment.python_home = home;
            environment.venv = Some(venv);
        }
        if let Some(folder) = &self.node_modules {
            environment.node_modules = Some(node_modules(&absolute(folder)?)?);
        }
        environment.made = self.made(skill, backend, signals)?;
        if browsers::has_any() {
            let stores = browsers::stores(&find_needs(skill)).into_iter();
            let shown = stores.map(|(store, folder)| (folder, store.target, store.variable));
            environment.browsers = shown.collect();
        }
        Ok(environment)
    }

    /// The environment in the cache. One that is there is used also without `--install`.
    fn made(
        &self,
        skill: &Skill,
        backend: &dyn Backend,
        signals: &Signals,
    ) -> Result<Option<MadeEnvironment>, Failure> {
        let cache = match Cache::open() {
            Err(failure) if self.install => return Err(failure),
            Err(_) => return Ok(None),
            Ok(cache) if !self.install && cache.is_empty() => return Ok(None),
            Ok(cache) => cache,
        };
        let needs = self.needs(skill);
        let requirements = match Requirements::of(&needs) {
            Ok(requirements) => requirements,
            Err(_) if !self.install => return Ok(None),
            Err(error) => {
                return Err(Failure::new(printable(&error.to_string()))
                    .hint("make an environment yourself, and name it with --venv or --node-modules")
                    .code(Failure::CANNOT_START));
            }
        };
        if requirements.is_empty() {
            if self.install {
                eprintln!("nothing to install: the skill needs no packages");
            }
            return Ok(None);
        }
        let (requirements, needs) = match self.is_made(&cache, &requirements)? {
            true => (requirements, needs),
            false => lacking(skill, needs, requirements, backend),
        };
        if requirements.is_empty() {
            if self.install {
                eprintln!("nothing to install: the packages that the skill needs are here");
            }
            return Ok(None);
        }
        let folder = self.folder(&cache, &requirements, &needs, backend, signals)?;
        let has_python = !requirements.python.is_empty();
        let has_node = !requirements.node.is_empty();
        Ok(folder.map(|folder| MadeEnvironment { folder, has_python, has_node }))
    }

    /// Whether the cache has an environment with all of these.
    fn is_made(&self, cache: &Cache, requirements: &Requirements) -> Result<bool, Failure> {
        let key = key_of(requirements)?;
        Ok(matches!(cache.look_up(&key_name(&key), &key)?, Slot::Made(_)))
    }

    /// The folder of the environment with these requirements, which is made if that is asked for.
    fn folder(
        &self,
        cache: &Cache,
        requirements: &Requirements,
        needs: &Needs,
        backend: &dyn Backend,
        signals: &Signals,
    ) -> Result<Option<HostPlace>, Failure> {
        let key = key_of(requirements)?;
        let name = key_name(&key);
        match cache.look_up(&name, &key)? {
            Slot::Made(place) => return Ok(Some(place)),
            Slot::Free => {}
            Slot::Changed(how) => tell_changed(&how, self.install),
        }
        if !self.install {
            return Ok(None);
        }
        let lock = cache.lock(&name, signals)?;
        // Somebody else may have made it while we waited.
        if let Slot::Made(place) = cache.look_up(&name, &key)? {
            return Ok(Some(place));
        }
        let making = lock.start()?;
        let extra_hosts = &self.registry_host;
        let disk = self.install_limit.unwrap_or(DEFAULT_DISK);
        Installation { requirements, needs, making: &making, disk, extra_hosts, backend, signals }
            .run()?;
        making.finish(&key).map(Some)
    }

    /// What is not in a folder that the user named.
    fn needs(&self, skill: &Skill) -> Needs {
        let mut needs = find_needs(skill);
        if self.venv.is_some() {
            needs.python.clear();
        }
        if self.node_modules.is_some() {
            needs.node.clear();
        }
        needs
    }
}

fn disk_size(text: &str) -> Result<ByteSize, SizeError> {
    ByteSize::parse_at_least(text, LEAST_DISK)
}

/// What of the needs neither the system nor the skill itself has. What the system has is then seen
/// beside what is installed.
fn lacking(
    skill: &Skill,
    needs: Needs,
    requirements: Requirements,
    backend: &dyn Backend,
) -> (Requirements, Needs) {
    let here = Here::look(skill, &needs, &Environment::default(), backend);
    let lacking = without_present(&needs, &here);
    match Requirements::of(&lacking) {
        Ok(mut rest) if rest != requirements => {
            rest.sees_system |= rest.python.len() < requirements.python.len();
            (rest, lacking)
        }
        _ => (requirements, needs),
    }
}

fn key_of(requirements: &Requirements) -> Result<String, Failure> {
    requirements
        .key_text(&interpreters(requirements)?)
        .map_err(|error| Failure::new(format!("cannot write down what the skill needs: {error}")))
}

/// Tells that an environment in the cache is not what was made.
fn tell_changed(how: &str, is_made_anew: bool) {
    let how = printable(how);
    eprintln!("warning: the packages in the cache were changed after they were installed: {how}");
    match is_made_anew {
        true => eprintln!("hint: they are installed anew"),
        false => eprintln!("hint: they are not used; --install installs them anew"),
    }
}

/// The interpreters that the environment is for, with their versions.
fn interpreters(requirements: &Requirements) -> Result<BTreeMap<String, String>, Failure> {
    let mut versions = BTreeMap::new();
    let kinds =
        [("python3", requirements.python.is_empty()), ("node", requirements.node.is_empty())];
    for (name, is_unused) in kinds {
        if is_unused {
            continue;
        }
        let version = interpreter_version(name).ok_or_else(|| {
            Failure::new(format!("there is no `{name}` to install packages for"))
                .hint(format!("install `{name}` to one of {GUEST_PATH}"))
                .code(Failure::CANNOT_START)
        })?;
        versions.insert(name.to_owned(), version);
    }
    Ok(versions)
}

/// A path without `..`, because the folders that it leads through are not there inside. Links stay
/// where that is the same folder: programs in a virtual environment hold the path it was made by.
fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            other => clean.push(other),
        }
    }
    match (path.canonicalize(), clean.canonicalize()) {
        (Ok(meant), Ok(found)) if meant != found => meant,
        _ => clean,
    }
}

/// A virtual environment, and the installation that it builds on, if sandboxes do not show that
/// anyway.
fn virtual_environment(venv: &Path) -> Result<(HostPlace, Option<HostPlace>), Failure> {
    let refused = |why: &str| {
        Failure::new(format!("--venv: {} {why}", printable_path(venv)))
            .hint("make one with `python3 -m venv DIR`, or use --install")
            .code(Failure::CANNOT_START)
    };
    // A guest may have worked on the folder that it is in.
    let held = Folder::at(venv).map_err(|_| refused("is no folder"))?;
    let text = held.read("pyvenv.cfg", MAX_CONFIGURATION_BYTES).map_err(|error| {
        refused(&format!("is no virtual environment: its pyvenv.cfg cannot be read: {error}"))
    })?;
    if !held.proc_path().join("bin/python3").exists() {
        return Err(refused("has no interpreter any more: bin/python3 leads nowhere"));
    }
    let text = String::from_utf8_lossy(&text);
    let home = text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "home").then(|| PathBuf::from(value.trim()))
    });
    let place = places::held(venv, held);
    let Some(top) = home.as_deref().and_then(Path::parent) else { return Ok((place, None)) };
    let is_shown = top == "/" || ["/usr", "/opt"].iter().any(|shown| top.starts_with(shown));
    if is_shown {
        return Ok((place, None));
    }
    // Whoever can write to the environment could name any folder of the user to be shown.
    match installation(top) {
        Some(held) => Ok((place, Some(places::held(top, held)))),
        None => Err(refused(&format!(
            "builds on {}, which is no installation of Python to be shown",
            printable(&top.to_string_lossy())
        ))),
    }
}

/// Whether a folder is one that [`installation`] holds.
pub fn is_python(top: &Path) -> bool {
    installation(top).is_some()
}

/// Holds a folder in which an installation of Python is all that there is, as far as that can be
/// seen: it has the modules without which no Python starts, and the user's home is not in it.
fn installation(top: &Path) -> Option<Folder> {
    let is_plain = top.is_absolute() && !top.components().any(|it| it == Component::ParentDir);
    let held = Folder::at(top).ok()?;
    let real = held.proc_path().canonicalize().ok()?;
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let holds_home = |home: PathBuf| home.canonicalize().unwrap_or(home).starts_with(&real);
    let has_modules = || -> std::io::Result<bool> {
        let lib = held.folder("lib")?;
        let names = lib.list(MAX_LIBRARIES)?;
        let versions = names.iter().filter(|it| it.name.to_string_lossy().starts_with("python3"));
        let is_file = |it: Status| it.kind == Kind::File;
        let has_os = |it: &Entry| lib.folder(&it.name)?.status_of("os.py");
        Ok(versions.into_iter().any(|it| has_os(it).ok().flatten().is_some_and(is_file)))
    };
    let is_python = is_plain && !home.is_some_and(holds_home) && has_modules().unwrap_or(false);
    is_python.then_some(held)
}

/// The folder itself, also when the one above it was named. The user has named the upper one; what
/// is in it may be a link that a guest has left there.
fn node_modules(folder: &Path) -> Result<HostPlace, Failure> {
    let refused = |why: &str| {
        Failure::new(format!("--node-modules: {} {why}", printable_path(folder)))
            .hint("make one with `npm install`, or use --install")
            .code(Failure::CANNOT_START)
    };
    let held = Folder::at(folder).map_err(|_| refused("is no folder"))?;
    let inner = held.status_of("node_modules").map_err(|error| refused(&error.to_string()))?;
    match inner.map(|inner| inner.kind) {
        Some(Kind::Folder) => {
            let inner = held.folder("node_modules").map_err(|error| refused(&error.to_string()))?;
            Ok(places::held(&folder.join("node_modules"), inner))
        }
        Some(Kind::Link) => Err(refused("has a node_modules that is a link")
            .hint("name the folder that it leads to, if that is what you want to show")),
        _ => Ok(places::held(folder, held)),
    }
}
