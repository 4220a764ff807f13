//! `belljar skill test`: the cases that a skill brings.

use std::cell::RefCell;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use sandbox_spec::Trace;
use skills::cases::{Case, CaseResult, NativeRunner, Runner, read_all, run_case_with, table};
use skills::policy::Consent;
use skills::{RunOptions, Skill, WorkFolder};

use super::environment::EnvironmentOptions;
use super::permissions::{self, PermissionOptions};
use super::problem;
use super::runner::{HoldingRunner, LearningRunner, SandboxRunner, StoppableNativeRunner};
use super::scratch::Scratch;
use crate::failure::Failure;
use crate::signals::Signals;
use crate::{backends, output};

/// Options of `skill test`.
#[derive(Args)]
pub struct Options {
    /// The skill: a folder or an archive
    path: PathBuf,
    /// Run every case without a sandbox as well; only for skills that you trust
    #[arg(long, conflicts_with = "learned")]
    native: bool,
    /// Run every case so many times (once), and then under the policy that was learned from those
    #[arg(
        long,
        value_name = "RUNS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1",
        value_parser = clap::value_parser!(u8).range(1..)
    )]
    learned: Option<u8>,
    /// Only cases whose names contain this
    #[arg(long, value_name = "TEXT")]
    case: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// What runs the sandbox
    #[arg(long, value_name = "NAME", default_value = backends::DEFAULT)]
    backend: String,
    #[command(flatten)]
    environment: EnvironmentOptions,
    #[command(flatten)]
    permissions: PermissionOptions,
}

/// Runs every case and prints a table. Ends with 1 if one does not hold.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let signals = Signals::take_over()?;
    let _scratch = Scratch::new()?;
    let skill = problem::load(&options.path)?;
    let cases = cases(&skill, options)?;
    let backend = backends::choose(&options.backend)?;
    let environment = options.environment.prepare(&skill, &*backend, &signals)?;
    let mut run_options = RunOptions::new(WorkFolder::Empty);
    run_options.user_policy = options.permissions.user_policy()?;
    run_options.host_env = permissions::host_environment();
    if options.permissions.yes {
        run_options.consent = Consent::Given;
    }
    environment.apply(&mut run_options);
    let inside = SandboxRunner { backend, signals: &signals, trace: Trace::Off };
    let native = StoppableNativeRunner { native: NativeRunner::default(), signals: &signals };
    let learning = LearningRunner { inside: &inside, learned: RefCell::default() };
    let holding = HoldingRunner(&learning);
    let runners: Vec<&dyn Runner> = match (options.native, options.learned) {
        (true, _) => vec![&inside, &native],
        (false, None) => vec![&inside],
        (false, Some(runs)) => {
            let learning: &dyn Runner = &learning;
            std::iter::repeat_n(learning, runs.into()).chain([&holding as &dyn Runner]).collect()
        }
    };
    let mut results: Vec<CaseResult> = Vec::new();
    for case in &cases {
        learning.learned.take();
        for runner in &runners {
            signals.check()?;
            let result = run_case_with(&skill, case, *runner, &run_options);
            let is_passed = result.is_passed();
            results.push(result);
            // What failed has taught nothing that it could be held to.
            if options.learned.is_some() && !is_passed {
                break;
            }
        }
    }
    signals.check()?;
    if options.json {
        output::print_json(&results)?;
    } else {
        output::print(&table(&results))?;
    }
    let passed = results.iter().all(CaseResult::is_passed);
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The cases that are wanted. There is at least one.
fn cases(skill: &Skill, options: &Options) -> Result<Vec<Case>, Failure> {
    let mut all = Vec::new();
    for (cases, findings) in read_all(skill) {
        if !findings.is_empty() {
            eprint!("{}", skills::Report::new(findings).to_text());
            return Err(Failure::new("the test cases are not valid")
                .hint("mend what is named above; examples/skills has cases that are"));
        }
        all.extend(cases);
    }
    if all.is_empty() {
        return Err(Failure::new("the skill has no test cases")
            .hint("write them in tests/*.yaml beside SKILL.md"));
    }
    if let Some(text) = &options.case {
        let names: Vec<String> = all.iter().map(|case| case.name.clone()).collect();
        all.retain(|case| case.name.contains(text));
        if all.is_empty() {
            return Err(Failure::new(format!("no case has `{text}` in its name"))
                .hint(format!("the cases are: {}", skills::printable(&names.join(", ")))));
        }
    }
    Ok(all)
}
