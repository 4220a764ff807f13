//! `belljar skill apply`: decides about changes that a run kept aside.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::aside::Aside;
use super::listing::in_words;
use crate::failure::Failure;
use crate::output;

/// Options of `skill apply`.
#[derive(Args)]
pub struct Options {
    /// The folder that `skill run` named at its end
    #[arg(value_name = "KEPT")]
    kept: PathBuf,
    /// Only show the changes
    #[arg(long)]
    dry_run: bool,
    /// Throw the changes away
    #[arg(long, conflicts_with = "dry_run")]
    discard: bool,
}

/// Writes the changes back and removes the folder that kept them.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let aside = Aside::open(&options.kept)?;
    if options.discard {
        aside.discard()?;
        return Ok(ExitCode::SUCCESS);
    }
    let changes = aside.changes()?;
    output::print(&in_words(&changes))?;
    if !options.dry_run {
        aside.write_back(&changes)?;
    }
    Ok(ExitCode::SUCCESS)
}
