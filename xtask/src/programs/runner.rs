//! Running one case on both sides.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use conformance::process::{self, Ending, Finished};

use super::case::{self, Case};
use super::compare;
use crate::command::find_in_path;

/// How a case went.
pub enum Verdict {
    /// Both sides agree.
    Passed,
    /// They do not, or it does not even run natively.
    Failed(String),
    /// Something that it needs is missing.
    Skipped(String),
}

/// How a case went and how long it took.
pub struct Outcome {
    pub name: String,
    pub verdict: Verdict,
    pub times: Option<(Duration, Option<Duration>)>,
}

/// Runs a case natively and, with a `belljar`, inside.
pub fn run(case: &Case, belljar: Option<&Path>) -> Outcome {
    let name = case.full_name();
    if let Some(missing) = missing(case) {
        let verdict = Verdict::Skipped(format!("there is no {missing} here"));
        return Outcome { name, verdict, times: None };
    }
    let mut times = None;
    let verdict = match try_run(case, belljar, &mut times) {
        Ok(verdict) => verdict,
        Err(error) => Verdict::Failed(format!("{error:#}")),
    };
    Outcome { name, verdict, times }
}

/// The first thing that is needed and not there.
fn missing(case: &Case) -> Option<String> {
    let interpreter = case.interpreter.iter().map(|it| it.program.to_string_lossy().into_owned());
    interpreter.chain(case.needs.iter().cloned()).find(|needed| find_in_path(needed).is_none())
}

fn try_run(
    case: &Case,
    belljar: Option<&Path>,
    times: &mut Option<(Duration, Option<Duration>)>,
) -> Result<Verdict> {
    let folder = tempfile::Builder::new().prefix("belljar-program-").tempdir()?;
    let (native, inside) = (folder.path().join("work"), folder.path().join("inside"));
    fill(case, &native)?;
    copy_folder(&native, &inside)?;
    let natively = if case.inside_only {
        None
    } else {
        let mut finished = run_native(case, &native)?;
        if unexpected(case, &finished).is_some() {
            // Linux, too, loses a race inside of a program now and then. Twice is no accident.
            std::fs::remove_dir_all(&native)?;
            fill(case, &native)?;
            finished = run_native(case, &native)?;
        }
        *times = Some((finished.wall_time, None));
        if let Some(why) = unexpected(case, &finished) {
            return Ok(Verdict::Failed(format!("does not pass natively: {why}")));
        }
        Some(finished)
    };
    let Some(belljar) = belljar else { return Ok(Verdict::Passed) };
    let finished = run_inside(case, belljar, &inside, &native)?;
    if let Some((_, inside_time)) = times {
        *inside_time = Some(finished.wall_time);
    }
    if let Some(why) = unexpected(case, &finished) {
        return Ok(Verdict::Failed(why));
    }
    if let Some(wanted) = &case.stderr_contains
        && !String::from_utf8_lossy(&finished.errors).contains(wanted)
    {
        return Ok(Verdict::Failed(format!(
            "`{wanted}` is missing:\n{}",
            end_of(&finished.errors)
        )));
    }
    let Some(natively) = natively else {
        let wanted = case.stdout.as_deref().map(str::as_bytes);
        let difference = wanted.and_then(|it| compare::texts("output", it, &finished.output));
        return Ok(difference.map_or(Verdict::Passed, Verdict::Failed));
    };
    let mut difference = compare::texts("output", &natively.output, &finished.output);
    if case.stderr && difference.is_none() {
        difference = compare::texts("standard error", &natively.errors, &finished.errors);
    }
    if difference.is_none() {
        difference = compare::folders(&native, &inside, &case.ignore)?;
    }
    Ok(match difference {
        Some(difference) => Verdict::Failed(format!("{difference}\n{}", end_of(&finished.errors))),
        None => Verdict::Passed,
    })
}

/// Why this is not how the case should have ended.
fn unexpected(case: &Case, finished: &Finished) -> Option<String> {
    if finished.ending == Ending::Code(case.code) {
        return None;
    }
    Some(format!(
        "ended with {} and not with code {}\n{}{}",
        finished.ending,
        case.code,
        end_of(&finished.output),
        end_of(&finished.errors)
    ))
}

/// How much is shown of what a case has printed when it fails.
const LINES_SHOWN: usize = 30;

/// The last lines, which say most.
fn end_of(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<_> = text.lines().collect();
    lines
        .iter()
        .skip(lines.len().saturating_sub(LINES_SHOWN))
        .map(|line| format!("{line:.300}\n"))
        .collect()
}

/// Makes the folder in which a case runs.
fn fill(case: &Case, folder: &Path) -> Result<()> {
    std::fs::create_dir(folder)?;
    for file in &case.files {
        let source = case::files_folder().join(file);
        std::fs::copy(&source, folder.join(file))
            .with_context(|| format!("cannot copy {}", source.display()))?;
    }
    if let Some((program, arguments)) = case.prepare.split_first() {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder);
        let finished = process::run(&mut command, b"", Duration::from_secs(300))?;
        if finished.ending != Ending::Code(0) {
            bail!("cannot prepare: {}\n{}", finished.ending, end_of(&finished.errors));
        }
    }
    Ok(())
}

/// The environment of both sides: what a sandbox has by default, with the folder as home.
fn environment<'a>(case: &'a Case, folder: &'a Path) -> Vec<(&'a str, String)> {
    let mut environment = vec![
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
        ("HOME", folder.to_string_lossy().into_owned()),
        ("USER", "user".to_owned()),
        ("LOGNAME", "user".to_owned()),
        ("SHELL", "/bin/sh".to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
    ];
    environment.extend(case.env.iter().map(|(name, value)| (name.as_str(), value.clone())));
    environment
}

fn run_native(case: &Case, folder: &Path) -> Result<Finished> {
    let words = case.command();
    let (program, arguments) = words.split_first().context("nothing to run")?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env_clear().envs(environment(case, folder));
    let finished = process::run(&mut command, case.stdin.as_bytes(), case.timeout());
    finished.with_context(|| format!("cannot run {program}"))
}

/// Inside, the folder is at the path that it has natively, so that both print the same paths.
fn run_inside(case: &Case, belljar: &Path, folder: &Path, shown_at: &Path) -> Result<Finished> {
    let mut command = Command::new(belljar);
    command.args(["run", "--no-cwd"]);
    command.arg(format!("--mount={}:{}:rw", folder.display(), shown_at.display()));
    command.arg("--cwd").arg(shown_at);
    if let Some(prefix) = case.interpreter.as_ref().and_then(|it| it.prefix.as_ref()) {
        command.arg(format!("--mount={0}:{0}:ro", prefix.display()));
        if prefix.starts_with("/root") {
            // Nobody else may look into that folder, inside as natively.
            command.arg("--user=root");
        }
    }
    for (name, value) in environment(case, shown_at) {
        command.arg(format!("--env={name}={value}"));
    }
    command.args(&case.options).arg("--").args(case.command());
    process::run(&mut command, case.stdin.as_bytes(), case.timeout()).context("cannot run belljar")
}

/// Copies a folder with everything in it, as `cp -a` does.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status()?;
    if !status.success() {
        bail!("cannot copy {}", from.display());
    }
    Ok(())
}
