//! One step of an installation: a command in a sandbox that fetches, or in one that builds.
//!
//! A step that *fetches* is given the keys and reaches the registry. It cannot run what packages
//! bring, whatever pip and npm make of a hostile registry: pip may not have a second process, and
//! npm may start no program but Node. A step that *builds* runs code of packages. It is given no key
//! and no network. What one step leaves for the next lies in folders that are mounted by name, so
//! that nothing that was built is ever in reach of a step with keys, except to be read.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use host_sys::beneath::{self, Folder, Kind, Next};
use sandbox::{Backend, End, Streams};
use sandbox_spec::{
    ByteSize, EgressRules, HostEntry, HostPattern, HostPlace, HostRule, Limits, Mount, MountAccess,
    NetworkPolicy, Ownership, PathPattern, SandboxSpec,
};
use skills::install::{Installer, Source, TEMPORARY_FOLDER, explain, explain_build};
use skills::{GUEST_PATH, printable};

use super::environment_cache::{Making, Place};
use super::places;
use super::progress::Progress;
use crate::failure::Failure;
use crate::signals::Signals;

/// How long one step may take.
const MAX_TIME: Duration = Duration::from_secs(30 * 60);
/// How much memory one step may use.
const MAX_MEMORY_MIB: u32 = 4096;
/// How many processes and threads one step may have.
const MAX_PROCESSES: u32 = 512;
/// How much one step may print.
const MAX_OUTPUT_MIB: u32 = 64;
/// How much all that an installation keeps may take on the disk, if nobody says.
pub const DEFAULT_DISK: ByteSize = ByteSize::from_mib(16 << 10);
/// What each name takes beside its bytes.
const NAME_BYTES: u64 = 4096;
/// How many folders the steps of an installation may need, one or two each. Packages say what they
/// need to be built, and what that needs, and so on.
const MAX_FOLDERS: usize = 600;
/// The programs that npm needs to fetch packages: itself, and what its first line names.
const NPM_PROGRAMS: [&str; 3] = ["npm", "node", "env"];

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// With the keys and the network, and without code of packages.
    Fetch,
    /// With code of packages, and without keys and network.
    Build,
}

/// One step.
pub struct Step<'s> {
    /// What it is for.
    pub purpose: Purpose,
    /// What runs.
    pub installer: Installer,
    /// Its command.
    pub command: Vec<String>,
    /// Folders that were made for it, where they are seen, and how.
    pub folders: Vec<(HostPlace, String, MountAccess)>,
    /// Where it works.
    pub directory: String,
    /// Where packages come from.
    pub source: &'s Source,
}

/// Runs steps, one after the other.
pub struct Steps<'a> {
    backend: &'a dyn Backend,
    signals: &'a Signals,
    making: &'a Making,
    work: Place,
    /// How much everything in `making` may take.
    disk: ByteSize,
    count: Cell<usize>,
}

impl<'a> Steps<'a> {
    /// Steps that make an environment, of which everything together may take so much on the disk.
    pub fn new(
        backend: &'a dyn Backend,
        signals: &'a Signals,
        making: &'a Making,
        disk: ByteSize,
    ) -> Result<Self, Failure> {
        Ok(Self { backend, signals, making, work: making.work()?, disk, count: Cell::new(0) })
    }

    /// What the folders that a step writes may have in them at its end, so that everything together
    /// is within the limit.
    fn disk_for(&self, written: &[&HostPlace]) -> Result<ByteSize, Failure> {
        let all = taken(self.making.folder())?;
        let mut own: u64 = 0;
        for place in written {
            let folder = places::folder(place).map_err(cannot_count)?;
            own = own.saturating_add(taken(&folder)?);
        }
        Ok(ByteSize(self.disk.0.saturating_sub(all.saturating_sub(own))))
    }

    /// Makes an empty folder for what steps leave to each other.
    pub fn make_folder(&self, kind: &str) -> Result<HostPlace, Failure> {
        self.work.make(&format!("{kind}-{}", self.next()?))
    }

    /// Runs a step, and returns what it printed.
    pub fn run(&self, step: Step<'_>) -> Result<String, Failure> {
        self.try_run(step)?.map_err(FailedStep::tell)
    }

    /// Like [`run`](Self::run); a command that failed is not told of yet.
    pub fn try_run(&self, step: Step<'_>) -> Result<Result<String, FailedStep>, Failure> {
        let temporary = format!("tmp-{}", self.next()?);
        let place = self.work.make(&temporary)?;
        let ended = self.start(step, &place);
        self.work.remove(&temporary)?;
        ended
    }

    fn next(&self) -> Result<usize, Failure> {
        let n = self.count.get();
        self.count.set(n + 1);
        if n < MAX_FOLDERS {
            return Ok(n);
        }
        Err(Failure::new("the packages need more packages to be built than is reasonable")
            .hint("make an environment yourself, and name it with --venv or --node-modules")
            .code(Failure::CANNOT_START))
    }

    fn start(
        &self,
        step: Step<'_>,
        temporary: &HostPlace,
    ) -> Result<Result<String, FailedStep>, Failure> {
        self.signals.check()?;
        let mut spec = specification(&step, temporary)?;
        let counted = spec.mounts.iter().filter(|mount| mount.is_counted);
        let written: Vec<_> = counted.map(|mount| &mount.source).collect();
        spec.limits.disk = Some(self.disk_for(&written)?);
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
            let progress = Progress::new(step.installer, step.source);
            let printed = scope.spawn(move || progress.follow(output));
            let report = self.signals.while_running(running.control(), || running.wait());
            // Nothing of the sandbox holds the pipe open any more.
            drop(running);
            (report, printed.join().unwrap_or_default())
        });
        let report = report??;
        let end = report.end;
        self.signals.check()?;
        if matches!(end, End::Exited { code: 0 }) {
            return Ok(Ok(text));
        }
        let words = match end {
            End::Exited { .. } if report.usage.is_disk_full => Some(format!(
                "error: the packages take more than {} on the disk\n\
                 hint: if you trust them, --install-limit SIZE allows more",
                self.disk
            )),
            End::Exited { .. } => None,
            _ => crate::launch::explain(&end, &spec),
        };
        let Step { purpose, installer, .. } = step;
        let hosts = reached(step.source);
        Ok(Err(FailedStep { purpose, installer, text, words, hosts }))
    }
}

fn specification(step: &Step<'_>, temporary: &HostPlace) -> Result<SandboxSpec, Failure> {
    let without_keys = step.source.without_keys();
    let source = match step.purpose {
        Purpose::Fetch => step.source,
        Purpose::Build => &without_keys,
    };
    let mut spec = SandboxSpec::new(step.command.iter());
    spec.working_directory = (&step.directory).into();
    let npm_cache = format!("{TEMPORARY_FOLDER}/npm");
    let own = [("TMPDIR", TEMPORARY_FOLDER), ("npm_config_cache", &npm_cache)];
    spec.environment.extend(own.map(|(name, value)| (name.into(), value.into())));
    if let (Purpose::Build, Some(folder)) = (step.purpose, node_headers()) {
        spec.environment.push(("npm_config_nodedir".into(), folder.into()));
    }
    let told = source.env.iter().map(|(name, value)| (name.into(), value.into()));
    spec.environment.extend(told);
    let mount = |source: &HostPlace, target: &Path, access| Mount {
        source: source.clone(),
        destination: target.to_path_buf(),
        access,
        ownership: Ownership::default(),
        upper: None,
        masked: Vec::new(),
        is_counted: access == MountAccess::ReadWrite,
    };
    spec.mounts.push(mount(temporary, Path::new(TEMPORARY_FOLDER), MountAccess::ReadWrite));
    let shown = step.folders.iter();
    spec.mounts.extend(shown.map(|(path, target, access)| mount(path, target.as_ref(), *access)));
    let read = source.paths.iter();
    let read = read.map(|path| mount(&path.into(), path, MountAccess::ReadOnly));
    spec.mounts.extend(read);
    // Whoever fetches with pip needs one process, and a build would be a second one.
    let is_single = step.purpose == Purpose::Fetch && step.installer == Installer::Pip;
    spec.limits = Limits {
        timeout: Some(MAX_TIME),
        memory: Some(ByteSize::from_mib(MAX_MEMORY_MIB)),
        processes: Some(if is_single { 1 } else { MAX_PROCESSES }),
        output: Some(ByteSize::from_mib(MAX_OUTPUT_MIB)),
        ..Limits::default()
    };
    if step.purpose == Purpose::Fetch && step.installer == Installer::Npm {
        spec.rules.programs = Some(npm_programs()?);
    }
    spec.network = network(&source.hosts)?;
    Ok(spec)
}

/// What everything in a folder takes on the disk. Packages may have taken rights from us.
fn taken(folder: &Folder) -> Result<u64, Failure> {
    let mut all: u64 = 0;
    let counted = folder.walk(beneath::Limits::default(), &mut |found| {
        all = all.saturating_add(found.status.allocated.saturating_add(NAME_BYTES));
        if found.status.kind == Kind::Folder {
            found.folder.folder(found.name)?.unlock()?;
        }
        Ok(Next::Into)
    });
    counted.map(|()| all).map_err(cannot_count)
}

fn cannot_count(error: std::io::Error) -> Failure {
    Failure::new(format!("the packages brought what cannot be kept: {error}"))
        .hint("do not trust where they came from")
        .code(Failure::CANNOT_START)
}

/// Where the programs are that npm needs to fetch. Scripts are run by a shell, and packages out of
/// repositories are fetched by git, which runs what such a repository says.
fn npm_programs() -> Result<Vec<PathPattern>, Failure> {
    let folders = GUEST_PATH.split(':');
    let places = folders.flat_map(|folder| NPM_PROGRAMS.map(|name| format!("{folder}/{name}")));
    let patterns: Result<Vec<PathPattern>, _> = places.map(|place| place.parse()).collect();
    patterns.map_err(|error| Failure::new(format!("the programs of npm: {error}")))
}

/// The folder with the headers of Node, if they are here: a package that is built without network
/// cannot fetch them.
fn node_headers() -> Option<&'static str> {
    ["/usr/local", "/usr"]
        .into_iter()
        .find(|folder| Path::new(folder).join("include/node/node.h").is_file())
}

/// A command that failed inside.
pub struct FailedStep {
    purpose: Purpose,
    installer: Installer,
    /// The end of what it printed, without keys.
    pub text: String,
    /// What ended it, if it did not end by itself.
    words: Option<String>,
    /// What it could reach.
    hosts: String,
}

impl FailedStep {
    /// Tells the user what it said, and makes the failure.
    pub fn tell(self) -> Failure {
        self.tell_lines();
        let trouble = match self.purpose {
            Purpose::Fetch => explain(self.installer, &self.text, &self.hosts),
            Purpose::Build => explain_build(self.installer, &self.text),
        };
        Failure::new(trouble.what).hint(trouble.hint).code(Failure::CANNOT_START)
    }

    /// Tells the user what it said at its end, which says why it failed.
    pub fn tell_lines(&self) {
        const SHOWN: usize = 20;
        let lines: Vec<&str> = self.text.lines().filter(|line| !line.trim().is_empty()).collect();
        for line in lines.iter().skip(lines.len().saturating_sub(SHOWN)) {
            eprintln!("  | {}", printable(line));
        }
        if let Some(words) = &self.words {
            eprintln!("{words}");
        }
    }
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
pub fn reached(source: &Source) -> String {
    if source.hosts.is_empty() {
        return "no network at all".to_owned();
    }
    printable(&source.hosts.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(purpose: Purpose, installer: Installer, source: &Source) -> SandboxSpec {
        let step = Step {
            purpose,
            installer,
            command: vec!["x".to_owned()],
            folders: Vec::new(),
            directory: TEMPORARY_FOLDER.to_owned(),
            source,
        };
        specification(&step, &"/t".into()).unwrap()
    }

    fn source() -> Source {
        let mut source = Source::default();
        let env = [
            ("PIP_INDEX_URL", "https://me:hush@127.0.0.1/simple"),
            ("npm_config_//127.0.0.1/:_authToken", "hush"),
            ("HTTPS_PROXY", "http://me:hush@127.0.0.1:3128"),
        ];
        source.env.extend(env.map(|(name, value)| (name.to_owned(), value.to_owned())));
        source.hosts.insert("127.0.0.1:443".to_owned());
        source.paths.insert("/etc/client.pem".into());
        source
    }

    #[test]
    fn whoever_builds_has_no_key_and_no_network() {
        for installer in [Installer::Venv, Installer::Pip, Installer::Npm] {
            let spec = step(Purpose::Build, installer, &source());
            assert_eq!(spec.network, NetworkPolicy::Loopback);
            assert!(!format!("{:?}", spec.environment).contains("hush"));
            assert_eq!(spec.mounts.len(), 1, "only its temporary folder");
        }
    }

    #[test]
    fn whoever_fetches_starts_nothing_of_a_package() {
        let pip = step(Purpose::Fetch, Installer::Pip, &source());
        assert_eq!(pip.limits.processes, Some(1));
        let npm = step(Purpose::Fetch, Installer::Npm, &source());
        let programs = npm.rules.programs.unwrap();
        assert!(programs.contains(&"/usr/bin/node".parse().unwrap()));
        for forbidden in ["/bin/sh", "/usr/bin/sh", "/usr/bin/git", "/usr/bin"] {
            assert!(!programs.contains(&forbidden.parse().unwrap()), "{forbidden}");
        }
        assert!(format!("{:?}", npm.environment).contains("hush"));
        assert!(matches!(npm.network, NetworkPolicy::Allow(_)));
    }
}
