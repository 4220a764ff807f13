//! `cargo xtask guest-tests`: our own test programs, natively and inside.
//!
//! Every case that Linux passes has to pass inside, except for those in
//! `guest-tests/exceptions.txt`, each with its reason. That list may only shrink: an entry that
//! passes is an error too.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use conformance::launcher::Launcher;
use conformance::results::Results;
use conformance::suite::{self, Plan};

use crate::command::{build_belljar, project, succeed};

/// Options of `guest-tests`.
#[derive(Args)]
pub struct Options {
    /// Only programs whose name contains this
    filter: Option<String>,
    /// Use this program instead of building one
    #[arg(long, value_name = "PATH")]
    belljar: Option<PathBuf>,
    /// Only check that the tests pass natively
    #[arg(long)]
    native: bool,
    /// How many programs run at one time
    #[arg(long, default_value_t = 1)]
    jobs: usize,
}

/// `program case`.
type Name = String;

/// Builds the tests and runs them.
pub fn run(options: &Options) -> Result<()> {
    let out = project().join("target/guest-tests");
    succeed(Command::new(project().join("guest-tests/build")).arg(&out))?;
    // What root can do natively, the guest's root is asked to do inside.
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let user = if is_root { vec!["--user=root".to_owned()] } else { Vec::new() };
    let inside = match (&options.belljar, options.native) {
        (_, true) => Launcher::native(),
        (Some(path), false) => Launcher::belljar(std::path::absolute(path)?, &out, &user),
        (None, false) => Launcher::belljar(build_belljar()?, &out, &user),
    };
    let logs = project().join("target/guest-tests-logs");
    let plan = Plan {
        folder: out,
        filter: options.filter.clone(),
        native: Launcher::native(),
        inside,
        jobs: options.jobs,
        case_timeout: Duration::from_secs(60),
        logs: Some(logs.clone()),
        record_calls: false,
    };
    let results = suite::run(&plan, &|program| {
        let rate = conformance::report::rate(program);
        println!("{:<32} {:>4} of {:>4}", program.name, rate.passed, rate.counted);
    })?;
    judge(&results, &exceptions()?, &logs)
}

/// Reads `program case: reason` lines.
fn exceptions() -> Result<BTreeMap<Name, String>> {
    let path = project().join("guest-tests/exceptions.txt");
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let text = std::fs::read_to_string(&path)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, reason) =
                line.split_once(": ").with_context(|| format!("no reason in `{line}`"))?;
            Ok((name.to_owned(), reason.to_owned()))
        })
        .collect()
}

fn judge(results: &Results, exceptions: &BTreeMap<Name, String>, logs: &Path) -> Result<()> {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for program in &results.programs {
        for case in &program.cases {
            let name = format!("{} {}", program.name, case.name);
            match (case.counts(), case.passes(), exceptions.get(&name)) {
                (false, ..) => {
                    println!("skipped  {name}: {:?} natively", case.native);
                    skipped += 1;
                }
                (true, true, None) => passed += 1,
                (true, true, Some(_)) => {
                    println!("FAILED   {name}: passes; take it from the list of exceptions");
                    failed += 1;
                }
                (true, false, Some(reason)) => {
                    println!("expected {name}: {reason}");
                    skipped += 1;
                }
                (true, false, None) => {
                    println!("FAILED   {name}: {:?} inside", case.inside);
                    failed += 1;
                }
            }
        }
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed > 0 {
        bail!("{failed} guest tests failed; their output is in {}", logs.display());
    }
    Ok(())
}
