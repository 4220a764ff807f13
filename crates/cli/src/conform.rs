//! `belljar conform`: test programs, natively against the sandbox.

mod needs;
mod nightly;
mod report;
mod run;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Options of `conform`.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a folder of test programs natively and inside
    Run(run::Options),
    /// Make a report of results
    Report(report::Options),
    /// Show which system calls a program or a skill uses, and how well they are supported
    Needs(needs::Options),
    /// Find out what interpreters and skills use, test it, and compare with the last time
    Nightly(nightly::Options),
}

/// Runs a subcommand.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    match &options.command {
        Command::Run(options) => run::run(options),
        Command::Report(options) => report::run(options),
        Command::Needs(options) => needs::run(options),
        Command::Nightly(options) => nightly::run(options),
    }
}

/// Our own program, to start sandboxes with.
fn belljar() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(cannot("find belljar"))
}

/// A failure of something that we tried.
fn cannot<E: std::fmt::Display>(what: &str) -> impl Fn(E) -> Failure + '_ {
    move |error| Failure::new(format!("cannot {what}: {error}"))
}
