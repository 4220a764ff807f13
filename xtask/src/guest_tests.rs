//! `cargo xtask guest-tests`: our own test programs through `belljar conform run`.
//!
//! Every case that Linux passes has to pass inside, except for those in
//! `guest-tests/exceptions.txt`, each with its reason. That list may only shrink: an entry that
//! is not needed is an error too, and a house rule knows how long it may be.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
    tell_skips(&tests, &Results::load(out.path())?);
    Ok(())
}

/// How often a case that Linux fails is tried once more.
const NATIVE_TRIES: u32 = 5;

/// A case that Linux itself skips or fails here was not compared with anything.
fn tell_skips(tests: &Path, results: &Results) {
    for program in &results.programs {
        for case in program.cases.iter().filter(|case| !case.counts()) {
            let name = format!("guest {} {}", program.name, case.name);
            let name = name.trim_end();
            // One that passes at times says nothing about the machine, and nothing about us.
            let is_flaky = || (0..NATIVE_TRIES).any(|_| passes(tests, &program.name, &case.name));
            match case.native {
                Verdict::Skipped => test_skips::skip(name, "Linux skips it on this machine"),
                _ if case.flaky_natively || is_flaky() => {
                    println!("not judged: {name}: fails natively at times");
                }
                _ => test_skips::skip(name, "Linux fails it on this machine"),
            }
        }
    }
}

/// Whether a case passes natively, this time.
fn passes(tests: &Path, program: &str, case: &str) -> bool {
    let output = Command::new(tests.join(program)).stdin(Stdio::null()).output();
    output.is_ok_and(|output| says_passed(&String::from_utf8_lossy(&output.stdout), case))
}

fn says_passed(output: &str, case: &str) -> bool {
    let passed = |line: &str| {
        let (_, name) = line.strip_prefix("ok ")?.split_once(" - ")?;
        Some(name == case)
    };
    output.lines().any(|line| passed(line) == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_is_skipped_has_not_passed() {
        let output = "1..3\nok 1 - first\nnot ok 2 - second # x\nok 3 - third # SKIP why\n";
        assert!(says_passed(output, "first"));
        assert!(!says_passed(output, "second") && !says_passed(output, "third"));
    }
}
