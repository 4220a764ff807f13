//! Makes an environment in a sandbox that reaches the package registry and nothing else.

use std::collections::BTreeSet;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::time::{Duration, Instant};

use sandbox::{Backend, End, Streams};
use sandbox_spec::{
    ByteSize, EgressRules, HostEntry, HostPattern, HostRule, Limits, Mount, MountAccess,
    NetworkPolicy, Ownership, SandboxSpec,
};
use skills::deps::{Need, Needs};
use skills::install::{
    DEFAULT_INDEX_PROBE, ENVIRONMENT_FOLDER, Installer, NODE_FOLDER, PYTHON_FOLDER, Requirements,
    Source, explain, failed_script, packages_with_scripts,
};
use skills::printable;

use super::environment_cache;
use super::progress::Progress;
use super::registry::{node_source, python_source};
use crate::failure::Failure;
use crate::signals::Signals;

/// The folder for what the installers need only while they run.
const TEMPORARY: &str = "tmp";
/// How long one step may take.
const MAX_TIME: Duration = Duration::from_secs(30 * 60);
/// How much memory one step may use.
const MAX_MEMORY_MIB: u32 = 4096;
/// How many processes and threads one step may have.
const MAX_PROCESSES: u32 = 512;
/// How much one step may print.
const MAX_OUTPUT_MIB: u32 = 64;

/// Everything that an installation is made of.
pub struct Installation<'a> {
    /// What is installed.
    pub requirements: &'a Requirements,
    /// Why, to tell the user.
    pub needs: &'a Needs,
    /// The host's folder that becomes the environment.
    pub folder: &'a Path,
    /// Hosts that the user allows besides the registry's.
    pub extra_hosts: &'a [String],
    /// What runs the sandboxes.
    pub backend: &'a dyn Backend,
    /// Signals to us, which end the installation.
    pub signals: &'a Signals,
}

impl Installation<'_> {
    /// Makes the environment.
    pub fn run(&self) -> Result<(), Failure> {
        let started = Instant::now();
        for folder in [TEMPORARY, NODE_FOLDER] {
            self.make_folder(folder)?;
        }
        if !self.requirements.python.is_empty() {
            self.python()?;
        }
        if !self.requirements.node.is_empty() {
            self.node()?;
        }
        let temporary = self.folder.join(TEMPORARY);
        environment_cache::remove(&temporary).map_err(|error| {
            Failure::new(format!("cannot remove {}: {error}", temporary.display()))
        })?;
        eprintln!("installed after {} s", started.elapsed().as_secs());
        Ok(())
    }

    fn python(&self) -> Result<(), Failure> {
        self.step(Installer::Venv, self.requirements.venv_command(), &Source::default())?;
        let python = format!("{ENVIRONMENT_FOLDER}/{PYTHON_FOLDER}/bin/python");
        let probe = [&python, "-c", DEFAULT_INDEX_PROBE].map(str::to_owned).to_vec();
        let index = self.step(Installer::Venv, probe, &Source::default())?;
        let source = self.widened(python_source(&index));
        self.announce("Python", &self.needs.python, &source);
        self.step(Installer::Pip, self.requirements.pip_command(), &source).map(drop)
    }

    fn node(&self) -> Result<(), Failure> {
        let file = self.folder.join(NODE_FOLDER).join("package.json");
        std::fs::write(&file, self.requirements.package_json())
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))?;
        let source = self.widened(node_source());
        self.announce("Node", &self.needs.node, &source);
        self.step(Installer::Npm, self.requirements.npm_command(), &source)?;
        self.node_scripts(&source.without_keys())
    }

    /// Runs what packages bring to be run when they are installed. A package whose script fails
    /// may work all the same, so this is told and goes on.
    fn node_scripts(&self, source: &Source) -> Result<(), Failure> {
        let list = self.folder.join(NODE_FOLDER).join("node_modules/.package-lock.json");
        let list = std::fs::read_to_string(list).ok();
        let packages = list.and_then(|list| packages_with_scripts(&list));
        if packages.as_ref().is_some_and(Vec::is_empty) {
            return Ok(());
        }
        let Err(first) = self.node_script(&[], source)? else { return Ok(()) };
        let Some(packages) = packages.filter(|packages| packages.len() > 1) else {
            tell_failed_script(&first);
            return Ok(());
        };
        // npm ended with the first that failed, and those after it shall not go without.
        for package in &packages {
            if let Err(failed) = self.node_script(&[package], source)? {
                tell_failed_script(&failed);
            }
        }
        Ok(())
    }

    fn node_script(
        &self,
        packages: &[&str],
        source: &Source,
    ) -> Result<Result<String, FailedStep>, Failure> {
        let command = self.requirements.npm_scripts_command(packages);
        self.run_step(Installer::Npm, command, source)
    }

    fn make_folder(&self, name: &str) -> Result<(), Failure> {
        let folder = self.folder.join(name);
        std::fs::create_dir(&folder)
            .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))
    }

    fn widened(&self, mut source: Source) -> Source {
        if !source.hosts.is_empty() {
            source.hosts.extend(self.extra_hosts.iter().cloned());
        }
        source
    }

    /// Says what is about to be installed, why, and from where.
    fn announce(&self, kind: &str, needs: &[Need], source: &Source) {
        eprintln!("installing packages of {kind} in a sandbox that reaches {}:", reached(source));
        for need in needs.iter().filter(|need| !need.is_optional) {
            let asked = printable(need.requirement.as_deref().unwrap_or(&need.name));
            match need.seen.first() {
                Some(seen) => eprintln!("  {asked}  for {}:{}", printable(&seen.file), seen.line),
                None => eprintln!("  {asked}"),
            }
        }
    }

    /// Runs one command inside, and returns what it printed.
    fn step(
        &self,
        installer: Installer,
        command: Vec<String>,
        source: &Source,
    ) -> Result<String, Failure> {
        self.run_step(installer, command, source)?.map_err(|failed| failed.tell(source))
    }

    /// Like [`step`](Self::step); a command that failed is not told of yet.
    fn run_step(
        &self,
        installer: Installer,
        command: Vec<String>,
        source: &Source,
    ) -> Result<Result<String, FailedStep>, Failure> {
        self.signals.check()?;
        let spec = self.specification(installer, command, source)?;
        let (output, output_end) = std::io::pipe()
            .map_err(|error| Failure::new(format!("cannot make a pipe: {error}")))?;
        let errors_end = output_end.try_clone().ok();
        let streams = Streams {
            input: std::fs::File::open("/dev/null").ok().map(Into::into),
            output: Some(output_end.into()),
            errors: errors_end.map(Into::into),
        };
        let mut running = self.backend.start(&spec, streams)?;
        let (report, text) = std::thread::scope(|scope| {
            let printed = scope.spawn(move || Progress::new(installer).follow(output));
            let report = self.signals.while_running(running.control(), || running.wait());
            // Nothing of the sandbox holds the pipe open any more.
            drop(running);
            (report, printed.join().unwrap_or_default())
        });
        let end = report??.end;
        self.signals.check()?;
        if matches!(end, End::Exited { code: 0 }) {
            return Ok(Ok(text));
        }
        let words = match end {
            End::Exited { .. } => None,
            _ => crate::launch::explain(&end, &spec),
        };
        Ok(Err(FailedStep { installer, text, words }))
    }

    fn specification(
        &self,
        installer: Installer,
        command: Vec<String>,
        source: &Source,
    ) -> Result<SandboxSpec, Failure> {
        let mut spec = SandboxSpec::new(command);
        let folder = if installer == Installer::Npm { NODE_FOLDER } else { TEMPORARY };
        spec.working_directory = Path::new(ENVIRONMENT_FOLDER).join(folder);
        let temporary = format!("{ENVIRONMENT_FOLDER}/{TEMPORARY}");
        let own = [("TMPDIR", temporary.clone()), ("npm_config_cache", format!("{temporary}/npm"))];
        let own = own.into_iter().map(|(name, value)| (name.into(), value.into()));
        spec.environment.extend(own);
        let told = source.env.iter().map(|(name, value)| (name.into(), value.into()));
        spec.environment.extend(told);
        let mount = |source: &Path, target: &Path, access| Mount {
            source: source.to_path_buf(),
            destination: target.to_path_buf(),
            access,
            ownership: Ownership::default(),
            upper: None,
        };
        let top = Path::new(ENVIRONMENT_FOLDER);
        spec.mounts.push(mount(self.folder, top, MountAccess::ReadWrite));
        let read = source.paths.iter().map(|path| mount(path, path, MountAccess::ReadOnly));
        spec.mounts.extend(read);
        spec.limits = Limits {
            timeout: Some(MAX_TIME),
            memory: Some(ByteSize::from_mib(MAX_MEMORY_MIB)),
            processes: Some(MAX_PROCESSES),
            output: Some(ByteSize::from_mib(MAX_OUTPUT_MIB)),
            ..Limits::default()
        };
        spec.network = network(&source.hosts)?;
        Ok(spec)
    }
}

/// A command that failed inside.
struct FailedStep {
    installer: Installer,
    /// The end of what it printed.
    text: String,
    /// What ended it, if it did not end by itself.
    words: Option<String>,
}

impl FailedStep {
    /// Tells the user what it said, and makes the failure.
    fn tell(self, source: &Source) -> Failure {
        eprint!("{}", last_lines(&self.text));
        if let Some(words) = self.words {
            eprintln!("{words}");
        }
        let trouble = explain(self.installer, &self.text, &reached(source));
        Failure::new(trouble.what).hint(trouble.hint).code(Failure::CANNOT_START)
    }
}

/// Tells that what a package brings to be run failed, and what it said.
fn tell_failed_script(failed: &FailedStep) {
    eprint!("{}", last_lines(&failed.text));
    let package = printable(failed_script(&failed.text).unwrap_or("a package"));
    eprintln!(
        "warning: the install script of {package} failed; it is installed without\nhint: a script \
         that fetches more than packages needs --registry-host HOST"
    );
}

fn network(hosts: &BTreeSet<String>) -> Result<NetworkPolicy, Failure> {
    if hosts.is_empty() {
        return Ok(NetworkPolicy::Loopback);
    }
    let rules: Result<Vec<HostRule>, _> = hosts.iter().map(|host| host.parse()).collect();
    let allow = rules.map_err(|error| {
        Failure::new(format!("the package registry: {error}"))
            .hint("look at what pip and npm are configured for")
            .code(Failure::CANNOT_START)
    })?;
    let hosts = allow.iter().flat_map(addresses).collect();
    Ok(NetworkPolicy::Allow(EgressRules { allow, hosts, ..EgressRules::default() }))
}

/// The addresses of a host, as this machine sees it. A registry of one's own is often at a private
/// address, which a name alone does not let out.
fn addresses(rule: &HostRule) -> Vec<HostEntry> {
    let HostPattern::Name(name) = &rule.host else { return Vec::new() };
    // A name that leads nowhere here leads nowhere inside, and the installer says so.
    let found = (name.as_str(), rule.port.unwrap_or(443)).to_socket_addrs();
    let entry = |address: SocketAddr| HostEntry { name: name.clone(), address: address.ip() };
    found.map(|found| found.map(entry).collect()).unwrap_or_default()
}

/// What a source lets out, in words.
fn reached(source: &Source) -> String {
    if source.hosts.is_empty() {
        return "no network at all".to_owned();
    }
    printable(&source.hosts.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
}

/// The end of an installer's words, which says why it failed.
fn last_lines(text: &str) -> String {
    const SHOWN: usize = 20;
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let start = lines.len().saturating_sub(SHOWN);
    lines.iter().skip(start).map(|line| format!("  | {}\n", printable(line))).collect()
}
