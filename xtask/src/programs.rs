//! `cargo xtask programs`: real programs, natively and inside, with the same input in equal
//! folders. Their output, their exit codes and the files they leave must be equal.
//!
//! The cases are data in `tests/programs/*.toml`; see [`case::Case`] for what one can say.

mod case;
mod compare;
mod interpreters;
mod runner;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, bail};
use clap::Args;

use crate::command::build_belljar;
use runner::{Outcome, Verdict};

/// Options of `programs`.
#[derive(Args)]
pub struct Options {
    /// Only cases whose name contains this
    filter: Option<String>,
    /// Use this program instead of building one
    #[arg(long, value_name = "PATH")]
    belljar: Option<PathBuf>,
    /// Only check that the cases pass natively
    #[arg(long)]
    native: bool,
    /// How many cases run at one time
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Fail when something that a case needs is missing, instead of skipping it
    #[arg(long)]
    no_skips: bool,
    /// Print the names of the cases and run none
    #[arg(long)]
    list: bool,
}

/// Runs every case and prints a line for each.
pub fn run(options: &Options) -> Result<()> {
    let mut cases = case::load()?;
    if let Some(filter) = &options.filter {
        cases.retain(|case| case.full_name().contains(filter));
    }
    if options.native {
        cases.retain(|case| !case.inside_only);
    }
    if options.list {
        for case in &cases {
            println!("{}", case.full_name());
        }
        return Ok(());
    }
    let belljar = match (&options.belljar, options.native) {
        (_, true) => None,
        (Some(path), false) => Some(std::path::absolute(path)?),
        (None, false) => Some(build_belljar()?),
    };
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = runner::run(case, belljar.as_deref());
                    print(&outcome);
                    if let Ok(mut all) = outcomes.lock() {
                        all.push(outcome.verdict);
                    }
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap_or_default();
    finish(&outcomes, options.no_skips)
}

fn print(outcome: &Outcome) {
    let name = &outcome.name;
    let times = match outcome.times {
        Some((native, Some(inside))) => {
            format!("{:>8.2} s native {:>8.2} s inside", native.as_secs_f64(), inside.as_secs_f64())
        }
        Some((native, None)) => format!("{:>8.2} s native", native.as_secs_f64()),
        None => String::new(),
    };
    match &outcome.verdict {
        Verdict::Passed => println!("ok      {name:<44} {times}"),
        Verdict::Skipped(why) => test_skips::skip(&format!("program {name}"), why),
        Verdict::Failed(why) => {
            let why = why.trim_end().replace('\n', "\n        ");
            println!("FAILED  {name:<44} {times}\n        {why}");
        }
    }
}

fn finish(verdicts: &[Verdict], no_skips: bool) -> Result<()> {
    let count = |wanted: fn(&Verdict) -> bool| verdicts.iter().filter(|it| wanted(it)).count();
    let passed = count(|it| matches!(it, Verdict::Passed));
    let failed = count(|it| matches!(it, Verdict::Failed(_)));
    let skipped = count(|it| matches!(it, Verdict::Skipped(_)));
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed > 0 {
        bail!("{failed} programs behave differently");
    }
    if no_skips && skipped > 0 {
        bail!("{skipped} cases were skipped: run `cargo xtask setup`");
    }
    Ok(())
}
