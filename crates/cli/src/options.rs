//! The options that describe a sandbox: shared by every subcommand that starts one.

mod common;
mod limits;
mod network;
mod policy;
mod project;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::Args;
use sandbox_spec::{
    EnvironmentItem, Identity, Mount, RootFs, RootWrites, SandboxSpec, Tilde, Tmpfs,
    default_environment, expand_home, printable_path,
};

pub use common::CommonOptions;
pub use network::NetworkOptions;
pub use project::{ProjectOptions, find_toolchains};

use crate::failure::Failure;
use crate::git_identity::GitIdentity;
use crate::launch::Launch;
use crate::toolchains::{Toolchains, guest_path};

/// Options that describe a sandbox.
#[derive(Args, Debug)]
pub struct SandboxOptions {
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
    /// User inside
    #[arg(long, value_name = "UID[:GID]|root")]
    user: Option<Identity>,
    /// Host name inside
    #[arg(long, value_name = "NAME")]
    hostname: Option<String>,
    #[command(flatten)]
    common: CommonOptions,
}

impl SandboxOptions {
    /// How to run the specification.
    pub fn launch(&self) -> Launch<'_> {
        self.common.launch()
    }

    /// The specification for a program with these options.
    pub fn to_spec(&self, program: Vec<OsString>) -> Result<SandboxSpec, Failure> {
        let mut spec = SandboxSpec::new(program);
        if let Some(identity) = &self.user {
            spec.identity = identity.clone();
            spec.working_directory.clone_from(&identity.home);
        }
        spec.environment = default_environment(&spec.identity);
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
        for mount in &self.common.mount {
            spec.mounts
                .push(Mount { source: absolute(mount.source.path())?.into(), ..mount.clone() });
        }
        spec.tmpfs.clone_from(&self.tmpfs);
        check_destinations(&spec)?;
        if let Some(name) = &self.hostname {
            spec.hostname.clone_from(name);
        }
        self.common.apply(&mut spec)?;
        for item in &self.common.env {
            let environment = &mut spec.environment;
            match item {
                EnvironmentItem::Value(name, value) => {
                    set_variable(environment, name.clone(), value.clone());
                }
                EnvironmentItem::FromHost(name) => {
                    if let Some(value) = std::env::var_os(name) {
                        set_variable(environment, name.clone(), value);
                    }
                }
            }
        }
        self.common.network.apply(&mut spec)?;
        NetworkOptions::tell_offline(&mut spec);
        Ok(spec)
    }
}

impl SandboxOptions {
    /// Tells programs where the user's tools are, and git who the user is, unless the user has said something else.
    fn add_variables(&self, spec: &mut SandboxSpec, project: &Path, found: &Toolchains) {
        let said = self.common.named_variables();
        let environment = &mut spec.environment;
        let tools = found.variables.iter();
        let tools = tools.map(|(name, path)| (OsString::from(name), path.clone().into_os_string()));
        let git = GitIdentity::find(project).map(|git| git.variables()).unwrap_or_default();
        for (name, value) in tools.chain(git) {
            if !said.contains(&name.as_os_str()) {
                set_variable(environment, name, value);
            }
        }
        let default = environment.iter().find(|(name, _)| name == "PATH");
        let default = default.map(|(_, value)| value.clone()).unwrap_or_default();
        if let (false, Some(path)) =
            (said.contains(&OsStr::new("PATH")), guest_path(found, &default))
        {
            set_variable(environment, "PATH".into(), path);
        }
    }
}

/// Gives a variable a value, in the place of the one that it has.
fn set_variable(environment: &mut Vec<(OsString, OsString)>, name: OsString, value: OsString) {
    match environment.iter_mut().find(|(known, _)| *known == name) {
        Some((_, old)) => *old = value,
        None => environment.push((name, value)),
    }
}

/// A root is a folder or, if it is a file, an archive.
fn root(path: &Path) -> Result<RootFs, Failure> {
    let absolute = absolute(path)?;
    match std::fs::metadata(&absolute) {
        Ok(found) if found.is_dir() => Ok(RootFs::Directory(absolute)),
        Ok(found) if found.is_file() => Ok(RootFs::Tar(absolute)),
        Ok(_) => {
            let message = format!("{} is neither a folder nor an archive", printable_path(path));
            Err(Failure::new(message).code(Failure::CANNOT_START))
        }
        Err(error) => {
            Err(Failure::new(format!("cannot use {} as root: {error}", printable_path(path)))
                .code(Failure::CANNOT_START))
        }
    }
}

/// Two things at one place would hide one of them.
fn check_destinations(spec: &SandboxSpec) -> Result<(), Failure> {
    let mut taken = BTreeSet::new();
    let mounts = spec.mounts.iter().map(|mount| &mount.destination);
    for place in mounts.chain(spec.tmpfs.iter().map(|tmpfs| &tmpfs.destination)) {
        if !taken.insert(place) {
            let message =
                format!("two mounts have the same place inside, {}", printable_path(place));
            return Err(Failure::new(message).code(Failure::CANNOT_START));
        }
    }
    Ok(())
}

/// The home folder of the user, if the environment names one.
pub fn home_folder() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

/// The folder that the user stands in.
pub fn current_folder() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        Failure::new(format!("cannot find out the current folder: {error}"))
            .code(Failure::CANNOT_START)
    })
}

/// A path that means the same whatever the current folder is. A shell leaves the `~` of `--x=~/y`
/// to us.
pub fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    let home = home_folder();
    let is_short = Tilde::of(path) != Tilde::None && !path.exists();
    let path = &match expand_home(path, home.as_deref()) {
        Some(expanded) if is_short => expanded,
        _ => path.to_path_buf(),
    };
    std::path::absolute(path).map_err(|error| {
        Failure::new(format!("cannot find out where {} is: {error}", printable_path(path)))
            .code(Failure::CANNOT_START)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use sandbox_spec::{ByteSize, NetworkPolicy, Trace};

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
        assert!(spec.mounts[0].source.path().is_absolute());
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
    fn an_output_is_a_folder() {
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
