//! `cargo xtask ci`: everything, in the order in which it is most likely to fail.

use std::process::Command;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;

use crate::command::succeed;
use crate::{
    check, cpython, deny, dist, faults, fuzz, guest_tests, hostile, parallel, programs, setup,
    skills, skips, stress, surface,
};

/// Gives a subcommand its options without a command line.
#[derive(Parser)]
struct With<T: clap::Args> {
    #[command(flatten)]
    options: T,
}

fn options<T: clap::Args>(arguments: &[&str]) -> T {
    With::<T>::parse_from(std::iter::once(&"ci").chain(arguments)).options
}

/// One step of CI.
type Step = fn() -> Result<()>;

/// One of our own commands, with a single CPU for all that it starts.
fn on_one_cpu(arguments: &[&str]) -> Result<()> {
    let program = std::env::current_exe()?;
    succeed(Command::new("taskset").args(["-c", "0"]).arg(program).args(arguments))
}

/// Runs every step in a process of its own, whose tests note what they skip, and then says what
/// that was.
pub fn run() -> Result<()> {
    if std::env::var_os(test_skips::FILE_VARIABLE).is_some() {
        return run_steps();
    }
    skips::judge_command(Command::new(std::env::current_exe()?).arg("ci"), &skips::allowed()?)
}

/// Runs every step, says how long each took, and fails if any failed.
fn run_steps() -> Result<()> {
    let steps: [(&str, Step); 16] = [
        ("setup", setup::run),
        ("check", check::run),
        ("dependencies", deny::run),
        ("guest tests", || guest_tests::run(&options(&["--jobs", "2"]))),
        // There, guests and kernel take turns: ADR 21.
        ("guest tests on one CPU", || on_one_cpu(&["guest-tests"])),
        ("programs", || programs::run(&options(&["--jobs", "2"]))),
        ("CPython's tests, quick", || cpython::run(&options(&[]))),
        ("example skills", || skills::run(&options(&[]))),
        ("packages of a release", || dist::run(&options(&["--try"]))),
        ("stress", stress::run),
        ("rules of the filters", || surface::run(&options(&[]))),
        ("hostile guests", || hostile::run(&options(&["--jobs", "4"]))),
        ("faults", || faults::run(&options(&["--rounds", "25", "--jobs", "4"]))),
        ("calls of a real guest", || fuzz::run(&options(&["--jobs", "2"]))),
        ("parallel sandboxes", || parallel::run(&options(&[]))),
        ("bench, short", || crate::bench::run(&options(&["--short"]))),
    ];
    let mut failed = Vec::new();
    for (name, step) in steps {
        eprintln!("ci: {name}");
        let started = Instant::now();
        let outcome = step();
        let seconds = started.elapsed().as_secs();
        match outcome {
            Ok(()) => eprintln!("ci: {name} passed after {seconds} s"),
            Err(error) => {
                eprintln!("ci: {name} FAILED after {seconds} s: {error:#}");
                failed.push(name);
            }
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    anyhow::bail!("failed: {}", failed.join(", "))
}
