//! The project's own commands, called as `cargo xtask COMMAND`.
//!
//! One file per command. CI runs nothing that is not here.

#![forbid(unsafe_code)]

mod bench;
mod check;
mod ci;
mod command;
mod cpython;
mod deny;
mod dist;
mod docs;
mod faults;
mod fuzz;
mod growth;
mod guest_tests;
mod hostile;
mod parallel;
mod picture;
mod programs;
mod residue;
mod setup;
mod skills;
mod skips;
mod stress;
mod surface;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// The project's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install what the tests need, and run all of them
    Ci,
    /// Install what the tests need
    Setup,
    /// Check format, lints, unit tests and house rules
    Check,
    /// Check licences, duplicates, sources and vulnerabilities of what we depend on
    Deny,
    /// Make what a release consists of: a static program, packages, digests
    Dist(dist::Options),
    /// Write the pages that are made from code
    Docs,
    /// Measure the sandbox against native, and others
    Bench(bench::Options),
    /// Kill processes of sandboxes at random moments, and look for what is left
    Faults(faults::Options),
    /// Make random system calls from a real guest
    Fuzz(fuzz::Options),
    /// Start, use and end many sandboxes at one time, and look for what is left
    Parallel(parallel::Options),
    /// Run guests that attack, beside another sandbox
    Hostile(hostile::Options),
    /// Measure what calls cost when there is much of something, and many idle sandboxes
    Growth(growth::Options),
    /// Run the guest tests natively and inside, and compare
    GuestTests(guest_tests::Options),
    /// Run CPython's own tests natively and inside, and compare
    Cpython(cpython::Options),
    /// Run real programs natively and inside, and compare
    Programs(programs::Options),
    /// Make the picture of a terminal in the README anew
    Picture(picture::Options),
    /// Run the cases of the example skills inside, install a package for one, open a report
    Skills(skills::Options),
    /// Run a short round of stress-ng inside
    Stress,
    /// See which host calls a sandbox makes, and find rules of the filters that nothing needs
    Surface(surface::Options),
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Ci => ci::run(),
        Command::Setup => setup::run(),
        Command::Check => check::run(),
        Command::Deny => deny::run(),
        Command::Dist(options) => dist::run(&options),
        Command::Docs => docs::run(),
        Command::Bench(options) => bench::run(&options),
        Command::Faults(options) => faults::run(&options),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Parallel(options) => parallel::run(&options),
        Command::Hostile(options) => hostile::run(&options),
        Command::Growth(options) => growth::run(&options),
        Command::GuestTests(options) => guest_tests::run(&options),
        Command::Cpython(options) => cpython::run(&options),
        Command::Programs(options) => programs::run(&options),
        Command::Picture(options) => picture::run(&options),
        Command::Skills(options) => skills::run(&options),
        Command::Stress => stress::run(),
        Command::Surface(options) => surface::run(&options),
    }
}
