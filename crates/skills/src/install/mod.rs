//! Environments for skills: what goes into one, how it is called in the cache, where its packages
//! come from, and why making it failed.
//!
//! Nothing is installed here. Whoever installs runs the commands: those that fetch in a sandbox that
//! reaches a [`Source`] and nothing else, those that build in one that reaches nothing.

mod answers;
mod commands;
mod key;
mod npm;
mod pip;
pub mod seal;
mod secrets;
mod source;
mod trouble;

use std::collections::BTreeMap;

use sandbox_spec::HostPlace;
use thiserror::Error;

pub use answers::{build_requirements, missing_requirement, source_archive};
pub use commands::{
    BUILT_FOLDER, FETCHED_FOLDER, SOURCE_FOLDER, TEMPORARY_FOLDER, build_requirements_command,
    build_wheel_command, fetch_source_command, fetch_wheels_command, python,
};
pub use key::{hex, key_name};
pub use npm::{npm_source, packages_with_scripts};
pub use pip::{DEFAULT_INDEX_PROBE, pip_source};
pub use source::Source;
pub use trouble::{Installer, Trouble, explain, explain_build, failed_script, is_unreachable};

use crate::deps::{Need, Needs, is_system_module};

/// Where an environment is seen inside, while it is made and when it is used. It is always the
/// same, because environments of Python hold their own path.
pub const ENVIRONMENT_FOLDER: &str = "/environment";
/// The virtual environment of Python below [`ENVIRONMENT_FOLDER`].
pub const PYTHON_FOLDER: &str = "python";
/// The folder with `node_modules` below [`ENVIRONMENT_FOLDER`].
pub const NODE_FOLDER: &str = "node";

/// An environment that was made for a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeEnvironment {
    /// The host's folder that is seen at [`ENVIRONMENT_FOLDER`]. What lies in it has the names, and
    /// leads to the places, that packages chose: no path may lead into it on the host.
    pub folder: HostPlace,
    /// Whether there is a virtual environment of Python in it.
    pub has_python: bool,
    /// Whether there are packages of Node in it.
    pub has_node: bool,
}

/// How many packages one skill may ask for. Real skills ask for a dozen.
const MAX_PACKAGES: usize = 200;
/// How long one requirement may be.
const MAX_REQUIREMENT_BYTES: usize = 500;

/// Why a requirement cannot be installed.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RequirementError {
    /// it names an address or a path
    #[error("`{0}` is not a package of the registry but an address or a path")]
    Elsewhere(String),
    /// it is no requirement
    #[error("`{0}` is no requirement")]
    Unreadable(String),
    /// there are too many
    #[error("the skill asks for {0} packages; {MAX_PACKAGES} are the most")]
    TooMany(usize),
}

/// The exact set of packages of an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// Requirements as pip reads them, sorted.
    pub python: Vec<String>,
    /// Packages of Node and the versions that are asked for.
    pub node: BTreeMap<String, String>,
    /// Whether the skill also uses modules that only the system has.
    pub sees_system: bool,
}

impl Requirements {
    /// What a skill cannot do without. What it could do without is left out: a mention in the
    /// instructions is no reason to install something.
    pub fn of(needs: &Needs) -> Result<Self, RequirementError> {
        let required = |needs: &[Need]| -> Vec<Need> {
            needs.iter().filter(|need| !need.is_optional).cloned().collect()
        };
        let mut found = Self::default();
        for need in required(&needs.python) {
            if is_system_module(&need.name) {
                found.sees_system = true;
            } else {
                found.python.push(python_requirement(&need)?);
            }
        }
        for need in required(&needs.node) {
            let (name, version) = node_requirement(&need)?;
            found.node.insert(name, version);
        }
        found.python.sort();
        found.python.dedup();
        let n = found.python.len() + found.node.len();
        if n > MAX_PACKAGES {
            return Err(RequirementError::TooMany(n));
        }
        Ok(found)
    }

    /// Whether there is nothing to install.
    pub fn is_empty(&self) -> bool {
        self.python.is_empty() && self.node.is_empty()
    }
}

fn python_requirement(need: &Need) -> Result<String, RequirementError> {
    checked(need.requirement.as_deref().unwrap_or(&need.name))
}

/// A requirement of Python that names a package of the registry, and nothing else: no address, no
/// path, no option.
fn checked(asked: &str) -> Result<String, RequirementError> {
    let asked = asked.trim();
    let is_printable = asked.chars().all(|c| c == ' ' || c.is_ascii_graphic());
    let starts_well = asked.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !is_printable || !starts_well || asked.len() > MAX_REQUIREMENT_BYTES {
        return Err(RequirementError::Unreadable(asked.to_owned()));
    }
    if asked.contains(['@', '/', '\\']) {
        return Err(RequirementError::Elsewhere(asked.to_owned()));
    }
    Ok(asked.to_owned())
}

fn node_requirement(need: &Need) -> Result<(String, String), RequirementError> {
    let asked = need.requirement.as_deref().unwrap_or_default();
    let version = asked.strip_prefix(need.name.as_str()).and_then(|rest| rest.strip_prefix('@'));
    let version = version.map(str::trim).filter(|version| !version.is_empty()).unwrap_or("*");
    let is_name = |c: char| c.is_ascii_alphanumeric() || "@/-_.~".contains(c);
    if need.name.is_empty()
        || need.name.starts_with(['.', '-', '_', '/'])
        || !need.name.chars().all(is_name)
        || asked.len() > MAX_REQUIREMENT_BYTES
    {
        return Err(RequirementError::Unreadable(need.name.clone()));
    }
    // Versions, ranges and tags; not `file:`, `git+ssh:`, `user/repository` or an address.
    let is_version = |c: char| c.is_ascii_alphanumeric() || " ^~<>=|.*+-".contains(c);
    if !version.chars().all(is_version) {
        return Err(RequirementError::Elsewhere(format!("{}@{version}", need.name)));
    }
    Ok((need.name.clone(), version.to_owned()))
}

#[cfg(test)]
mod tests;
