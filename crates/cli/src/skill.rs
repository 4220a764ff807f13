//! `belljar skill`: agent skills, from checking to running.

pub mod apply;
pub mod aside;
mod asks;
mod browsers;
mod changes;
mod check;
mod deps;
mod difference;
pub mod environment;
mod environment_cache;
mod install_node;
mod install_python;
mod install_step;
mod installer;
mod inventory;
mod leads;
pub mod learn;
pub mod listing;
mod pack;
pub mod permissions;
pub mod places;
mod problem;
mod progress;
pub mod question;
mod registry;
mod risk;
mod run;
mod runner;
pub mod scratch;
mod seal;
mod show;
mod spare_layer;
mod test;
pub mod usage;
mod write_back;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Options of `skill`.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check a skill against the specification
    Check(check::Options),
    /// Show what a skill is, what it runs and what it needs
    Show(show::Options),
    /// Pack a folder into a reproducible archive
    Pack(pack::Options),
    /// Show what a skill needs and what of it is here
    Deps(deps::Options),
    /// Run a script of a skill in a sandbox
    Run(Box<run::Options>),
    /// Write back, or throw away, what a run kept aside
    Apply(apply::Options),
    /// Run the test cases that a skill brings
    Test(test::Options),
}

/// Runs a subcommand.
pub fn run(options: Options) -> Result<ExitCode, Failure> {
    match options.command {
        Command::Check(options) => check::run(&options),
        Command::Show(options) => show::run(&options),
        Command::Pack(options) => pack::run(&options),
        Command::Deps(options) => deps::run(&options),
        Command::Run(options) => run::run(&options),
        Command::Apply(options) => apply::run(&options),
        Command::Test(options) => test::run(&options),
    }
}
