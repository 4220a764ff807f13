//! Declared requirements: requirements.txt, pyproject.toml, package.json, inline metadata.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::{Evidence, Hint, Hints, is_scanned, python_files};
use crate::script::runner_line;
use crate::skill::{FileEntry, Skill};

/// Adds what the skill declares.
pub(super) fn scan(skill: &Skill, hints: &mut Hints) {
    for entry in skill.regular_files().filter(|entry| is_scanned(entry)) {
        let name = entry.name();
        let reader: fn(&FileEntry, &str, &mut Hints) = match name {
            "pyproject.toml" => pyproject,
            "package.json" => package_json,
            _ if name.starts_with("requirements") && name.ends_with(".txt") => requirements,
            _ => continue,
        };
        if let Some(text) = skill.read_text(entry) {
            reader(entry, &text, hints);
        }
    }
    for (entry, text) in python_files(skill) {
        inline_metadata(entry, &text, hints);
        let shebang = crate::script::read(skill, entry).and_then(|script| script.shebang);
        let line = shebang.and_then(|words| runner_line(&words)).unwrap_or_default();
        hints.python.extend(line.packages.iter().filter_map(|it| python_hint(it, entry, 1)));
    }
}

/// A requirement of Python: the name before extras, versions and markers.
fn python_hint(requirement: &str, entry: &FileEntry, line: usize) -> Option<Hint> {
    let requirement = requirement.trim();
    let end = requirement.find(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)));
    let name = requirement.get(..end.unwrap_or(requirement.len()))?;
    if !name.starts_with(|c: char| c.is_alphanumeric()) {
        return None;
    }
    let mut hint = Hint::new(name, &entry.path, line, Evidence::Declared);
    hint.requirement = Some(requirement.to_owned());
    Some(hint)
}

fn requirements(entry: &FileEntry, text: &str, hints: &mut Hints) {
    for (index, line) in text.lines().enumerate() {
        let line = line.split(" #").next().unwrap_or_default().trim();
        // Options, comments, addresses and paths name no distribution.
        let is_other =
            line.starts_with(['-', '#', '.', '/']) || line.contains("://") && !line.contains('@');
        if line.is_empty() || is_other {
            continue;
        }
        let line = line.split(" --").next().unwrap_or(line).trim_end_matches('\\');
        hints.python.extend(python_hint(line, entry, index + 1));
    }
}

#[derive(Deserialize)]
struct PyProject {
    project: Option<Project>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Project {
    #[serde(default)]
    dependencies: Vec<Spanned<String>>,
    #[serde(default)]
    optional_dependencies: BTreeMap<String, Vec<Spanned<String>>>,
    requires_python: Option<String>,
}

fn line_of(text: &str, byte: usize) -> usize {
    text.get(..byte).unwrap_or_default().matches('\n').count() + 1
}

fn pyproject(entry: &FileEntry, text: &str, hints: &mut Hints) {
    let Ok(PyProject { project: Some(project) }) = toml::from_str(text) else { return };
    let line = |asked: &Spanned<String>| line_of(text, asked.span().start);
    for asked in &project.dependencies {
        hints.python.extend(python_hint(asked.get_ref(), entry, line(asked)));
    }
    for asked in project.optional_dependencies.values().flatten() {
        let mut hint = python_hint(asked.get_ref(), entry, line(asked));
        if let Some(hint) = &mut hint {
            hint.is_optional = true;
        }
        hints.python.extend(hint);
    }
    hints.python_version = hints.python_version.take().or(project.requires_python);
}

/// Inline script metadata as in PEP 723: TOML in comments between `# /// script` and `# ///`.
fn inline_metadata(entry: &FileEntry, text: &str, hints: &mut Hints) {
    let Some((first_line, toml_text)) = inline_block(text) else { return };
    let Ok(project) = toml::from_str::<Project>(&toml_text) else { return };
    for asked in &project.dependencies {
        let line = first_line + line_of(&toml_text, asked.span().start) - 1;
        hints.python.extend(python_hint(asked.get_ref(), entry, line));
    }
    hints.python_version = hints.python_version.take().or(project.requires_python);
}

/// The text of the block and the line on which it begins.
fn inline_block(text: &str) -> Option<(usize, String)> {
    let start = text.lines().position(|line| line.trim_end() == "# /// script")?;
    let mut block = String::new();
    for line in text.lines().skip(start + 1) {
        if line.trim_end() == "# ///" {
            return Some((start + 2, block));
        }
        let content = line.strip_prefix("# ").or_else(|| line.strip_prefix('#'))?;
        block.push_str(content);
        block.push('\n');
    }
    None
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PackageJson {
    #[serde(default)]
    dependencies: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    optional_dependencies: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    peer_dependencies: BTreeMap<String, serde_json::Value>,
}

fn package_json(entry: &FileEntry, text: &str, hints: &mut Hints) {
    let Ok(package) = serde_json::from_str::<PackageJson>(text) else { return };
    let groups = [
        (package.dependencies, false),
        (package.peer_dependencies, false),
        (package.optional_dependencies, true),
    ];
    for (packages, is_optional) in groups {
        for (name, version) in packages {
            let key = format!("\"{name}\"");
            let line = text.lines().position(|line| line.contains(&key)).map_or(1, |at| at + 1);
            let mut hint = Hint::new(&name, &entry.path, line, Evidence::Declared);
            hint.requirement = version.as_str().map(|version| format!("{name}@{version}"));
            hint.is_optional = is_optional;
            hints.node.push(hint);
        }
    }
}
