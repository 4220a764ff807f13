//! What is there and what is missing.

use serde::Serialize;

use super::lists::{package_of, package_of_module, system_of};
use super::{BrowserStore, Need, Needs};
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
    /// Whether a package finds a browser of its own.
    fn browser(&self, package: &BrowserStore) -> Presence;
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

    fn browser(&self, _package: &BrowserStore) -> Presence {
        Presence::Unknown
    }
}

/// The state of one need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// `python`, `node`, `program` or `browser`.
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
    for need in &needs.browsers {
        let Some(store) = BrowserStore::of(&need.name) else { continue };
        all.push(status("browser", need, inventory.browser(store), store.advice()));
    }
    all
}

/// Prints the imports that are not there, or not in the version that is asked for. Whether a version
/// fits is asked of what pip or setuptools bring along; without them a virtual environment has
/// what it was made with, and of the system's packages nobody knows.
const PYTHON_PROBE: &str = r"
import sys, importlib.util, importlib.metadata
def requirement_type():
    for name in ('packaging', 'pip._vendor.packaging', 'setuptools._vendor.packaging'):
        try: return importlib.import_module(name + '.requirements').Requirement
        except Exception: pass
Requirement = requirement_type()
def is_there(name):
    try: return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError): return False
def fits(asked):
    if not asked: return True
    if Requirement is None: return sys.prefix != sys.base_prefix
    try: asked = Requirement(asked)
    except Exception: return False
    if asked.marker is not None and not asked.marker.evaluate(): return True
    try: found = importlib.metadata.version(asked.name)
    except importlib.metadata.PackageNotFoundError: return not asked.specifier
    return asked.specifier.contains(found, prereleases=True)
for name, asked in zip(sys.argv[1::2], sys.argv[2::2]):
    if not (is_there(name) and fits(asked)): print(name)
";

/// A command that prints, one per line, the imports that Python does not have as they are asked for.
/// It imports none of them.
pub fn python_probe(needs: &Needs) -> Vec<String> {
    let mut command = vec!["python3".to_owned(), "-c".to_owned(), PYTHON_PROBE.to_owned()];
    for need in &needs.python {
        command.push(need.imports.first().cloned().unwrap_or_else(|| need.name.clone()));
        command.push(need.requirement.clone().unwrap_or_default());
    }
    command
}

/// What of the needs is not there.
pub fn without_present(needs: &Needs, inventory: &dyn Inventory) -> Needs {
    let import = |need: &Need| need.imports.first().cloned().unwrap_or_else(|| need.name.clone());
    let mut lacking = needs.clone();
    lacking.python.retain(|need| inventory.python_module(&import(need)) != Presence::Present);
    // A version of Node's packages is not compared, so one that is asked for is got.
    let is_any = |need: &Need| {
        let version = need.requirement.as_deref().and_then(|it| it.strip_prefix(&need.name));
        matches!(version, None | Some("" | "@" | "@*" | "@latest"))
    };
    lacking
        .node
        .retain(|need| !is_any(need) || inventory.node_package(&need.name) != Presence::Present);
    lacking
}
