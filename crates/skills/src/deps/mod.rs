//! What a skill needs: Python packages, Node packages, programs.
//!
//! Front matter rarely says it, so it is read from the scripts, from requirement files and, as a
//! hint, from the instructions. Everything carries its sources. This is reading, not running: an
//! import that is computed at run time stays unseen.

mod browsers;
mod lists;
mod manifests;
mod node;
mod programs;
mod prose;
mod python;
mod python_text;
mod status;

use std::collections::BTreeMap;

use serde::Serialize;

pub use browsers::{BROWSER_STORES, BrowserStore};
pub use status::{
    Inventory, PathInventory, Presence, Status, assess, python_probe, without_present,
};

use crate::skill::{FileEntry, Skill};

/// How a need became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// A requirement file or inline metadata says it.
    Declared,
    /// A script imports it or starts it.
    Used,
    /// The instructions mention it.
    Mentioned,
}

/// Where a need was seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Seen {
    /// The file.
    pub file: String,
    /// The line, from one.
    pub line: usize,
    /// How.
    pub evidence: Evidence,
}

/// One thing that a skill needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Need {
    /// The distribution, package or program.
    pub name: String,
    /// The names under which scripts import it, where they differ or are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub imports: Vec<String>,
    /// The requirement as it was declared, such as `pypdf>=4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirement: Option<String>,
    /// Whether the scripts can do without, or it is only mentioned.
    pub is_optional: bool,
    /// Where it was seen.
    pub seen: Vec<Seen>,
}

/// Everything that a skill needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Needs {
    /// Distributions of Python.
    pub python: Vec<Need>,
    /// Packages of Node.
    pub node: Vec<Need>,
    /// Programs.
    pub programs: Vec<Need>,
    /// Packages whose browsers are needed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub browsers: Vec<Need>,
    /// The version of Python that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python_version: Option<String>,
}

impl Needs {
    /// Whether nothing is needed.
    pub fn is_empty(&self) -> bool {
        self.python.is_empty() && self.node.is_empty() && self.programs.is_empty()
    }

    /// The exact requirement set as sorted lines: what an environment for the skill is keyed by.
    pub fn requirement_set(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (kind, needs) in [("python", &self.python), ("node", &self.node)] {
            for need in needs.iter().filter(|need| !need.is_optional) {
                let asked = need.requirement.as_deref().unwrap_or(&need.name);
                lines.push(format!("{kind} {asked}"));
            }
        }
        lines.extend(self.python_version.iter().map(|version| format!("python-version {version}")));
        lines.sort();
        lines
    }

    /// Renders the needs for people.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let groups = [("python", &self.python), ("node", &self.node), ("programs", &self.programs)];
        for (title, needs) in groups.into_iter().filter(|(_, needs)| !needs.is_empty()) {
            text.push_str(&format!("{title}:\n"));
            for need in needs {
                let asked =
                    sandbox_spec::printable(need.requirement.as_deref().unwrap_or(&need.name));
                let maybe = if need.is_optional { " (optional)" } else { "" };
                let from = need.seen.first().map(|seen| format!("{}:{}", seen.file, seen.line));
                text.push_str(&format!("  {asked}{maybe}  from {}\n", from.unwrap_or_default()));
            }
        }
        text
    }
}

/// One observation before it is put together with others.
#[derive(Clone, Debug)]
pub(crate) struct Hint {
    pub name: String,
    pub import: Option<String>,
    pub requirement: Option<String>,
    pub is_optional: bool,
    pub seen: Seen,
}

impl Hint {
    /// A hint without import name, requirement or doubt.
    pub fn new(name: impl Into<String>, file: &str, line: usize, evidence: Evidence) -> Self {
        Self {
            name: name.into(),
            import: None,
            requirement: None,
            is_optional: evidence == Evidence::Mentioned,
            seen: Seen { file: file.to_owned(), line, evidence },
        }
    }
}

/// The observations of each kind.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    pub python: Vec<Hint>,
    pub node: Vec<Hint>,
    pub programs: Vec<Hint>,
    pub python_version: Option<String>,
}

/// Finds what a skill needs.
pub fn find_needs(skill: &Skill) -> Needs {
    let mut hints = Hints::default();
    manifests::scan(skill, &mut hints);
    for (entry, text) in python_files(skill) {
        python::scan(skill, entry, &text, &mut hints);
    }
    node::scan(skill, &mut hints);
    programs::scan_shell(skill, &mut hints);
    prose::scan(skill, &mut hints);
    prose::scan_compatibility(skill, &mut hints);
    for script in crate::script::find_scripts(skill) {
        let program = script.interpreter.usual_program();
        if !program.is_empty() {
            let name = program.rsplit('/').next().unwrap_or(program);
            hints.programs.push(Hint::new(name, &script.path, 1, Evidence::Used));
        }
    }
    for hint in &hints.python {
        if let Some(program) = lists::program_of_distribution(&hint.name) {
            hints.programs.push(Hint {
                name: program.to_owned(),
                requirement: None,
                import: None,
                ..hint.clone()
            });
        }
    }
    for hint in hints.programs.iter_mut().filter(|hint| hint.name == "libreoffice") {
        hint.name = "soffice".to_owned(); // Two names of one program.
    }
    hints.programs.retain(|hint| !lists::is_always_there(&hint.name));
    for hint in hints.programs.iter_mut().filter(|it| lists::system_of(&it.name).is_some()) {
        // No package has it here: a script that is also for Linux does without.
        hint.is_optional = true;
    }
    let browsers = browsers::of_packages(&hints);
    Needs {
        browsers: gather(browsers, str::to_owned),
        python: gather(hints.python, lists::normal_distribution),
        node: gather(hints.node, str::to_owned),
        programs: gather(hints.programs, str::to_owned),
        python_version: hints.python_version,
    }
}

/// Puts hints about one thing together.
fn gather(hints: Vec<Hint>, normal: fn(&str) -> String) -> Vec<Need> {
    let mut needs: BTreeMap<String, Need> = BTreeMap::new();
    for hint in hints {
        let need = needs.entry(normal(&hint.name)).or_insert_with(|| Need {
            name: hint.name.clone(),
            imports: Vec::new(),
            requirement: None,
            is_optional: true,
            seen: Vec::new(),
        });
        need.is_optional &= hint.is_optional;
        need.requirement = need.requirement.take().or(hint.requirement);
        need.imports.extend(hint.import.filter(|name| !need.imports.contains(name)));
        need.seen.push(hint.seen);
    }
    let mut needs: Vec<Need> = needs.into_values().collect();
    for need in &mut needs {
        need.seen.sort_by(|a, b| (a.evidence, &a.file, a.line).cmp(&(b.evidence, &b.file, b.line)));
        need.seen.dedup();
    }
    needs
}

/// Folders whose files say nothing about what the scripts need.
fn is_scanned(entry: &FileEntry) -> bool {
    !["tests/", "evals/", "assets/"].iter().any(|folder| entry.path.starts_with(folder))
}

/// The Python files of a skill with their text.
pub(crate) fn python_files(skill: &Skill) -> Vec<(&FileEntry, String)> {
    let is_python = |entry: &&FileEntry| {
        entry.extension() == Some("py")
            || (entry.extension().is_none()
                && crate::script::interpreter_of(skill, entry) == Some(crate::Interpreter::Python))
    };
    skill
        .regular_files()
        .filter(|entry| is_scanned(entry))
        .filter(is_python)
        .filter_map(|entry| Some((entry, skill.read_text(entry)?)))
        .collect()
}

/// Whether a module of Python comes with a system package only.
pub(crate) fn is_system_module(name: &str) -> bool {
    lists::package_of_module(name).is_some()
}

/// Whether a Python text does something at its top, beyond definitions and imports.
pub(crate) fn does_something_in_python(text: &str) -> bool {
    python::does_something(text)
}

/// Whether a Python text imports a package or module that lies at the top of the skill.
pub(crate) fn imports_top_level(skill: &Skill, text: &str) -> bool {
    python::imports(text).iter().any(|import| {
        import.level == 0
            && !lists::is_python_stdlib(&import.top())
            && python::is_at(skill, "", &import.top())
    })
}

#[cfg(test)]
mod tests;
