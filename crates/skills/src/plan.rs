//! Planning a run: from a skill, a script and options to plain data that a backend executes.
//!
//! Nothing is started or opened here. The plan names guest paths (`/skill`, `/work`) and the places
//! of the host behind them, held by whoever looked at them; how they are mounted is the backend's business.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sandbox_spec::{HostPlace, Identity, expand_home, user_packages};
use serde::Serialize;
use thiserror::Error;

use crate::install::{ENVIRONMENT_FOLDER, MadeEnvironment, NODE_FOLDER, PYTHON_FOLDER};
use crate::policy::{self, Access, Ask, Consent, Layers, Network, Policy, ResourceLimits};
use crate::script::{self, Interpreter, Script, runner_line};
use crate::skill::{FileKind, Skill};

/// Where the skill is seen inside.
pub const SKILL_FOLDER: &str = "/skill";
/// Where the work folder is seen inside. It is also the working folder.
pub const WORK_FOLDER: &str = "/work";
/// The home folder inside. It is empty and writable.
pub const HOME_FOLDER: &str = "/home/user";
/// Where programs are looked for inside.
pub const GUEST_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Where Node finds packages from every folder.
pub const NODE_MODULES: &str = "/node_modules";
/// Paths that public skills write to, and that mean the work folder.
const WORK_ALIASES: [&str; 2] = ["/mnt/user-data/outputs", "/mnt/user-data/uploads"];

/// Why a run cannot be planned.
#[derive(Debug, Error)]
pub enum PlanError {
    /// the skill's files are not safe
    #[error("the skill's files are not safe to use: {0}")]
    UnsafeFiles(String),
    /// the script is not there
    #[error("the skill has no script `{name}`")]
    NoSuchScript {
        /// What was asked for.
        name: String,
        /// What there is.
        scripts: Vec<String>,
    },
    /// the name fits several scripts
    #[error("`{name}` may mean {}", .scripts.join(" or "))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// The scripts that it fits.
        scripts: Vec<String>,
    },
    /// no script was named and there are several
    #[error("the skill has {} scripts; name one", .0.len())]
    NoScriptNamed(Vec<String>),
    /// there is nothing to run
    #[error("the skill has no scripts")]
    NoScripts,
    /// the file cannot be run
    #[error("`{0}` is not a script: it has no `#!` line, no known extension and is no program")]
    NotAScript(String),
    /// a program without the right to be run
    #[error("`{script}` is a program that nobody may execute")]
    NotExecutable {
        /// Its path in the skill.
        script: String,
        /// Its path on the host.
        host: PathBuf,
    },
    /// a path from a home that is not known
    #[error("the skill asks for {0}, and the home folder is not known: HOME is not set")]
    NoHome(String),
    /// the skill's policy is wrong
    #[error("the skill's belljar.yaml is not valid")]
    BadPolicy(Vec<crate::finding::Finding>),
    /// a file cannot be read
    #[error("cannot read the skill's belljar.yaml")]
    Read(#[from] std::io::Error),
}

/// The folder that is `/work`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "path")]
pub enum WorkFolder {
    /// A host folder, seen through a layer that keeps changes aside.
    CopyOnWrite(HostPlace),
    /// A host folder that is changed at once.
    ReadWrite(HostPlace),
    /// An empty folder that goes with the run.
    Empty,
}

/// What the user says about a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The work folder.
    pub work: WorkFolder,
    /// What the flags say.
    pub flags: Policy,
    /// What the user's policy file says.
    pub user_policy: Policy,
    /// The user's answer to what the skill asks for.
    pub consent: Consent,
    /// The host's environment; only variables that the policy passes are taken from it.
    pub host_env: BTreeMap<String, String>,
    /// A virtual environment of Python to use.
    pub venv: Option<HostPlace>,
    /// The installation of Python that the virtual environment builds on, if it is not one of the
    /// system's, which are seen anyway.
    pub python_home: Option<HostPlace>,
    /// A `node_modules` folder to use.
    pub node_modules: Option<HostPlace>,
    /// An environment that was made for the skill. What the user names goes before it.
    pub environment: Option<MadeEnvironment>,
    /// Folders with browsers that packages start, as (source, place inside, variable).
    pub browsers: Vec<(HostPlace, &'static str, &'static str)>,
}

impl RunOptions {
    /// Options with this work folder and nothing else allowed.
    pub fn new(work: WorkFolder) -> Self {
        Self {
            work,
            flags: Policy::default(),
            user_policy: Policy::default(),
            consent: Consent::Withheld,
            host_env: BTreeMap::new(),
            venv: None,
            python_home: None,
            node_modules: None,
            environment: None,
            browsers: Vec::new(),
        }
    }

    /// Where the virtual environment that is used is seen inside.
    fn python_environment(&self) -> Option<String> {
        if let Some(venv) = &self.venv {
            // A virtual environment holds its own path, so it must be seen where it is.
            return Some(text_of(venv));
        }
        let is_made = self.environment.as_ref().is_some_and(|made| made.has_python);
        is_made.then(|| format!("{ENVIRONMENT_FOLDER}/{PYTHON_FOLDER}"))
    }

    /// Whether there are packages of Node.
    fn has_node(&self) -> bool {
        self.node_modules.is_some() || self.has_made_node()
    }

    fn has_made_node(&self) -> bool {
        let is_made = self.environment.as_ref().is_some_and(|made| made.has_node);
        self.node_modules.is_none() && is_made
    }
}

/// How a mount of a plan is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MountKind {
    /// Only read.
    ReadOnly,
    /// Written at once.
    ReadWrite,
    /// Written to a layer that is kept aside.
    CopyOnWrite,
    /// An empty folder in memory; there is no source.
    Empty,
}

/// A mount of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedMount {
    /// The host's folder or file, unless the mount is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<HostPlace>,
    /// The path inside.
    pub target: String,
    /// How it is seen.
    pub kind: MountKind,
}

/// Everything that a backend needs to run a script. Plain data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunPlan {
    /// The skill's name, for messages and reports.
    pub skill: String,
    /// The script, relative to the skill.
    pub script: String,
    /// The command: interpreter, script, arguments.
    pub argv: Vec<String>,
    /// Commands to try when the first one's program is not there.
    pub alternatives: Vec<Vec<String>>,
    /// The working folder inside.
    pub cwd: String,
    /// What is mounted, in this order.
    pub mounts: Vec<PlannedMount>,
    /// Symbolic links to make inside, as (path, target).
    pub links: Vec<(String, String)>,
    /// The whole environment.
    pub env: BTreeMap<String, String>,
    /// The limits.
    pub limits: ResourceLimits,
    /// The hosts that may be contacted.
    pub network: Network,
    /// Files that may be read and written, if that is narrowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<policy::Files>,
    /// Programs that may be started, if that is narrowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<std::collections::BTreeSet<String>>,
    /// What the skill asked for, granted or not.
    pub asks: Vec<Ask>,
    /// What holds, all sides put together.
    pub policy: Policy,
}

/// Plans to run a script of a skill.
pub fn plan_run(
    skill: &Skill,
    script: Option<&str>,
    args: &[String],
    options: &RunOptions,
) -> Result<RunPlan, PlanError> {
    if skill.has_unsafe_files() {
        let first = skill.findings.iter().find(|finding| finding.rule.starts_with("file-"));
        let words = first.map(|finding| format!("{}: {}", finding.place.file, finding.what));
        return Err(PlanError::UnsafeFiles(words.unwrap_or_default()));
    }
    let script = choose_script(skill, script)?;
    let is_executable = skill.find_file(&script.path).is_some_and(|entry| entry.is_executable);
    if script.interpreter == Interpreter::Elf && !is_executable {
        let host = skill.host_path(&script.path);
        return Err(PlanError::NotExecutable { script: script.path, host });
    }
    let asked = wishes(skill, options)?;
    let effective = policy::merge(&Layers {
        flags: &options.flags,
        user: &options.user_policy,
        skill: &asked,
        consent: options.consent,
        home: home(options),
    });
    let mut commands = commands(&script, args, options).into_iter();
    Ok(RunPlan {
        skill: skill.name().to_owned(),
        script: script.path.clone(),
        argv: commands.next().unwrap_or_default(),
        alternatives: commands.collect(),
        cwd: WORK_FOLDER.to_owned(),
        mounts: mounts(skill, &effective.policy, options),
        policy: effective.policy.clone(),
        links: links(options),
        env: environment(skill, &effective.policy, options),
        limits: effective.policy.limits,
        network: effective.policy.network.unwrap_or_default(),
        files: effective.policy.files,
        programs: effective.policy.programs,
        asks: effective.asks,
    })
}

/// The user's home folder on the host.
fn home(options: &RunOptions) -> Option<&Path> {
    options.host_env.get("HOME").map(Path::new).filter(|home| home.is_absolute())
}

/// What the skill asks for. Paths of the host are relative to the skill, or to the user's home.
fn wishes(skill: &Skill, options: &RunOptions) -> Result<Policy, PlanError> {
    let mut asked = match policy::of_skill(skill)? {
        Some(read) if !read.is_valid() => return Err(PlanError::BadPolicy(read.findings)),
        Some(read) => read.policy,
        None => Policy::default(),
    };
    for mount in &mut asked.mounts {
        let source = expand_home(Path::new(&mount.source), home(options))
            .ok_or_else(|| PlanError::NoHome(mount.source.clone()))?;
        mount.source = skill.root.join(source).to_string_lossy().into_owned();
    }
    Ok(asked)
}

/// Chooses the script: the only one, or the one whose path, path below `scripts/`, name or stem
/// was given.
pub fn choose_script(skill: &Skill, wanted: Option<&str>) -> Result<Script, PlanError> {
    let scripts = script::find_scripts(skill);
    let paths = |list: &[&Script]| list.iter().map(|script| script.path.clone()).collect();
    let Some(wanted) = wanted else {
        let all: Vec<&Script> = preferred(&scripts);
        return match all.as_slice() {
            [] => Err(PlanError::NoScripts),
            [only] => Ok((*only).clone()),
            many => Err(PlanError::NoScriptNamed(paths(many))),
        };
    };
    let wanted = wanted.trim_start_matches("./");
    for path in [wanted.to_owned(), format!("scripts/{wanted}")] {
        if let Some(entry) = skill.find_file(&path).filter(|entry| entry.kind != FileKind::Folder) {
            return script::read(skill, entry).ok_or(PlanError::NotAScript(path));
        }
    }
    let fits = |script: &&Script| {
        let name = script.path.rsplit('/').next().unwrap_or_default();
        name == wanted || name.rsplit_once('.').is_some_and(|(stem, _)| stem == wanted)
    };
    let fitting: Vec<&Script> = scripts.iter().filter(fits).collect();
    match fitting.as_slice() {
        [only] => Ok((*only).clone()),
        [] => Err(PlanError::NoSuchScript {
            name: wanted.to_owned(),
            scripts: paths(&scripts.iter().collect::<Vec<_>>()),
        }),
        many => Err(PlanError::Ambiguous { name: wanted.to_owned(), scripts: paths(many) }),
    }
}

/// The scripts that a person would start: those that do something, in `scripts/` if there are any
/// there.
fn preferred(scripts: &[Script]) -> Vec<&Script> {
    let is_usual = |script: &&Script| script.path.starts_with("scripts/");
    let entries: Vec<&Script> = scripts.iter().filter(|script| script.is_entry).collect();
    let usual: Vec<&Script> = entries.iter().copied().filter(is_usual).collect();
    match (usual.is_empty(), entries.is_empty()) {
        (false, _) => usual,
        (true, false) => entries,
        (true, true) => scripts.iter().collect(),
    }
}

/// The command lines that can run the script, the best first.
fn commands(script: &Script, args: &[String], options: &RunOptions) -> Vec<Vec<String>> {
    let guest_path = format!("{SKILL_FOLDER}/{}", script.path);
    let mut starts = script.interpreter.commands();
    for start in &mut starts {
        start.extend(script.options());
    }
    // A virtual environment is found by name; an absolute path would pass it by.
    let is_by_name =
        options.python_environment().is_some() && script.interpreter == Interpreter::Python;
    // An absolute path in the `#!` line is tried first, as Linux would.
    if let Some(words) = &script.shebang
        && !is_by_name
        && runner_line(words).is_none()
        && words.first().is_some_and(|program| program.starts_with('/'))
        && script.interpreter != Interpreter::Elf
    {
        let program_only = words.first().and_then(|program| program.rsplit('/').next());
        let by_name: Vec<String> = program_only
            .into_iter()
            .map(str::to_owned)
            .chain(words.iter().skip(1).cloned())
            .collect();
        starts.insert(0, words.clone());
        starts.push(by_name);
    }
    let mut commands: Vec<Vec<String>> = Vec::new();
    for mut command in starts {
        command.push(guest_path.clone());
        command.extend(args.iter().cloned());
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    commands
}

fn mounts(skill: &Skill, policy: &Policy, options: &RunOptions) -> Vec<PlannedMount> {
    let mount = |source: Option<HostPlace>, target: &str, kind| PlannedMount {
        source,
        target: target.to_owned(),
        kind,
    };
    let mut mounts = vec![mount(Some(skill.place.clone()), SKILL_FOLDER, MountKind::ReadOnly)];
    mounts.push(match &options.work {
        WorkFolder::CopyOnWrite(path) => {
            mount(Some(path.clone()), WORK_FOLDER, MountKind::CopyOnWrite)
        }
        WorkFolder::ReadWrite(path) => mount(Some(path.clone()), WORK_FOLDER, MountKind::ReadWrite),
        WorkFolder::Empty => mount(None, WORK_FOLDER, MountKind::Empty),
    });
    mounts.push(mount(None, HOME_FOLDER, MountKind::Empty));
    mounts.push(mount(None, "/tmp", MountKind::Empty));
    if let Some(home) = &options.python_home {
        mounts.push(mount(Some(home.clone()), &text_of(home), MountKind::ReadOnly));
    }
    if let Some(venv) = &options.venv {
        mounts.push(mount(Some(venv.clone()), &text_of(venv), MountKind::ReadOnly));
    }
    if let Some(modules) = &options.node_modules {
        mounts.push(mount(Some(modules.clone()), NODE_MODULES, MountKind::ReadOnly));
    }
    if let Some(made) = &options.environment {
        // As a whole: below its top, names and links are those of packages, and only the sandbox may
        // find out where they lead.
        mounts.push(mount(Some(made.folder.clone()), ENVIRONMENT_FOLDER, MountKind::ReadOnly));
    }
    for (source, target, _) in &options.browsers {
        mounts.push(mount(Some(source.clone()), target, MountKind::ReadOnly));
    }
    for allowed in &policy.mounts {
        let kind = match allowed.access {
            Access::Read => MountKind::ReadOnly,
            Access::Write => MountKind::ReadWrite,
        };
        mounts.push(mount(Some(HostPlace::from(&allowed.source)), &allowed.target, kind));
    }
    mounts
}

/// The path inside of what is seen where it is on the host.
fn text_of(place: &HostPlace) -> String {
    place.path().to_string_lossy().into_owned()
}

/// Links that are made inside. Where they lead is found out inside, too.
fn links(options: &RunOptions) -> Vec<(String, String)> {
    let mut links = WORK_ALIASES.map(|path| (path.to_owned(), WORK_FOLDER.to_owned())).to_vec();
    if options.has_made_node() {
        let made = format!("{ENVIRONMENT_FOLDER}/{NODE_FOLDER}/node_modules");
        links.push((NODE_MODULES.to_owned(), made));
    }
    links
}

fn environment(skill: &Skill, policy: &Policy, options: &RunOptions) -> BTreeMap<String, String> {
    let mut env: BTreeMap<String, String> = [
        ("HOME", HOME_FOLDER),
        ("LANG", "C.UTF-8"),
        ("LOGNAME", "user"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("PYTHONUNBUFFERED", "1"),
        ("SKILL_DIR", SKILL_FOLDER),
        // Archives made elsewhere carry owners that do not exist inside.
        ("TAR_OPTIONS", "--no-same-owner"),
        ("TERM", "dumb"),
        ("USER", "user"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    if imports_from_root(skill) {
        env.insert("PYTHONPATH".to_owned(), SKILL_FOLDER.to_owned());
    }
    let mut path = GUEST_PATH.to_owned();
    if let Some(venv) = options.python_environment() {
        path = format!("{venv}/bin:{path}");
        env.insert("VIRTUAL_ENV".to_owned(), venv);
    }
    if options.has_node() {
        // Last, so that no package can put itself before a program of the system.
        path = format!("{path}:{NODE_MODULES}/.bin");
    }
    let browsers = options.browsers.iter();
    env.extend(browsers.map(|(_, target, name)| ((*name).to_owned(), (*target).to_owned())));
    if let Some(installed) = user_packages(&Identity::default()) {
        path = format!("{path}:{}", installed.programs.to_string_lossy());
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let variables = installed.variables.into_iter();
        env.extend(variables.map(|(name, value)| (name.to_owned(), text(value))));
    }
    env.insert("PATH".to_owned(), path);
    for name in &policy.env.pass {
        if let Some(value) = options.host_env.get(name) {
            env.insert(name.clone(), value.clone());
        }
    }
    env.extend(policy.env.set.clone());
    env
}

/// Whether a Python file imports a package that lies at the top of the skill. Such scripts are
/// written to be run from the skill's folder, so Python must look there.
fn imports_from_root(skill: &Skill) -> bool {
    crate::deps::python_files(skill).iter().any(|(entry, text)| {
        let has_folder = !entry.folder().is_empty();
        has_folder && crate::deps::imports_top_level(skill, text)
    })
}

#[cfg(test)]
mod tests;
