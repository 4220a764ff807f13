//! `cargo xtask guest-tests`: our own test programs through `belljar conform run`.
//!
//! Every case that Linux passes has to pass inside, except for those in
//! `guest-tests/exceptions.txt`, each with its reason. That list may only shrink: an entry that
//! is not needed is an error too, and a house rule knows how long it may be.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;
use conformance::protocol::Verdict;
use conformance::results::Results;

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

/// Builds the tests and runs them.
pub fn run(options: &Options) -> Result<()> {
    let tests = project().join("target/guest-tests");
    let source = project().join("guest-tests");
    succeed(Command::new(source.join("build")).arg(&tests))?;
    if options.native {
        return succeed(Command::new(source.join("run")).arg(&tests).args(&options.filter));
    }
    let belljar = match &options.belljar {
        Some(path) => std::path::absolute(path)?,
        None => build_belljar()?,
    };
    let logs = project().join("target/guest-tests-logs");
    let mut command = Command::new(belljar);
    command.args(["conform", "run", "--jobs", &options.jobs.to_string()]);
    command.arg("--tests").arg(&tests).arg("--logs").arg(&logs);
    command.arg("--exceptions").arg(source.join("exceptions.txt"));
    let out = tempfile::NamedTempFile::new()?;
    command.arg("--out").arg(out.path());
    if let Some(filter) = &options.filter {
        command.args(["--filter", filter]);
    }
    // What root can do natively, the guest's root is asked to do inside.
    if std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
        command.args(["--sandbox-option", "--user=root"]);
    }
    succeed(&mut command)
        .with_context(|| format!("the output of failing tests is in {}", logs.display()))?;
    tell_skips(&Results::load(out.path())?);
    Ok(())
}

/// A case that Linux itself skips or fails here was not compared with anything.
fn tell_skips(results: &Results) {
    for program in &results.programs {
        for case in program.cases.iter().filter(|case| !case.counts()) {
            let name = format!("guest {} {}", program.name, case.name);
            let name = name.trim_end();
            match case.native {
                Verdict::Skipped => test_skips::skip(name, "Linux skips it on this machine"),
                // It ran, and was compared with what Linux does at times.
                _ if case.flaky_natively => println!("not judged: {name}: fails natively at times"),
                _ => test_skips::skip(name, "Linux fails it on this machine"),
            }
        }
    }
}
