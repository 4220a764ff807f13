//! What is here for a skill: the programs, and the modules of Python and Node, that a sandbox
//! with the host's system folders shows.
//!
//! A virtual environment is asked inside a sandbox: its Python is a file that a package may have
//! replaced, and runs code that packages leave for its start. Folders that packages have shaped
//! are looked into name by name.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use host_sys::beneath::Folder;
use sandbox::{Backend, End, Streams};
use sandbox_spec::{
    ByteSize, HostPlace, Limits, Mount, MountAccess, NetworkPolicy, Ownership, SandboxSpec,
};
use skills::deps::{BrowserStore, Inventory, Needs, PathInventory, Presence, python_probe};
use skills::install::{ENVIRONMENT_FOLDER, NODE_FOLDER, PYTHON_FOLDER};
use skills::{GUEST_PATH, Skill};

use super::environment::Environment;
use super::{browsers, places};

/// Where Node looks on its own, apart from the folders above the script.
const NODE_FOLDERS: [&str; 3] =
    ["/usr/share/nodejs", "/usr/lib/nodejs", "/usr/lib/x86_64-linux-gnu/nodejs"];
/// How long a virtual environment may take to answer.
const MAX_TIME: Duration = Duration::from_secs(60);
/// How much of an answer is read.
const MAX_ANSWER_BYTES: u64 = 1 << 20;

/// What is here for one skill.
pub struct Here {
    programs: PathInventory,
    /// The imports that Python cannot find; nothing if Python could not be asked.
    missing_modules: Option<BTreeSet<String>>,
    node_folders: Vec<PathBuf>,
    /// What was made for the skill.
    made: Option<Folder>,
    /// Where packages find their browsers, by the packages' names.
    browsers: Vec<&'static str>,
}

impl Here {
    /// Looks around for what a skill needs. Python is asked, without importing what it is asked
    /// about; nothing of the skill is run.
    pub fn look(
        skill: &Skill,
        needs: &Needs,
        environment: &Environment,
        backend: &dyn Backend,
    ) -> Self {
        let path = match &environment.venv {
            Some(venv) => format!("{}/bin:{GUEST_PATH}", venv.path().display()),
            None => GUEST_PATH.to_owned(),
        };
        let mut node_folders = vec![skill.root.join("node_modules")];
        node_folders.extend(environment.node_modules.iter().map(|it| it.path().to_path_buf()));
        node_folders.extend(NODE_FOLDERS.map(PathBuf::from));
        Self {
            missing_modules: missing_modules(needs, environment, backend),
            programs: PathInventory { path },
            node_folders,
            browsers: browsers::stores(needs).iter().map(|(store, _)| store.name).collect(),
            made: environment.made.as_ref().and_then(|made| places::folder(&made.folder).ok()),
        }
    }

    /// Whether what was made for the skill has a name, without asking where a link leads.
    fn is_made(&self, path: &Path) -> bool {
        let Some(made) = &self.made else { return false };
        let found = made.parent_of(path).and_then(|(folder, name)| folder.status_of(name));
        found.is_ok_and(|found| found.is_some())
    }
}

fn missing_modules(
    needs: &Needs,
    environment: &Environment,
    backend: &dyn Backend,
) -> Option<BTreeSet<String>> {
    if needs.python.is_empty() {
        return Some(BTreeSet::new());
    }
    let probe = python_probe(needs);
    let (program, arguments) = probe.split_first()?;
    let made = environment.made.as_ref().filter(|made| made.has_python);
    // The virtual environment as it is seen inside, and what is mounted where for that.
    let venv = match (&environment.venv, made) {
        (Some(venv), _) => Some((venv.path().to_path_buf(), shown(venv, venv.path()))),
        (None, Some(made)) => {
            let top = Path::new(ENVIRONMENT_FOLDER);
            Some((top.join(PYTHON_FOLDER), shown(&made.folder, top)))
        }
        (None, None) => None,
    };
    // Isolated: neither the user's own packages nor the current folder are in a sandbox.
    let arguments = std::iter::once("-I").chain(arguments.iter().map(String::as_str));
    let text = match venv {
        Some((venv, mount)) => {
            let program = venv.join("bin").join(program);
            let command: Vec<_> = std::iter::once(program.into_os_string())
                .chain(arguments.map(Into::into))
                .collect();
            let mut spec = SandboxSpec::new(command);
            spec.mounts.push(mount);
            let home = environment.python_home.iter();
            spec.mounts.extend(home.map(|home| shown(home, home.path())));
            answer_inside(spec, backend)?
        }
        None => {
            let mut command = Command::new("/usr/bin/env");
            command.arg(program).args(arguments).env_clear().env("PATH", GUEST_PATH);
            let output = command
                .current_dir("/")
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .output()
                .ok()?;
            output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())?
        }
    };
    Some(text.lines().map(str::to_owned).collect())
}

fn shown(source: &HostPlace, target: &Path) -> Mount {
    Mount {
        source: source.clone(),
        destination: target.to_path_buf(),
        access: MountAccess::ReadOnly,
        ownership: Ownership::default(),
        upper: None,
        masked: Vec::new(),
        is_counted: false,
    }
}

/// What a program prints in a sandbox without network, if it ends well.
fn answer_inside(mut spec: SandboxSpec, backend: &dyn Backend) -> Option<String> {
    spec.network = NetworkPolicy::Loopback;
    spec.limits = Limits {
        timeout: Some(MAX_TIME),
        memory: Some(ByteSize::from_mib(1024)),
        processes: Some(16),
        output: Some(ByteSize(MAX_ANSWER_BYTES)),
        ..Limits::default()
    };
    let nothing = || std::fs::File::options().read(true).write(true).open("/dev/null").ok();
    let (output, output_end) = std::io::pipe().ok()?;
    let streams = Streams {
        input: nothing().map(Into::into),
        output: Some(output_end.into()),
        errors: nothing().map(Into::into),
    };
    let mut running = backend.start(&spec, streams).ok()?;
    let (ended, text) = std::thread::scope(|scope| {
        let read = scope.spawn(move || {
            let mut bytes = Vec::new();
            // What was read before an error is all there is.
            let _ = output.take(MAX_ANSWER_BYTES).read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let ended = running.wait();
        // Nothing of the sandbox holds the pipe open any more.
        drop(running);
        (ended, read.join().unwrap_or_default())
    });
    matches!(ended.ok()?.end, End::Exited { code: 0 }).then_some(text)
}

impl Inventory for Here {
    fn python_module(&self, import: &str) -> Presence {
        match &self.missing_modules {
            None => Presence::Unknown,
            Some(missing) if missing.contains(import) => Presence::Missing,
            Some(_) => Presence::Present,
        }
    }

    fn node_package(&self, package: &str) -> Presence {
        let made = Path::new(NODE_FOLDER).join("node_modules").join(package);
        let is_here = self.node_folders.iter().any(|folder| folder.join(package).is_dir())
            || self.is_made(&made);
        if is_here { Presence::Present } else { Presence::Missing }
    }

    fn program(&self, name: &str) -> Presence {
        let made = Path::new(PYTHON_FOLDER).join("bin").join(name);
        if self.is_made(&made) { Presence::Present } else { self.programs.program(name) }
    }

    fn browser(&self, package: &BrowserStore) -> Presence {
        let is_here = self.browsers.contains(&package.name);
        if is_here { Presence::Present } else { Presence::Missing }
    }
}
