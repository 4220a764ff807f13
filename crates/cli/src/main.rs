//! `belljar`: runs agent skills, and any Linux program, in a sandbox with its own kernel.
//!
//! One file per subcommand, which holds its options and what it does. The guest's output and exit
//! code are the guest's; what we have to say goes to standard error through [`failure`].

#![forbid(unsafe_code)]

#[macro_use]
mod speak;

mod backends;
mod blocked;
mod completions;
mod conform;
mod diff;
mod doctor;
mod failure;
mod git_identity;
mod hints;
mod keyboard;
mod launch;
mod masks;
mod options;
mod output;
mod probe;
mod project;
mod report;
mod run;
mod shell;
mod signal_names;
mod signals;
mod skill;
mod syscalls;
mod toolchains;
mod usage;
mod user_terminal;
mod work;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Runs agent skills, and any Linux program, in a sandbox with its own kernel.
#[derive(Parser)]
#[command(name = "belljar", version = env!("BELLJAR_VERSION"), about, propagate_version = true)]
#[command(after_help = "Exit codes of `run`: the program's own; 128+n if signal n killed it; \
    124 after a time-out; 125 if the sandbox could not start or broke; 126 if the program cannot \
    be executed; 127 if it was not found.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a program
    Run(run::Options),
    /// Show what a run creates, changes and removes
    Diff(diff::Options),
    /// Open an interactive shell inside
    Shell(shell::Options),
    /// Check, show, pack, run and test Agent Skills
    Skill(skill::Options),
    /// Write back, or throw away, what a run kept aside
    Apply(skill::apply::Options),
    /// Measure the sandbox against Linux
    Conform(conform::Options),
    /// Show which system calls are supported, and how well
    Syscalls(syscalls::Options),
    /// Show what this host offers, and which boundary is in force
    Doctor(doctor::Options),
    /// Print a script that completes commands and options in a shell
    Completions(completions::Options),
    /// Write the manual pages (used to pack releases)
    #[command(hide = true)]
    Manual(completions::ManualOptions),
    /// Try one host feature in this process (used by `doctor`)
    #[command(hide = true)]
    Probe(probe::Options),
}

/// The options of `run` alone.
#[derive(Parser)]
struct OnlyRun {
    #[command(flatten)]
    options: run::Options,
}

/// `run` is what matters how soon it starts, and most of the time for putting the commands together
/// goes to the others. Whatever is not a plain `run` is understood, or told to be wrong, by all.
fn parse() -> Result<Cli, clap::Error> {
    let is_run = std::env::args_os().nth(1).is_some_and(|first| first == "run");
    match is_run.then(|| OnlyRun::try_parse_from(std::env::args_os().skip(1))) {
        Some(Ok(only)) => Ok(Cli { command: Command::Run(only.options) }),
        _ => Cli::try_parse(),
    }
}

fn main() -> ExitCode {
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => return usage::tell(&error, &Cli::command()),
    };
    let outcome = match cli.command {
        Command::Run(options) => run::run(options),
        Command::Diff(options) => diff::run(options),
        Command::Shell(options) => shell::run(options),
        Command::Skill(options) => skill::run(options),
        Command::Apply(options) => skill::apply::run(&options),
        Command::Conform(options) => conform::run(&options),
        Command::Syscalls(options) => syscalls::run(&options),
        Command::Doctor(options) => doctor::run(&options),
        Command::Completions(options) => completions::run(&options, Cli::command()),
        Command::Manual(options) => completions::write_manual(&options, Cli::command()),
        Command::Probe(options) => Ok(probe::run(&options)),
    };
    outcome.unwrap_or_else(|failure| failure.report())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_declared_consistently() {
        super::Cli::command().debug_assert();
    }
}
