//! What is there and what is missing.

use serde::Serialize;

use super::lists::{package_of, package_of_module, system_of};
use super::{Need, Needs};
use crate::cases::find_program;

/// Whether something is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// It is there.
    Present,
    /// It is not there.
    Missing,
    /// Nobody could tell.
    Unknown,
}

/// Something that knows what is there: a host, a sandbox, an environment.
pub trait Inventory {
    /// Whether a module of Python can be imported.
    fn python_module(&self, import: &str) -> Presence;
    /// Whether a package of Node can be required.
    fn node_package(&self, package: &str) -> Presence;
    /// Whether a program can be started.
    fn program(&self, name: &str) -> Presence;
}

/// Knows the programs on a search path, and nothing about modules.
#[derive(Clone, Debug)]
pub struct PathInventory {
    /// Folders with `:` between them.
    pub path: String,
}

impl Inventory for PathInventory {
    fn python_module(&self, _import: &str) -> Presence {
        Presence::Unknown
    }

    fn node_package(&self, _package: &str) -> Presence {
        Presence::Unknown
    }

    fn program(&self, name: &str) -> Presence {
        match find_program(name, &self.path) {
            Some(_) => Presence::Present,
            None => Presence::Missing,
        }
    }
}

/// The state of one need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// `python`, `node` or `program`.
    pub kind: &'static str,
    /// The need's name.
    pub name: String,
    /// Whether the skill can do without.
    pub is_optional: bool,
    /// Whether it is there.
    pub presence: Presence,
    /// How to get it.
    pub advice: String,
}

/// Says of every need whether it is there and how to get it.
pub fn assess(needs: &Needs, inventory: &dyn Inventory) -> Vec<Status> {
    let status = |kind, need: &Need, presence, advice| Status {
        kind,
        name: need.name.clone(),
        is_optional: need.is_optional,
        presence,
        advice,
    };
    let mut all = Vec::new();
    for need in &needs.python {
        let import = need.imports.first().map_or(need.name.as_str(), String::as_str);
        let asked = need.requirement.as_deref().unwrap_or(&need.name);
        let advice = match package_of_module(&need.name) {
            Some(package) => format!("install the system package `{package}`"),
            None => format!("--install gets `{asked}`, or name an environment with --venv"),
        };
        all.push(status("python", need, inventory.python_module(import), advice));
    }
    for need in &needs.node {
        let asked = need.requirement.as_deref().unwrap_or(&need.name);
        let advice = format!("--install gets `{asked}`, or name a folder with --node-modules");
        all.push(status("node", need, inventory.node_package(&need.name), advice));
    }
    for need in &needs.programs {
        let advice = match (system_of(&need.name), package_of(&need.name)) {
            (Some(system), _) => format!("a program of {system}; Linux has none of that name"),
            (None, Some(package)) => format!("install the system package `{package}`"),
            (None, None) => format!("install the system package that has `{}`", need.name),
        };
        all.push(status("program", need, inventory.program(&need.name), advice));
    }
    all
}

/// A command that prints, one per line, the imports that Python cannot find. It imports nothing.
pub fn python_probe(needs: &Needs) -> Vec<String> {
    let code = "import sys, importlib.util as u\n\
                for name in sys.argv[1:]:\n\
                \x20   if u.find_spec(name) is None: print(name)\n";
    let mut command = vec!["python3".to_owned(), "-c".to_owned(), code.to_owned()];
    let import = |need: &Need| need.imports.first().cloned().unwrap_or_else(|| need.name.clone());
    command.extend(needs.python.iter().map(import));
    command
}
