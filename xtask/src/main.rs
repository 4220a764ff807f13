//! The project's own commands, called as `cargo xtask COMMAND`.
//!
//! One file per command. CI runs nothing that is not here.

#![forbid(unsafe_code)]

mod bench;
mod command;
mod guest_tests;
mod programs;

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
    /// Measure the sandbox against native, and others
    Bench(bench::Options),
    /// Run the guest tests natively and inside, and compare
    GuestTests(guest_tests::Options),
    /// Run real programs natively and inside, and compare
    Programs(programs::Options),
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
        Command::Bench(options) => bench::run(&options),
        Command::GuestTests(options) => guest_tests::run(&options),
        Command::Programs(options) => programs::run(&options),
    }
}
