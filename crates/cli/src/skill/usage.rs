//! What a skill asks of the kernel, found by running its test cases in a traced sandbox.

use std::path::Path;

use conformance::trace::Calls;
use conformance::usage::{Kind, RunCase, Usage};
use sandbox_spec::Trace;
use skills::cases::{Case, Verdict, read_all, run_case};
use skills::{Skill, find_scripts, printable};

use super::problem;
use super::runner::SandboxRunner;
use crate::backends;
use crate::failure::Failure;
use crate::signals::Signals;

/// Runs the cases of a skill inside. One that brings none has each of its scripts started for its
/// help, which is less, and is told by the names of the cases.
pub fn of_skill(path: &Path, signals: &Signals) -> Result<Usage, Failure> {
    let skill = problem::load(path)?;
    let name = skill.name().to_owned();
    let cases = cases(&skill)?;
    if cases.is_empty() {
        return Ok(Usage::not_run(Kind::Skill, name, "it has neither test cases nor scripts"));
    }
    let trace = tempfile::NamedTempFile::new()
        .map_err(|error| Failure::new(format!("cannot make a file for the trace: {error}")))?;
    let runner = SandboxRunner {
        backend: backends::choose(backends::DEFAULT)?,
        signals,
        trace: Trace::File(trace.path().to_owned()),
    };
    let mut usage = Usage::not_run(Kind::Skill, name, "");
    for case in &cases {
        signals.check()?;
        let result = run_case(&skill, case, &runner);
        let reason = match result.verdict {
            Verdict::Passed => String::new(),
            Verdict::Broken { reason } => reason,
            Verdict::Failed { mismatches } => {
                mismatches.first().map_or_else(String::new, |first| {
                    format!("{}: {} instead of {}", first.what, first.actual, first.expected)
                })
            }
        };
        let passed = reason.is_empty();
        usage.cases.push(RunCase { name: case.name.clone(), passed, reason: printable(&reason) });
        let calls = Calls::read(trace.path())
            .map_err(|error| Failure::new(format!("cannot read the trace: {error}")))?;
        usage.inside.merge(&calls);
    }
    Ok(usage)
}

fn cases(skill: &Skill) -> Result<Vec<Case>, Failure> {
    let mut all = Vec::new();
    for (cases, findings) in read_all(skill) {
        if let Some(finding) = findings.first() {
            let place = &finding.place;
            return Err(Failure::new(format!("{}:{}: {}", place.file, place.line, finding.what)));
        }
        all.extend(cases);
    }
    if all.is_empty() {
        let scripts = find_scripts(skill).into_iter().filter(|script| script.is_entry);
        all.extend(scripts.map(|script| Case {
            name: format!("{} --help", script.path),
            script: Some(script.path),
            args: vec!["--help".to_owned()],
            ..Case::default()
        }));
    }
    Ok(all)
}
