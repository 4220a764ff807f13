//! `belljar skill check`: the whole specification, every finding at its line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use skills::{Limits, check};

use crate::failure::Failure;
use crate::output;

/// Options of `skill check`.
#[derive(Args)]
pub struct Options {
    /// The skill: a folder, its SKILL.md, or a `.skill` or `.zip` archive
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// End with 1 also for warnings
    #[arg(long)]
    strict: bool,
}

/// Prints the findings. Ends with 1 if a rule is broken.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let report = check(&options.path, &Limits::default());
    if options.json {
        output::print_json(&report)?;
    } else {
        output::print(&report.to_text())?;
    }
    let is_good = report.is_valid() && !(options.strict && report.warnings > 0);
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
