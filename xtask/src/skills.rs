//! `cargo xtask skills`: the cases of every example skill, inside, and again under the policy that
//! was learned from them; packages that are installed for a skill; and the page of a report.

mod node_packages;
mod report_page;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::command::{build_belljar, project, succeed};

/// Options of `skills`.
#[derive(Args)]
pub struct Options {
    /// Use this program instead of building one
    #[arg(long, value_name = "PATH")]
    belljar: Option<PathBuf>,
}

/// A test with the program `belljar`.
type Test = fn(&Path) -> Result<()>;

/// Runs every skill's cases, one skill after the other.
pub fn run(options: &Options) -> Result<()> {
    let belljar = match &options.belljar {
        Some(path) => std::path::absolute(path)?,
        None => build_belljar()?,
    };
    let folder = project().join("examples/skills");
    let mut skills: Vec<_> = std::fs::read_dir(&folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.join("SKILL.md").exists())
        .collect();
    skills.sort();
    let mut failed = Vec::new();
    for skill in &skills {
        // Browsers read some files, such as the cache of MIME types, in one run and not in the next: what was
        // learned from one need not be enough for another.
        let is_browser = skill.ends_with("page-shot");
        let learned = if is_browser { "--learned=4" } else { "--learned" };
        let test = || succeed(Command::new(&belljar).args(["skill", "test", learned]).arg(skill));
        if !(0..if is_browser { 3 } else { 1 }).any(|_| test().is_ok()) {
            failed.push(skill.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
    }
    let n_failed = failed.len();
    println!("skills: {} passed, {n_failed} failed", skills.len() - n_failed);
    let others: [(&str, Test); 2] =
        [("packages of Node", node_packages::run), ("the page of a report", report_page::run)];
    for (name, test) in others {
        if let Err(error) = test(&belljar) {
            println!("error: {error:#}");
            failed.push(name.to_owned());
        }
    }
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(", ")) }
}
