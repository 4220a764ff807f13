//! `belljar doctor --project`: what `run` would show here, without running anything.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sandbox_spec::{Identity, default_environment, printable, printable_path};
use serde::Serialize;

use crate::blocked::Ran;
use crate::failure::Failure;
use crate::git_identity::GitIdentity;
use crate::options::find_toolchains;
use crate::output;
use crate::project::{FoundBy, Project, Showing};
use crate::toolchains::{Toolchains, guest_path};
use crate::work;

/// What would be shown.
#[derive(Serialize)]
struct Report {
    folder: PathBuf,
    found_by: String,
    is_shown: bool,
    masked: Vec<PathBuf>,
    tools: Vec<Tool>,
    path: String,
    variables: Vec<(String, PathBuf)>,
    git: Option<GitIdentity>,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    folder: PathBuf,
    masked: Vec<PathBuf>,
}

/// Prints what `run` would show.
pub fn run(as_json: bool) -> Result<ExitCode, Failure> {
    let project = Project::find()?;
    let is_shown = project.showing() == Showing::AtItsPath;
    let folder = is_shown.then_some(project.folder.as_path());
    let masks = work::masks(&project.folder, Ran::Program);
    masks.tell();
    let report = report(&project, is_shown, masks.paths, &find_toolchains(folder));
    if as_json {
        output::print_json(&report)?;
    } else {
        output::print(&text(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn report(project: &Project, is_shown: bool, masked: Vec<PathBuf>, found: &Toolchains) -> Report {
    let tools = found.found.iter().flat_map(|tool| {
        tool.shown.iter().map(|shown| Tool {
            name: tool.name,
            folder: shown.path.clone(),
            masked: shown.masked.clone(),
        })
    });
    let environment = default_environment(&Identity::default());
    let default = environment.iter().find(|(name, _)| name == "PATH");
    let default = default.map(|(_, value)| value.clone()).unwrap_or_default();
    let path = guest_path(found, &default).unwrap_or(default);
    let there = |path: &PathBuf| project.folder.join(path).symlink_metadata().is_ok();
    Report {
        folder: project.folder.clone(),
        found_by: match project.found_by {
            FoundBy::Git => "the top of a git repository".to_owned(),
            FoundBy::File(name) => format!("the nearest folder with {name}"),
            FoundBy::Here => "the current folder; no sign of a project was found".to_owned(),
        },
        is_shown,
        masked: masked.into_iter().filter(there).collect(),
        tools: tools.collect(),
        path: path.to_string_lossy().into_owned(),
        variables: found.variables.iter().map(|(name, it)| ((*name).into(), it.clone())).collect(),
        git: GitIdentity::find(&project.folder),
    }
}

fn text(report: &Report) -> String {
    let mut text = format!("Project {}\n", printable_path(&report.folder));
    let mut line = |name: &str, words: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {name:<10} {}", printable(words));
    };
    line("found by", &report.found_by);
    line(
        "shown",
        match report.is_shown {
            true => "at its own path; writes go to a layer, and you are asked at the end",
            false => "no: a sandbox has something of its own there",
        },
    );
    for path in &report.masked {
        line("masked", &printable_path(path));
    }
    match &report.git {
        Some(git) => line("git", &git.words()),
        None => line("git", "no name and no e-mail address are configured"),
    }
    text.push_str("Tools that PATH reaches, read-only\n");
    if report.tools.is_empty() {
        text.push_str("  none beside those of the system\n");
    }
    for tool in &report.tools {
        let _ = writeln!(text, "  {:<10} {}", tool.name, printable_path(&tool.folder));
        for path in &tool.masked {
            let place: &Path = path;
            let _ = writeln!(text, "  {:<10} without {}", "", printable_path(place));
        }
    }
    let _ = writeln!(text, "PATH inside\n  {}", printable(&report.path));
    for (name, value) in &report.variables {
        let _ = writeln!(text, "{} inside\n  {}", printable(name), printable_path(value));
    }
    text
}
