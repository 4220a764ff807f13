//! One module on one side.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use conformance::process;

use super::PYTHON;
use crate::command::project;

/// When a module counts as hanging.
const PATIENCE: Duration = Duration::from_secs(900);
/// Who runs the tests, on both sides: nobody special.
const USER: u32 = 1000;

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Skipped,
    Failed,
    /// It began, and nothing more was heard of it.
    Unfinished,
}

/// What a run of a module has shown.
#[derive(Default)]
pub struct Outcomes {
    /// By the tests' full names.
    pub tests: BTreeMap<String, Outcome>,
    /// Whether the run came to its end.
    pub is_finished: bool,
    pub wall_time: Duration,
}

/// A side, and where what is said goes.
pub struct Place<'a> {
    /// `None` for the native side.
    pub belljar: Option<&'a Path>,
    pub logs: &'a Path,
}

impl Place<'_> {
    /// Runs a module, or some tests of it.
    pub fn run(&self, module: &str, tests: &[String]) -> Result<Outcomes> {
        let folder = tempfile::Builder::new().prefix("belljar-cpython-").tempdir()?;
        let driver = folder.path().join("driver.py");
        std::fs::copy(project().join("tests/cpython/driver.py"), &driver)?;
        let results = folder.path().join("results");
        let mut command = self.command(folder.path())?;
        command.arg(PYTHON).arg(&driver).arg(&results).arg(module).args(tests);
        let finished = process::run(&mut command, b"", PATIENCE).context("cannot run the tests")?;
        let side = if self.belljar.is_some() { "inside" } else { "native" };
        let attempt = if tests.is_empty() { "" } else { "-again" };
        let log = self.logs.join(format!("{module}-{side}{attempt}.txt"));
        std::fs::write(log, [finished.output, finished.errors].concat())?;
        let text = std::fs::read_to_string(&results).unwrap_or_default();
        Ok(Outcomes { wall_time: finished.wall_time, ..read(&text) })
    }

    /// What runs a program in `folder` on this side.
    fn command(&self, folder: &Path) -> Result<Command> {
        let environment = [
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into()),
            ("HOME", folder.as_os_str().to_owned()),
            ("USER", "user".into()),
            ("LOGNAME", "user".into()),
            ("SHELL", "/bin/sh".into()),
            ("LANG", "C.UTF-8".into()),
        ];
        // Whoever is started in the background ignores the keys' signals, which tests send themselves.
        let mut command = Command::new("env");
        command.arg("--default-signal");
        if let Some(belljar) = self.belljar {
            command.arg(belljar).args(["run", "--no-cwd"]);
            command.arg(format!("--mount={0}:{0}:rw", folder.display()));
            command.arg("--cwd").arg(folder);
            command.arg(format!("--env=HOME={}", folder.display())).arg("--");
        } else {
            command.current_dir(folder).env_clear().envs(environment);
            if rustix::process::geteuid().is_root() {
                std::os::unix::fs::chown(folder, Some(USER), Some(USER))?;
                command.uid(USER).gid(USER);
            }
        }
        Ok(command)
    }
}

/// Reads what the driver wrote. Of several words about a test the worst counts.
fn read(text: &str) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for (word, name) in text.lines().filter_map(|line| line.split_once('\t')) {
        let outcome = match word {
            "passed" => Outcome::Passed,
            "skipped" => Outcome::Skipped,
            "started" => Outcome::Unfinished,
            "finished" => {
                outcomes.is_finished = true;
                continue;
            }
            _ => Outcome::Failed,
        };
        let known = outcomes.tests.entry(name.to_owned()).or_insert(outcome);
        if *known != Outcome::Failed {
            *known = outcome;
        }
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_failed_in_part_has_failed() {
        let outcomes =
            read("started\ta\nfailed\ta\npassed\ta\nstarted\tb\nskipped\tb\nstarted\tc\n");
        assert_eq!(outcomes.tests["a"], Outcome::Failed);
        assert_eq!(outcomes.tests["b"], Outcome::Skipped);
        assert_eq!(outcomes.tests["c"], Outcome::Unfinished);
        assert!(!outcomes.is_finished);
    }
}
