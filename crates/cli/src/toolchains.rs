//! The tools that the user's `PATH` reaches, which are shown read-only at their own paths.
//!
//! What is in the system's folders every sandbox has. What users install for themselves lies in
//! their home folder, beside their keys: so of that only what is known to be programs is shown.

mod layouts;

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use sandbox_spec::{Mount, MountAccess, Ownership};

use crate::masks::Masks;
use crate::skill::environment::is_python;
use layouts::{INSTALLATIONS, LAYOUTS, Layout, SETTINGS};

/// How many entries of `PATH` are looked at.
const MAX_ENTRIES: usize = 256;
/// How many installations of one tool are looked into for settings.
const MAX_INSTALLATIONS: usize = 256;
/// Where every sandbox has the host's programs.
pub const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix"];
/// Where virtual environments of Python are in a project.
const ENVIRONMENTS: &[&str] = &[".venv", "venv"];

/// What is shown of the user's tools.
#[derive(Debug, Default)]
pub struct Toolchains {
    /// What was found, in the order of `PATH`.
    pub found: Vec<Toolchain>,
    /// The entries of `PATH` that are there inside.
    pub path: Vec<PathBuf>,
    /// Variables that tell programs where their tools are.
    pub variables: Vec<(&'static str, PathBuf)>,
}

/// A tool that is shown.
#[derive(Debug)]
pub struct Toolchain {
    /// Its name.
    pub name: &'static str,
    /// What is shown of it.
    pub shown: Vec<Shown>,
}

/// A folder or file of a tool.
#[derive(Debug)]
pub struct Shown {
    /// Its path, outside and inside.
    pub path: PathBuf,
    /// What of it is not shown, from there.
    pub masked: Vec<PathBuf>,
}

/// Who looks: the parts of the environment that matter.
pub struct Surroundings<'s> {
    /// The home folder, without links.
    pub home: Option<&'s Path>,
    /// The value of `PATH`.
    pub path: &'s OsStr,
    /// What a variable says.
    pub variable: &'s dyn Fn(&str) -> Option<OsString>,
    /// The project, which is there anyway.
    pub project: Option<&'s Path>,
}

impl Toolchains {
    /// Finds what `PATH`, and the virtual environments of the project, lead to.
    pub fn find(surroundings: &Surroundings<'_>) -> Self {
        let mut found = Self::default();
        let entries: Vec<PathBuf> = std::env::split_paths(surroundings.path)
            .filter(|entry| entry.is_absolute() && is_plain(entry))
            .take(MAX_ENTRIES)
            .collect();
        let mut seen: Vec<PathBuf> = Vec::new();
        for entry in entries {
            if seen.contains(&entry) {
                continue;
            }
            seen.push(entry.clone());
            if SYSTEM.iter().any(|top| entry.starts_with(top)) {
                found.path.push(entry);
                continue;
            }
            // Follows links to the end: a version that is current is often one.
            let Ok(real) = entry.canonicalize() else { continue };
            if !found.is_visible(&real, surroundings) {
                found.show(&real, surroundings);
            }
            if !found.is_visible(&real, surroundings) {
                continue;
            }
            let is_itself = real == entry || found.is_visible(&entry, surroundings);
            found.path.push(if is_itself { entry } else { real });
        }
        found.show_interpreters(surroundings);
        found
    }

    /// The mounts that show all of it.
    pub fn mounts(&self) -> impl Iterator<Item = Mount> {
        self.found.iter().flat_map(|tool| &tool.shown).map(|shown| Mount {
            source: shown.path.as_path().into(),
            destination: shown.path.clone(),
            access: MountAccess::ReadOnly,
            ownership: Ownership::default(),
            upper: None,
            masked: shown.masked.clone(),
            is_counted: false,
        })
    }

    /// Whether a path is there inside.
    fn is_visible(&self, path: &Path, surroundings: &Surroundings<'_>) -> bool {
        let is_in = |top: &Path| path.starts_with(top);
        SYSTEM.iter().any(|top| is_in(Path::new(top)))
            || surroundings.project.is_some_and(is_in)
            || self.found.iter().flat_map(|tool| &tool.shown).any(|shown| is_in(&shown.path))
    }

    /// Shows the tool that a folder of programs belongs to, if it is a known one.
    fn show(&mut self, programs: &Path, surroundings: &Surroundings<'_>) {
        for layout in LAYOUTS {
            let Some(root) = root_of(layout, surroundings) else { continue };
            let is_shown = |part: &&str| programs.starts_with(without_dot(root.join(part)));
            if layout.shown.iter().any(is_shown) {
                self.show_layout(layout, &root, surroundings);
                return;
            }
        }
        // An installation by its own marks, wherever it is.
        let Some(top) = programs.parent() else { return };
        let name = match () {
            () if top.join("conda-meta").is_dir() => "conda",
            () if top.join("VERSION").is_file() && top.join("src/runtime").is_dir() => "go",
            () => return,
        };
        let is_above_home = surroundings.home.is_some_and(|home| home.starts_with(top));
        if !is_above_home {
            self.push(name, vec![shown(top, &[top.to_path_buf()], surroundings.home)]);
        }
    }

    fn show_layout(&mut self, layout: &Layout, root: &Path, surroundings: &Surroundings<'_>) {
        if self.found.iter().any(|tool| tool.name == layout.name) {
            return;
        }
        let parts = layout.shown.iter().map(|part| without_dot(root.join(part)));
        // What is a link itself may lead anywhere.
        let is_itself = |path: &PathBuf| path.canonicalize().is_ok_and(|real| real == *path);
        let parts = parts.filter(|it| is_itself(it) && !self.is_visible(it, surroundings));
        let installations = installations(root);
        let shown = parts.map(|path| shown(&path, &installations, surroundings.home)).collect();
        self.push(layout.name, shown);
        if let (true, Some(variable)) = (layout.is_told, layout.variable) {
            self.variables.push((variable, root.to_path_buf()));
        }
        for other in LAYOUTS.iter().filter(|other| layout.with.contains(&other.name)) {
            if let Some(root) = root_of(other, surroundings) {
                self.show_layout(other, &root, surroundings);
            }
        }
    }

    fn push(&mut self, name: &'static str, shown: Vec<Shown>) {
        if !shown.is_empty() {
            self.found.push(Toolchain { name, shown });
        }
    }

    /// Shows what the project's virtual environments build on. The project may be anybody's: what
    /// a link in it leads to has to be an installation of Python, and nothing else.
    fn show_interpreters(&mut self, surroundings: &Surroundings<'_>) {
        for environment in ENVIRONMENTS {
            let Some(project) = surroundings.project else { return };
            let Ok(real) = project.join(environment).join("bin/python").canonicalize() else {
                continue;
            };
            let Some(top) = real.ancestors().nth(2) else { continue };
            if !self.is_visible(&real, surroundings) && is_python(top) {
                self.push("python", vec![shown(top, &[top.to_path_buf()], surroundings.home)]);
            }
        }
    }
}

/// Where a tool is. What is above the home folder, or is it, is no tool.
fn root_of(layout: &Layout, surroundings: &Surroundings<'_>) -> Option<PathBuf> {
    let named = layout.variable.and_then(|name| (surroundings.variable)(name)).map(PathBuf::from);
    let root = match named.filter(|path| path.is_absolute() && is_plain(path)) {
        Some(named) => named,
        None => surroundings.home.unwrap_or(Path::new("/")).join(layout.folder),
    };
    let root = root.canonicalize().ok()?;
    let is_above_home = surroundings.home.is_some_and(|home| home.starts_with(&root));
    (!is_above_home && root.parent().is_some()).then_some(root)
}

fn is_plain(path: &Path) -> bool {
    !path.components().any(|part| matches!(part, Component::ParentDir))
}

fn without_dot(path: PathBuf) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// Folders in a tool's that are installations of their own.
fn installations(root: &Path) -> Vec<PathBuf> {
    let mut all = vec![root.to_path_buf()];
    for (folder, depth) in INSTALLATIONS {
        let mut level = vec![root.join(folder)];
        for _ in 0..*depth {
            let inner =
                level.iter().filter_map(|it| std::fs::read_dir(it).ok()).flatten().flatten();
            level = inner.map(|entry| entry.path()).take(MAX_INSTALLATIONS).collect();
        }
        all.extend(level);
    }
    all
}

/// A part of a tool, without the places of credentials and the settings of its installations.
fn shown(path: &Path, installations: &[PathBuf], home: Option<&Path>) -> Shown {
    let mut masks = Masks::in_home(path, home);
    for installation in installations {
        for settings in SETTINGS {
            let place = installation.join(settings);
            if installation.starts_with(path) && place.symlink_metadata().is_ok() {
                masks.hide(&place);
            }
        }
    }
    Shown { path: path.to_path_buf(), masked: masks.paths }
}

/// The value of `PATH` inside: what the user's leads to, in that order, and then what every sandbox
/// has.
pub fn guest_path(found: &Toolchains, default: &OsStr) -> Option<OsString> {
    let mut all = found.path.clone();
    for entry in std::env::split_paths(default) {
        if !all.contains(&entry) {
            all.push(entry);
        }
    }
    std::env::join_paths(all).ok()
}

#[cfg(test)]
mod tests;
