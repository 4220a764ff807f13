//! Policies: what a run may reach and how much it may use.
//!
//! A policy comes from three sides: the user's flags, the user's own policy file, and a
//! `belljar.yaml` beside SKILL.md in which a skill asks for something. [`read`] reads one and
//! reports what is wrong; [`merge`] puts the sides together. The user always wins.

mod learn;
mod merge;
mod read;
mod weight;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;

pub use learn::{Learned, learn, widen};
pub use merge::{Ask, Consent, Effective, Layers, merge};
pub use read::{PolicyRead, quoted, read};

use crate::skill::Skill;

/// The file in a skill that holds what the skill asks for.
pub const POLICY_FILE: &str = "belljar.yaml";

/// What a run may reach and use. Everything that is not said is left to the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// Which hosts may be contacted, if the policy says anything about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Host folders and files that are mounted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// Environment variables.
    #[serde(skip_serializing_if = "Env::is_empty")]
    pub env: Env,
    /// Limits.
    #[serde(skip_serializing_if = "ResourceLimits::is_empty")]
    pub limits: ResourceLimits,
    /// Paths that may be read and written, if the policy narrows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Files>,
    /// Programs that may be started, if the policy narrows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<BTreeSet<String>>,
}

/// Which hosts may be contacted. An empty list means none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Network {
    /// `name`, `*.name`, an address, each with an optional `:port`.
    pub allow: BTreeSet<String>,
    /// The same, for what is denied whatever is allowed.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub deny: BTreeSet<String>,
}

/// How a mount may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Only read.
    Read,
    /// Read and written, at once and for good.
    Write,
}

/// A host path that is seen inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mount {
    /// Path on the host.
    pub source: String,
    /// Absolute path inside.
    pub target: String,
    /// Read or write.
    pub access: Access,
}

/// Environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Env {
    /// Variables with their values.
    pub set: BTreeMap<String, String>,
    /// Variables whose value comes from the host.
    pub pass: BTreeSet<String>,
}

impl Env {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.pass.is_empty()
    }
}

/// How much a run may use. What is not said is left to the defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResourceLimits {
    /// Memory of all processes, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Wall-clock time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Processes and threads at one time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Bytes of standard output and error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// Bytes that may be written: kept aside, or in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
}

impl ResourceLimits {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Paths inside that may be read and written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Files {
    /// Paths that may be read; a folder means everything beneath it.
    pub read: BTreeSet<String>,
    /// Paths that may be written; a folder means everything beneath it.
    pub write: BTreeSet<String>,
}

/// Reads the policy that a skill brings, if it brings one.
pub fn of_skill(skill: &Skill) -> std::io::Result<Option<PolicyRead>> {
    let Some(entry) = skill.find_file(POLICY_FILE).filter(|entry| entry.is_file()) else {
        return Ok(None);
    };
    let bytes = skill.read_file(entry)?;
    Ok(Some(read(POLICY_FILE, &String::from_utf8_lossy(&bytes))))
}

impl Policy {
    /// Writes the policy as a `belljar.yaml` that [`read`] reads back.
    pub fn to_yaml(&self) -> String {
        read::write(self)
    }
}
