//! `belljar conform`: test programs, natively against the sandbox.

mod needs;
mod report;
mod run;

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
    /// Show which system calls a program uses, and how well they are supported
    Needs(needs::Options),
}

/// Runs a subcommand.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    match &options.command {
        Command::Run(options) => run::run(options),
        Command::Report(options) => report::run(options),
        Command::Needs(options) => needs::run(options),
    }
}
