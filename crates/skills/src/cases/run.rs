//! Runs a case: prepares the work folder, asks a runner, compares.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host_sys::beneath::Folder;
use serde::Serialize;
use thiserror::Error;

use super::compare::{Mismatch, compare};
use super::{Case, Input};
use crate::plan::{PlanError, RunOptions, RunPlan, WorkFolder, plan_run};
use crate::skill::{FileKind, Skill};

/// How long a case may take if it does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// What a runner is to do.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// The run. Its work folder is [`RunRequest::work`], read-write.
    pub plan: RunPlan,
    /// What comes from standard input.
    pub stdin: Vec<u8>,
    /// The host's folder behind `/work`. What the run leaves there is compared afterwards.
    pub work: PathBuf,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It took too long and was ended.
    TimedOut,
    /// It wrote too much and was ended.
    OutputFlood,
}

impl fmt::Display for Exit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(out, "exit code {code}"),
            Exit::Signal(number) => write!(out, "ended by signal {number}"),
            Exit::TimedOut => write!(out, "timed out"),
            Exit::OutputFlood => write!(out, "wrote too much"),
        }
    }
}

/// What came out of a run.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// How it ended.
    pub exit: Exit,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// How long it took.
    pub duration: Duration,
}

impl Default for RunOutcome {
    fn default() -> Self {
        Self {
            exit: Exit::Code(0),
            stdout: Vec::new(),
            stderr: Vec::new(),
            duration: Duration::ZERO,
        }
    }
}

/// Why a runner could not run.
#[derive(Debug, Error)]
pub enum RunnerError {
    /// no program of the plan is there
    #[error("{}", no_interpreter(.0))]
    NoInterpreter(Vec<String>),
    /// the host refused
    #[error("cannot start the script")]
    Start(#[from] std::io::Error),
    /// the sandbox refused
    #[error("cannot run in the sandbox")]
    Sandbox(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// the run cannot be planned
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// an input cannot be copied
    #[error("cannot prepare the input {path}")]
    Input {
        /// Which input.
        path: String,
        /// What the host said.
        #[source]
        cause: std::io::Error,
    },
}

fn no_interpreter(tried: &[String]) -> String {
    match tried {
        [program] => format!("there is no `{program}`, which the script is to be run by"),
        many => {
            format!("the script can be run by any of these, and none is there: {}", many.join(", "))
        }
    }
}

/// Something that can run a plan: the sandbox, or the host itself.
pub trait Runner {
    /// A short name for tables, such as `native`.
    fn name(&self) -> &'static str;

    /// Runs and waits for the end.
    fn run(&self, request: &RunRequest) -> Result<RunOutcome, RunnerError>;
}

/// Whether a case holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "verdict")]
pub enum Verdict {
    /// Everything is as it should be.
    Passed,
    /// Something differs.
    Failed {
        /// What differs.
        mismatches: Vec<Mismatch>,
    },
    /// The case could not be run.
    Broken {
        /// Why not.
        reason: String,
    },
}

/// The result of one case.
#[derive(Clone, Debug, Serialize)]
pub struct CaseResult {
    /// The skill's name.
    pub skill: String,
    /// The case's name.
    pub case: String,
    /// The case's file and line.
    pub place: String,
    /// Which runner ran it.
    pub runner: &'static str,
    /// Whether it holds.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// How long it took, in milliseconds.
    pub duration_ms: u128,
}

impl CaseResult {
    /// Whether the case holds.
    pub fn is_passed(&self) -> bool {
        self.verdict == Verdict::Passed
    }
}

/// Runs one case in a fresh work folder and compares.
pub fn run_case(skill: &Skill, case: &Case, runner: &dyn Runner) -> CaseResult {
    run_case_with(skill, case, runner, &RunOptions::new(WorkFolder::Empty))
}

/// Like [`run_case`], with what the user says about the run. Its work folder is the case's.
pub fn run_case_with(
    skill: &Skill,
    case: &Case,
    runner: &dyn Runner,
    options: &RunOptions,
) -> CaseResult {
    let (verdict, duration) = match run_and_compare(skill, case, runner, options) {
        Ok((mismatches, time)) if mismatches.is_empty() => (Verdict::Passed, time),
        Ok((mismatches, time)) => (Verdict::Failed { mismatches }, time),
        Err(error) => (Verdict::Broken { reason: with_causes(&error) }, Duration::ZERO),
    };
    CaseResult {
        skill: skill.name().to_owned(),
        case: case.name.clone(),
        place: format!("{}:{}", case.file, case.line),
        runner: runner.name(),
        verdict,
        duration_ms: duration.as_millis(),
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

fn run_and_compare(
    skill: &Skill,
    case: &Case,
    runner: &dyn Runner,
    options: &RunOptions,
) -> Result<(Vec<Mismatch>, Duration), RunnerError> {
    let folder = tempfile::Builder::new().prefix("belljar-case-").tempdir()?;
    // The folder's own path may hold links; the plan wants the real one.
    let work = folder.path().canonicalize()?;
    for (path, input) in &case.inputs {
        put_input(skill, &work, path, input)
            .map_err(|cause| RunnerError::Input { path: path.clone(), cause })?;
    }
    let mut options = options.clone();
    options.work = WorkFolder::ReadWrite((&work).into());
    options.flags.env.set = case.env.clone();
    options.flags.limits.timeout = Some(case.timeout.unwrap_or(DEFAULT_TIMEOUT));
    let plan = plan_run(skill, case.script.as_deref(), &case.args, &options)?;
    let stdin = case.stdin.clone().unwrap_or_default().into_bytes();
    let outcome = runner.run(&RunRequest { plan, stdin, work: work.clone() })?;
    Ok((compare(case, &outcome, &work), outcome.duration))
}

fn put_input(skill: &Skill, work: &Path, path: &str, input: &Input) -> std::io::Result<()> {
    let work = Folder::at(work)?;
    match input {
        Input::Text(text) => put(&work, Path::new(path), 0o644, text.as_bytes()),
        Input::File(from) => {
            let copy = |from: &str, to: &Path| {
                let held = skill.hold(from)?;
                put(&work, to, held.status.mode & 0o777, held.open()?)
            };
            let is_folder =
                skill.find_file(from).is_some_and(|entry| entry.kind == FileKind::Folder);
            if !is_folder {
                return copy(from, Path::new(path));
            }
            work.ensure_path(Path::new(path), 0o755)?;
            let beneath = format!("{from}/");
            for entry in skill.regular_files() {
                let Some(rest) = entry.path.strip_prefix(&beneath) else { continue };
                copy(&entry.path, &Path::new(path).join(rest))?;
            }
            Ok(())
        }
    }
}

/// Puts a file at a path beneath a folder.
fn put(work: &Folder, path: &Path, mode: u32, bytes: impl std::io::Read) -> std::io::Result<()> {
    let parent = work.ensure_path(path.parent().unwrap_or(Path::new("")), 0o755)?;
    parent.replace(path.file_name().unwrap_or_default(), mode, bytes)
}

/// Renders results as a table, with the details of what failed below.
pub fn table(results: &[CaseResult]) -> String {
    let width = |of: fn(&CaseResult) -> usize| results.iter().map(of).max().unwrap_or(0);
    let skill_width = width(|result| result.skill.chars().count());
    let case_width = width(|result| result.case.chars().count());
    let mut text = String::new();
    for result in results {
        let word = if result.is_passed() { "pass" } else { "FAIL" };
        text.push_str(&format!(
            "{word}  {:skill_width$}  {:case_width$}  {:7}  {:>7} ms\n",
            result.skill, result.case, result.runner, result.duration_ms
        ));
    }
    for result in results {
        match &result.verdict {
            Verdict::Passed => {}
            Verdict::Broken { reason } => {
                text.push_str(&format!(
                    "\n{} ({}, {}): {reason}\n",
                    result.case, result.place, result.runner
                ));
            }
            Verdict::Failed { mismatches } => {
                text.push_str(&format!(
                    "\n{} ({}, {}):\n",
                    result.case, result.place, result.runner
                ));
                for Mismatch { what, expected, actual } in mismatches {
                    text.push_str(&format!(
                        "  {what}\n    expected: {expected}\n    actual:   {actual}\n"
                    ));
                }
            }
        }
    }
    let passed = results.iter().filter(|result| result.is_passed()).count();
    text.push_str(&format!("\n{passed} of {} passed\n", results.len()));
    text
}
