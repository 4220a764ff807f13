//! Scripts that make interpreters do what scripts do, to learn what they ask of the kernel.
//!
//! Each prints what it finds, and must print the same natively and inside.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::process::{self, Ending, Finished};
use crate::trace::{Calls, under_strace};
use crate::usage::{Kind, RunCase, Usage};

/// An interpreter and its script.
struct Workload {
    name: &'static str,
    /// The first that is there is taken.
    programs: &'static [&'static str],
    /// Takes the script as an argument.
    option: &'static str,
    script: &'static str,
}

const WORKLOADS: &[Workload] = &[
    Workload {
        name: "sh",
        programs: &["/bin/sh"],
        option: "-c",
        script: include_str!("../workloads/sh.sh"),
    },
    Workload {
        name: "bash",
        programs: &["/bin/bash", "/usr/bin/bash"],
        option: "-c",
        script: include_str!("../workloads/bash.sh"),
    },
    Workload {
        name: "python3",
        programs: &["/usr/bin/python3", "/usr/local/bin/python3"],
        option: "-c",
        script: include_str!("../workloads/python.py"),
    },
    Workload {
        name: "node",
        programs: &["/usr/bin/node", "/usr/local/bin/node"],
        option: "-e",
        script: include_str!("../workloads/node.js"),
    },
];

/// Nothing of the caller's environment takes part.
const ENVIRONMENT: &[(&str, &str)] =
    &[("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/tmp"), ("LANG", "C.UTF-8")];

/// Runs every interpreter that is here, natively under `strace` and in a sandbox of this program.
pub fn run(belljar: &Path, timeout: Duration) -> io::Result<Vec<Usage>> {
    WORKLOADS.iter().map(|workload| run_one(workload, belljar, timeout)).collect()
}

fn run_one(workload: &Workload, belljar: &Path, timeout: Duration) -> io::Result<Usage> {
    let name = workload.name.to_owned();
    let here = workload.programs.iter().map(PathBuf::from).find(|path| path.exists());
    let Some(program) = here else {
        return Ok(Usage::not_run(Kind::Interpreter, name, "it is not installed here"));
    };
    let trace = tempfile::NamedTempFile::new()?;
    let mut native = under_strace(trace.path());
    native.env_clear().envs(ENVIRONMENT.iter().copied());
    native.arg(&program).args([workload.option, workload.script]);
    let native = match process::run(&mut native, b"", timeout) {
        Ok(finished) => finished,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Usage::not_run(Kind::Interpreter, name, "strace is not installed here"));
        }
        Err(error) => return Err(error),
    };
    let native_calls = Calls::read(trace.path())?;
    let trace = tempfile::NamedTempFile::new()?;
    let mut inside = Command::new(belljar);
    inside.args(["run", "--no-cwd"]).arg(format!("--trace={}", trace.path().display()));
    for (name, value) in ENVIRONMENT {
        inside.arg(format!("--env={name}={value}"));
    }
    inside.arg("--").arg(&program).args([workload.option, workload.script]);
    let inside = process::run(&mut inside, b"", timeout)?;
    let reason = difference(&native, &inside);
    Ok(Usage {
        native: Some(native_calls),
        inside: Calls::read(trace.path())?,
        cases: vec![RunCase {
            name: "script".to_owned(),
            passed: reason.is_none(),
            reason: reason.unwrap_or_default(),
        }],
        ..Usage::not_run(Kind::Interpreter, name, "")
    })
}

/// What differs, if anything does.
fn difference(native: &Finished, inside: &Finished) -> Option<String> {
    if native.ending != Ending::Code(0) {
        return Some(format!("the script does not even run natively: {}", native.ending));
    }
    if inside.ending != native.ending {
        return Some(format!("inside it ended with {}", inside.ending));
    }
    let (native, inside) =
        (String::from_utf8_lossy(&native.output), String::from_utf8_lossy(&inside.output));
    let line = native.lines().zip(inside.lines()).find(|(native, inside)| native != inside);
    match line {
        Some((native, inside)) => Some(format!("`{native}` natively, `{inside}` inside")),
        None if native.lines().count() != inside.lines().count() => {
            Some("it printed more, or less, inside".to_owned())
        }
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_named() {
        let finished = |output: &str, ending| Finished {
            ending,
            output: output.into(),
            errors: Vec::new(),
            wall_time: Duration::ZERO,
        };
        let good = finished("a\nb\n", Ending::Code(0));
        assert_eq!(difference(&good, &good), None);
        let other = finished("a\nc\n", Ending::Code(0));
        assert_eq!(difference(&good, &other).unwrap(), "`b` natively, `c` inside");
        assert!(difference(&good, &finished("a\n", Ending::Code(0))).is_some());
        assert!(difference(&good, &finished("a\nb\n", Ending::TimedOut)).is_some());
        assert!(difference(&other, &finished("", Ending::Code(1))).is_some());
    }
}
