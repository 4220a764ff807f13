//! The options that describe a sandbox: shared by every subcommand that starts one.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use sandbox_spec::{
    ByteSize, ContainmentLayer, EgressRules, EnvironmentItem, HostEntry, HostRule, Identity, Mount,
    MountError, NetworkPolicy, Output, PublishedPort, Recording, RootFs, RootWrites, SandboxSpec,
    Tmpfs, Trace, default_environment, parse_duration,
};

use crate::backends;
use crate::failure::Failure;
use crate::launch::Launch;
use crate::report::ReportTarget;

/// What `--net` can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Net {
    /// No internet sockets at all
    None,
    /// The sandbox's own loopback; nothing leaves
    Loopback,
    /// Loopback, and what --allow names
    Allow,
}

/// Options that describe a sandbox.
#[derive(Args, Debug)]
pub struct SandboxOptions {
    /// Make a host folder or file visible inside, read-only unless `rw` or `overlay` (writes go to
    /// memory) is said
    #[arg(long, value_name = "SRC:DST[:ro|rw|overlay]", value_parser = OsStringValueParser::new().try_map(|text| Mount::parse(&text)))]
    mount: Vec<Mount>,
    /// Set an environment variable, or pass the host's value on
    #[arg(long, short, value_name = "NAME[=VALUE]", value_parser = OsStringValueParser::new().try_map(|text| EnvironmentItem::parse(&text)))]
    env: Vec<EnvironmentItem>,
    /// Working folder inside
    #[arg(long, value_name = "PATH")]
    cwd: Option<PathBuf>,
    /// Use a folder or a tar archive as root instead of the host's system folders
    #[arg(long, value_name = "DIR|TAR")]
    root: Option<PathBuf>,
    /// Keep what is written to the root in this folder
    #[arg(long, value_name = "DIR", conflicts_with = "read_only")]
    overlay: Option<PathBuf>,
    /// Refuse writes to the root
    #[arg(long)]
    read_only: bool,
    /// Add a memory file system
    #[arg(long, value_name = "PATH[:SIZE]")]
    tmpfs: Vec<Tmpfs>,
    /// Copy to a host folder after the run: everything that was created or changed in the root,
    /// or, with PATH:DIR, this file or folder. A size such as 10M is a limit instead: the bytes
    /// that may be written to standard output and standard error (a folder called so is ./10M)
    #[arg(long, value_name = "[PATH:]DIR|SIZE", value_parser = OsStringValueParser::new().try_map(|text| OutputOption::parse(&text)))]
    output: Vec<OutputOption>,
    /// User inside
    #[arg(long, value_name = "UID[:GID]|root")]
    user: Option<Identity>,
    /// Host name inside
    #[arg(long, value_name = "NAME")]
    hostname: Option<String>,
    /// Print every system call, to standard error or to a file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    trace: Option<Option<PathBuf>>,
    /// Do not start without this containment layer
    #[arg(long, value_name = "LAYER", value_parser = layer)]
    require: Vec<ContainmentLayer>,
    /// Say after the run what the program did: on standard error, or to FILE.html, FILE.json or
    /// FILE.txt
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, value_parser = ReportTarget::parse)]
    report: Option<Option<ReportTarget>>,
    /// Write how the sandbox ended, and what it used, to a file
    #[arg(long, value_name = "FILE")]
    json_report: Option<PathBuf>,
    /// What runs the sandbox
    #[arg(long, value_name = "NAME", default_value = backends::DEFAULT)]
    backend: String,
    #[command(flatten)]
    network: NetworkOptions,
    #[command(flatten)]
    limits: LimitOptions,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Network")]
struct NetworkOptions {
    /// What sockets reach; `loopback` unless something is allowed
    #[arg(long, value_enum, value_name = "WHAT")]
    net: Option<Net>,
    /// Let connections to this destination out: a name, *.NAME, an address, a network, or * for
    /// everything public
    #[arg(long, value_name = "HOST[:PORT]")]
    allow: Vec<HostRule>,
    /// Keep connections to this destination in, whatever is allowed
    #[arg(long, value_name = "HOST[:PORT]")]
    deny: Vec<HostRule>,
    /// Give a name an address
    #[arg(long, value_name = "NAME:ADDRESS")]
    add_host: Vec<HostEntry>,
    /// Let a port of the host's 127.0.0.1 lead to a port inside
    #[arg(long, value_name = "HOSTPORT:GUESTPORT")]
    publish: Vec<PublishedPort>,
    /// Write every decision about the network to a file, a line of JSON each
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Limits")]
struct LimitOptions {
    /// End after this time, with exit code 124
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    timeout: Option<Duration>,
    /// CPU time of all processes together
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    cpu_time: Option<Duration>,
    /// Memory of all processes together
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteSize>,
    /// Processes and threads alive at one time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    processes: Option<u32>,
    /// Open files per process
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(4..))]
    files: Option<u32>,
    /// Bytes in memory overlays and memory file systems
    #[arg(long, value_name = "SIZE")]
    disk: Option<ByteSize>,
    /// Size of one file
    #[arg(long, value_name = "SIZE")]
    file_size: Option<ByteSize>,
    /// Bytes written to standard output and standard error; `--output SIZE` says the same
    #[arg(long, value_name = "SIZE")]
    output_limit: Option<ByteSize>,
}

/// What `--output` can say.
#[derive(Clone, Debug)]
enum OutputOption {
    /// How much may be written to the standard streams.
    Limit(ByteSize),
    /// What is copied to the host.
    Copy(Output),
}

impl OutputOption {
    /// Whatever reads as a size is one.
    fn parse(text: &OsStr) -> Result<Self, MountError> {
        match text.to_str().map(str::parse) {
            Some(Ok(size)) => Ok(Self::Limit(size)),
            _ => Output::parse(text).map(Self::Copy),
        }
    }
}

fn layer(name: &str) -> Result<ContainmentLayer, String> {
    ContainmentLayer::from_name(name).ok_or_else(|| {
        let names: Vec<_> = ContainmentLayer::ALL.iter().map(|layer| layer.name()).collect();
        format!("the layers are {}", names.join(", "))
    })
}

impl SandboxOptions {
    /// How to run the specification.
    pub fn launch(&self) -> Launch<'_> {
        Launch {
            backend: &self.backend,
            report: self.json_report.as_deref(),
            activity: self.report.as_ref().map(Option::as_ref),
        }
    }

    /// The specification for a program with these options.
    pub fn to_spec(&self, program: Vec<OsString>) -> Result<SandboxSpec, Failure> {
        let mut spec = SandboxSpec::new(program);
        if let Some(identity) = &self.user {
            spec.identity = identity.clone();
            spec.working_directory.clone_from(&identity.home);
        }
        spec.environment = self.environment(&spec.identity);
        if let Some(path) = &self.cwd {
            spec.working_directory.clone_from(path);
        }
        if let Some(path) = &self.root {
            spec.root = root(path)?;
        }
        spec.root_writes = match (&self.overlay, self.read_only) {
            (Some(path), _) => RootWrites::Directory(absolute(path)?),
            (None, true) => RootWrites::Refused,
            (None, false) => RootWrites::Memory,
        };
        for mount in &self.mount {
            spec.mounts.push(Mount { source: absolute(&mount.source)?, ..mount.clone() });
        }
        spec.tmpfs.clone_from(&self.tmpfs);
        if let Some(name) = &self.hostname {
            spec.hostname.clone_from(name);
        }
        for output in &self.output {
            match output {
                OutputOption::Limit(size) => spec.limits.output = Some(*size),
                OutputOption::Copy(output) => spec
                    .outputs
                    .push(Output { folder: absolute(&output.folder)?, ..output.clone() }),
            }
        }
        self.limits.apply(&mut spec.limits);
        self.network.apply(&mut spec)?;
        if self.report.is_some() {
            spec.recording = Recording::On;
        }
        spec.trace = match &self.trace {
            None => Trace::Off,
            Some(None) => Trace::Stderr,
            Some(Some(path)) => Trace::File(absolute(path)?),
        };
        spec.required_containment = self.require.iter().copied().collect();
        Ok(spec)
    }

    fn environment(&self, identity: &Identity) -> Vec<(OsString, OsString)> {
        let mut environment = default_environment(identity);
        let mut set = |name: OsString, value: OsString| match environment
            .iter_mut()
            .find(|(known, _)| *known == name)
        {
            Some((_, old)) => *old = value,
            None => environment.push((name, value)),
        };
        // A terminal is shared with the guest, which has to know its kind to draw on it.
        if std::io::stdout().is_terminal()
            && let Some(value) = std::env::var_os("TERM")
        {
            set("TERM".into(), value);
        }
        for item in &self.env {
            match item {
                EnvironmentItem::Value(name, value) => set(name.clone(), value.clone()),
                EnvironmentItem::FromHost(name) => {
                    if let Some(value) = std::env::var_os(name) {
                        set(name.clone(), value);
                    }
                }
            }
        }
        environment
    }
}

impl NetworkOptions {
    /// Puts what was said about the network into a specification. What contradicts itself is an
    /// error.
    fn apply(&self, spec: &mut SandboxSpec) -> Result<(), Failure> {
        let says_something =
            !(self.allow.is_empty() && self.deny.is_empty() && self.add_host.is_empty());
        let net = self.net.unwrap_or(if says_something { Net::Allow } else { Net::Loopback });
        let contradiction = |what: &str, net: &str| {
            let message = format!("{what} makes no sense with --net {net}");
            Err(Failure::new(message).code(Failure::CANNOT_START))
        };
        match net {
            Net::None | Net::Loopback if says_something => {
                let name = if net == Net::None { "none" } else { "loopback" };
                return contradiction("--allow, --deny or --add-host", name);
            }
            Net::None if !self.publish.is_empty() => return contradiction("--publish", "none"),
            Net::None => spec.network = NetworkPolicy::None,
            Net::Loopback => spec.network = NetworkPolicy::Loopback,
            Net::Allow => {
                spec.network = NetworkPolicy::Allow(EgressRules {
                    allow: self.allow.clone(),
                    deny: self.deny.clone(),
                    hosts: self.add_host.clone(),
                });
            }
        }
        spec.publish.clone_from(&self.publish);
        spec.audit = self.audit.as_deref().map(absolute).transpose()?;
        Ok(())
    }
}

impl LimitOptions {
    /// Changes what was named and leaves the rest at its default.
    fn apply(&self, limits: &mut sandbox_spec::Limits) {
        limits.timeout = self.timeout.or(limits.timeout);
        limits.cpu_time = self.cpu_time.or(limits.cpu_time);
        limits.memory = self.memory.or(limits.memory);
        limits.processes = self.processes.or(limits.processes);
        limits.open_files = self.files.or(limits.open_files);
        limits.disk = self.disk.or(limits.disk);
        limits.file_size = self.file_size.or(limits.file_size);
        limits.output = self.output_limit.or(limits.output);
    }
}

/// A root is a folder or, if it is a file, an archive.
fn root(path: &std::path::Path) -> Result<RootFs, Failure> {
    let absolute = absolute(path)?;
    match std::fs::metadata(&absolute) {
        Ok(found) if found.is_dir() => Ok(RootFs::Directory(absolute)),
        Ok(_) => Ok(RootFs::Tar(absolute)),
        Err(error) => Err(Failure::new(format!("cannot use {} as root: {error}", path.display()))
            .code(Failure::CANNOT_START)),
    }
}

fn absolute(path: &std::path::Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| {
        Failure::new(format!("cannot find out where {} is: {error}", path.display()))
            .code(Failure::CANNOT_START)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct OnlyOptions {
        #[command(flatten)]
        options: SandboxOptions,
    }

    fn spec(arguments: &[&str]) -> SandboxSpec {
        let arguments = std::iter::once(&"belljar").chain(arguments);
        OnlyOptions::try_parse_from(arguments).unwrap().options.to_spec(Vec::new()).unwrap()
    }

    #[test]
    fn without_options_nothing_of_the_host_is_visible() {
        let spec = spec(&[]);
        assert!(spec.mounts.is_empty());
        assert_eq!(spec.network, NetworkPolicy::Loopback);
        assert_eq!((spec.identity.uid, spec.trace), (1000, Trace::Off));
        assert!(spec.environment.iter().all(|(name, _)| name != "CARGO_MANIFEST_DIR"));
    }

    #[test]
    fn a_variable_that_is_named_replaces_the_default() {
        let spec = spec(&["--env", "PATH=/x", "-e", "A=1", "-e", "A=2"]);
        let value = |name: &str| -> Vec<_> {
            spec.environment.iter().filter(|(known, _)| known == name).map(|it| &it.1).collect()
        };
        assert_eq!(value("PATH"), ["/x"]);
        assert_eq!(value("A"), ["2"]);
    }

    #[test]
    fn sources_are_made_absolute() {
        let spec = spec(&["--mount", "src:/work:rw"]);
        assert!(spec.mounts[0].source.is_absolute());
        assert_eq!(spec.mounts[0].destination, PathBuf::from("/work"));
    }

    #[test]
    fn root_has_roots_home() {
        let spec = spec(&["--user", "root"]);
        assert_eq!(spec.working_directory, PathBuf::from("/root"));
        assert!(spec.environment.contains(&("HOME".into(), "/root".into())));
    }

    #[test]
    fn a_rule_opens_the_network_for_what_it_names() {
        let allowed = |arguments: &[&str]| match spec(arguments).network {
            NetworkPolicy::Allow(rules) => rules.allow.len(),
            other => panic!("{other:?}"),
        };
        assert_eq!(allowed(&["--allow", "a.org:443", "--allow", "*.b.org"]), 2);
        assert_eq!(allowed(&["--net", "allow"]), 0);
        assert_eq!(spec(&["--net", "none"]).network, NetworkPolicy::None);
        assert_eq!(spec(&["--publish", "80:8080"]).publish.len(), 1);
        let options = OnlyOptions::try_parse_from(["x", "--net", "loopback", "--allow", "a.org"]);
        assert!(options.unwrap().options.to_spec(Vec::new()).is_err());
    }

    #[test]
    fn an_output_is_a_limit_or_a_folder() {
        let limit = spec(&["--output", "10M"]);
        assert_eq!((limit.limits.output, limit.outputs), (Some(ByteSize::from_mib(10)), vec![]));
        let copies = spec(&["--output", "./10M", "--output", "/a:out", "--output-limit", "1K"]);
        assert_eq!(copies.limits.output, Some(ByteSize(1024)));
        let paths: Vec<_> = copies.outputs.iter().map(|output| output.path.clone()).collect();
        assert_eq!(paths, [None, Some("/a".into())]);
        assert!(copies.outputs.iter().all(|output| output.folder.is_absolute()));
    }

    #[test]
    fn trace_goes_to_standard_error_or_to_a_file() {
        assert_eq!(spec(&["--trace"]).trace, Trace::Stderr);
        assert_eq!(spec(&["--trace=/t"]).trace, Trace::File("/t".into()));
    }
}
