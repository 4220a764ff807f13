//! Environments for skills: what goes into one, how it is called in the cache, where its packages
//! come from, and why making it failed.
//!
//! Nothing is installed here. Whoever installs runs [`Requirements::python_command`] and its
//! siblings in a sandbox that reaches a [`Source`] and nothing else.

mod npm;
mod pip;
mod source;
mod trouble;

use std::collections::BTreeMap;
use std::fmt::Write;

use thiserror::Error;

pub use npm::{npm_source, packages_with_scripts};
pub use pip::{DEFAULT_INDEX_PROBE, pip_source};
pub use source::Source;
pub use trouble::{Installer, Trouble, explain, failed_script};

use crate::deps::{Need, Needs, is_system_module};

/// Where an environment is seen inside, while it is made and when it is used. It is always the
/// same, because environments of Python hold their own path.
pub const ENVIRONMENT_FOLDER: &str = "/environment";
/// The virtual environment of Python below [`ENVIRONMENT_FOLDER`].
pub const PYTHON_FOLDER: &str = "python";
/// The folder with `node_modules` below [`ENVIRONMENT_FOLDER`].
pub const NODE_FOLDER: &str = "node";

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

    /// The whole of what an environment depends on, as text. Two environments are the same if and
    /// only if this is.
    pub fn key_text(&self, interpreters: &BTreeMap<String, String>) -> String {
        let mut text = String::from("layout 2\n");
        for (name, version) in interpreters {
            let _ = writeln!(text, "interpreter {name} {version}");
        }
        let _ = writeln!(text, "system-modules {}", self.sees_system);
        for requirement in &self.python {
            let _ = writeln!(text, "python {requirement}");
        }
        for (name, version) in &self.node {
            let _ = writeln!(text, "node {name} {version}");
        }
        text
    }

    /// Makes the virtual environment. Needs no network.
    pub fn venv_command(&self) -> Vec<String> {
        let mut command = words(&["python3", "-m", "venv"]);
        if self.sees_system {
            command.push("--system-site-packages".to_owned());
        }
        command.push(format!("{ENVIRONMENT_FOLDER}/{PYTHON_FOLDER}"));
        command
    }

    /// Installs the packages of Python.
    pub fn pip_command(&self) -> Vec<String> {
        let mut command = vec![format!("{ENVIRONMENT_FOLDER}/{PYTHON_FOLDER}/bin/python")];
        command.extend(words(&[
            "-m",
            "pip",
            "install",
            "--no-input",
            "--no-cache-dir",
            "--disable-pip-version-check",
            "--progress-bar=off",
            // Code of a package runs while it is built, so nothing is built that need not be.
            "--prefer-binary",
            "--",
        ]));
        command.extend(self.python.iter().cloned());
        command
    }

    /// The `package.json` of the packages of Node.
    pub fn package_json(&self) -> String {
        let package = serde_json::json!({ "private": true, "dependencies": self.node });
        format!("{package:#}\n")
    }

    /// Installs the packages of Node from the `package.json` in the working folder. What packages
    /// bring to be run then is left to [`Requirements::npm_scripts_command`].
    pub fn npm_command(&self) -> Vec<String> {
        words(&[
            "npm",
            "install",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--no-update-notifier",
            "--no-package-lock",
        ])
    }

    /// Runs what the packages of Node bring to be run when they are installed. Some packages do not
    /// work without. It is a step of its own, so that they run without the keys to the registry.
    /// Without packages it runs those of all, and ends with the first that fails.
    pub fn npm_scripts_command(&self, packages: &[&str]) -> Vec<String> {
        let mut command = words(&[
            "npm",
            "rebuild",
            "--foreground-scripts",
            "--no-update-notifier",
            // Some versions of npm run only what a list of theirs names. The sandbox holds all.
            "--dangerously-allow-all-scripts=true",
            "--",
        ]);
        command.extend(packages.iter().map(|name| (*name).to_owned()));
        command
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The name in the cache for a key. The key itself must be compared as well: two may share a name.
pub fn key_name(key_text: &str) -> String {
    // FNV-1a: short, and the same in every version of this program.
    let hash = key_text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn python_requirement(need: &Need) -> Result<String, RequirementError> {
    let asked = need.requirement.as_deref().unwrap_or(&need.name).trim();
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
