//! The specification as a whole.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    AttachError, ByteSize, ContainmentLayer, HeldPlace, HostPlace, Identity, Limits, Link, Mount,
    NetworkPolicy, Output, PathRules, PublishedPort, RootFs, RootWrites, Tmpfs,
    default_environment, os_text,
};

/// What the audit log may take if nobody says: about 300,000 decisions.
pub const DEFAULT_AUDIT_LIMIT: ByteSize = ByteSize::from_mib(64);
/// The least that it may be held to: a log that has no room says nothing.
pub const MIN_AUDIT_LIMIT: ByteSize = ByteSize(4096);

fn default_audit_limit() -> ByteSize {
    DEFAULT_AUDIT_LIMIT
}

/// Everything that a backend has to know to start a sandbox, except for the three standard
/// streams, which are descriptors and no data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxSpec {
    /// The program and its arguments. The first is looked up in the guest's `PATH` when it has
    /// no slash, and becomes `argv[0]` as it is written here.
    #[serde(with = "os_text::list")]
    pub program: Vec<OsString>,
    /// The guest's environment, complete and in order. Nothing of the host's is added.
    #[serde(with = "os_text::pairs")]
    pub environment: Vec<(OsString, OsString)>,
    /// The working folder, a path inside the sandbox. It must exist there.
    #[serde(with = "os_text::path")]
    pub working_directory: PathBuf,
    /// What the guest sees at `/`.
    pub root: RootFs,
    /// Where writes to the root go.
    pub root_writes: RootWrites,
    /// Host folders and files that are visible inside, mounted in this order.
    pub mounts: Vec<Mount>,
    /// Memory file systems beside `/tmp`, `/dev/shm` and the home folder, which every sandbox has.
    pub tmpfs: Vec<Tmpfs>,
    /// Symbolic links that are made after the mounts, unless something is there.
    #[serde(default)]
    pub links: Vec<Link>,
    /// What is copied to the host after the run, whatever its end.
    #[serde(default)]
    pub outputs: Vec<Output>,
    /// Whether the report of the end lists what the run created, changed and removed.
    #[serde(default)]
    pub lists_changes: bool,
    /// Who the guest is.
    pub identity: Identity,
    /// The name that `uname` reports.
    pub hostname: String,
    /// What it may use.
    pub limits: Limits,
    /// Whom it may talk to.
    pub network: NetworkPolicy,
    /// Ports of the host's loopback that lead inside.
    #[serde(default)]
    pub publish: Vec<PublishedPort>,
    /// The host file that gets a line of JSON for every decision about the network.
    #[serde(default, with = "os_text::optional_path")]
    pub audit: Option<PathBuf>,
    /// The most bytes that file may have.
    #[serde(default = "default_audit_limit")]
    pub audit_limit: ByteSize,
    /// What of the visible may be used.
    #[serde(default, skip_serializing_if = "PathRules::is_empty")]
    pub rules: PathRules,
    /// Whether it is recorded what the guest does.
    #[serde(default)]
    pub recording: Recording,
    /// Where one line per system call goes.
    pub trace: Trace,
    /// Layers without which the sandbox must not start. Layers that are not named here are used
    /// where the host offers them.
    pub required_containment: BTreeSet<ContainmentLayer>,
}

impl SandboxSpec {
    /// A sandbox with nothing of the host but its system folders, for this program and its
    /// arguments.
    pub fn new<T: Into<OsString>>(program: impl IntoIterator<Item = T>) -> Self {
        let identity = Identity::default();
        Self {
            program: program.into_iter().map(Into::into).collect(),
            environment: default_environment(&identity),
            working_directory: identity.home.clone(),
            root: RootFs::Host,
            root_writes: RootWrites::Memory,
            mounts: Vec::new(),
            tmpfs: Vec::new(),
            links: Vec::new(),
            outputs: Vec::new(),
            lists_changes: false,
            identity,
            hostname: "belljar".to_owned(),
            limits: Limits::default(),
            network: NetworkPolicy::Loopback,
            publish: Vec::new(),
            audit: None,
            audit_limit: DEFAULT_AUDIT_LIMIT,
            rules: PathRules::default(),
            recording: Recording::Off,
            trace: Trace::Off,
            required_containment: BTreeSet::new(),
        }
    }

    /// The places that are held by a descriptor, in an order that is always the same.
    pub fn held_places(&self) -> impl Iterator<Item = &HeldPlace> {
        let places = self.mounts.iter().flat_map(|it| std::iter::once(&it.source).chain(&it.upper));
        places.filter_map(HostPlace::as_held)
    }

    /// Gives the places that are held their descriptors, which came beside the text of this
    /// specification, in the order of [`held_places`](Self::held_places).
    pub fn attach(&mut self, descriptors: Vec<OwnedFd>) -> Result<(), AttachError> {
        let (expected, given) = (self.held_places().count(), descriptors.len());
        if expected != given {
            return Err(AttachError { expected, given });
        }
        let mounts = self.mounts.iter_mut();
        let places = mounts.flat_map(|it| std::iter::once(&mut it.source).chain(&mut it.upper));
        let held = places.filter_map(HostPlace::as_held_mut);
        held.zip(descriptors).for_each(|(place, descriptor)| place.attach(descriptor));
        Ok(())
    }
}

/// Whether processes, files and connections of the guest are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recording {
    /// They are not, which costs nothing.
    #[default]
    Off,
    /// They are, up to bounds.
    On,
}

/// Where the trace of system calls goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trace {
    /// Nowhere.
    #[default]
    Off,
    /// To the standard error stream of `belljar`, between the guest's own lines.
    Stderr,
    /// To this host file, which is created or emptied.
    File(#[serde(with = "os_text::path")] PathBuf),
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn survives_json_even_with_names_that_are_not_text() {
        let mut spec = SandboxSpec::new(["sh", "-c", ":"]);
        spec.program.push(OsString::from_vec(vec![b'a', 0xff]));
        spec.trace = Trace::File("/tmp/trace".into());
        spec.mounts.push("/a:/b:rw".parse().unwrap());
        let upper = Some("/upper".into());
        spec.mounts.push(Mount { upper, .."/a:/c:overlay".parse().unwrap() });
        spec.links.push(Link { path: "/l".into(), target: "/a".into() });
        spec.limits.timeout = Some(std::time::Duration::from_millis(1500));
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<SandboxSpec>(&text).unwrap(), spec);
    }
}
