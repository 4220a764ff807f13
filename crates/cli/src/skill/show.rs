//! `belljar skill show`: what a skill is, what it runs and what it needs.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use skills::show;

use super::problem;
use crate::failure::Failure;
use crate::output;

/// Options of `skill show`.
#[derive(Args)]
pub struct Options {
    /// The skill: a folder, its SKILL.md, or a `.skill` or `.zip` archive
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the summary, and on standard error what loading found wrong.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let skill = problem::load(&options.path)?;
    let summary = show(&skill);
    if options.json {
        output::print_json(&summary)?;
    } else {
        output::print(&summary.to_text())?;
    }
    problem::warn(&skill);
    Ok(ExitCode::SUCCESS)
}
