//! `belljar skill`: Agent Skills, read, checked, packed and run.

mod run;
mod runner;
mod test;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use skills::{Limits, Skill};

use crate::failure::Failure;
use crate::output;

/// Options of `skill`.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check a skill against the specification
    Check(Target),
    /// Show what a skill is, has and needs
    Show(Target),
    /// Pack a skill's folder into an archive
    Pack {
        /// The folder
        folder: PathBuf,
        /// The archive; NAME.skill if it is not named
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Run a script of a skill
    Run(Box<run::Options>),
    /// Run a skill's own test cases
    Test(test::Options),
}

#[derive(Args)]
struct Target {
    /// The skill: a folder or an archive
    path: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs a subcommand.
pub fn run(options: Options) -> Result<ExitCode, Failure> {
    match options.command {
        Command::Check(target) => check(&target),
        Command::Show(target) => show(&target),
        Command::Pack { folder, output } => pack(&folder, output.as_deref()),
        Command::Run(options) => run::run(&options),
        Command::Test(options) => test::run(&options),
    }
}

fn check(target: &Target) -> Result<ExitCode, Failure> {
    let report = skills::check(&target.path, &Limits::default());
    if target.json {
        output::print_json(&report)?;
    } else {
        output::print(&report.to_text())?;
    }
    Ok(if report.is_valid() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show(target: &Target) -> Result<ExitCode, Failure> {
    let summary = skills::show(&load(&target.path)?);
    if target.json {
        output::print_json(&summary)?;
    } else {
        output::print(&summary.to_text())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn pack(folder: &Path, to: Option<&Path>) -> Result<ExitCode, Failure> {
    skills::pack_to_file(folder, to).map_err(|error| Failure::new(with_causes(&error)))?;
    Ok(ExitCode::SUCCESS)
}

/// Loads a skill. It must live as long as it is used: an archive is staged in a folder that goes
/// with it.
fn load(path: &Path) -> Result<Skill, Failure> {
    skills::load(path, &Limits::default()).map_err(|error| {
        Failure::new(format!("cannot load {}: {}", path.display(), with_causes(&error)))
            .hint(format!("`belljar skill check {}` says more", path.display()))
            .code(Failure::CANNOT_START)
    })
}

/// An error with everything that led to it.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}
