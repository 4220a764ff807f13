//! `belljar apply`, which is also `belljar skill apply`: decides about changes that a run kept aside.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use sandbox_spec::printable_path;

use super::aside::{Aside, Newer};
use super::listing::all_in_words;
use crate::failure::Failure;
use crate::output;

/// Options of `apply`.
#[derive(Args)]
pub struct Options {
    /// The folder that a run named at its end; without it, everything that is kept is listed
    #[arg(value_name = "KEPT")]
    kept: Option<PathBuf>,
    /// Only show the changes
    #[arg(long)]
    dry_run: bool,
    /// Replace also what was changed since the run began
    #[arg(long)]
    overwrite: bool,
    /// Throw the changes away
    #[arg(long, conflicts_with_all = ["dry_run", "overwrite"], requires = "kept")]
    discard: bool,
}

/// Writes the changes back and removes the folder that kept them.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let Some(kept) = &options.kept else { return list() };
    let aside = Aside::open(kept)?;
    if options.discard {
        aside.discard()?;
        return Ok(ExitCode::SUCCESS);
    }
    let changes = aside.changes()?;
    output::print(&all_in_words(&changes))?;
    if !options.dry_run {
        let newer = if options.overwrite { Newer::Replace } else { Newer::Keep };
        aside.write_back(&changes, newer)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists what earlier runs have kept.
fn list() -> Result<ExitCode, Failure> {
    let all = Aside::all()?;
    if all.is_empty() {
        output::print("nothing is kept\n")?;
    }
    for aside in &all {
        output::print(&format!("{}\n  {}\n", printable_path(aside.path()), aside.words()))?;
    }
    Ok(ExitCode::SUCCESS)
}
