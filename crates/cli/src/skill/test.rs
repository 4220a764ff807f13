//! `belljar skill test`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use sandbox_spec::Trace;
use skills::cases::{CaseResult, NativeRunner, Runner, read_all, run_case, table};

use super::problem;
use super::runner::{SandboxRunner, StoppableNativeRunner};
use super::scratch::Scratch;
use crate::failure::Failure;
use crate::signals::Signals;
use crate::{backends, output};

/// Options of `skill test`.
#[derive(Args)]
pub struct Options {
    /// The skill: a folder or an archive
    path: PathBuf,
    /// Run the cases without a sandbox; only for skills that you trust
    #[arg(long)]
    native: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// What runs the sandbox
    #[arg(long, value_name = "NAME", default_value = backends::DEFAULT)]
    backend: String,
}

/// Runs every case and prints a table. Ends with 1 if one does not hold.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let signals = Signals::take_over()?;
    let _scratch = Scratch::new()?;
    let skill = problem::load(&options.path)?;
    let runner: Box<dyn Runner + '_> = if options.native {
        Box::new(StoppableNativeRunner { native: NativeRunner::default(), signals: &signals })
    } else {
        let backend = backends::choose(&options.backend)?;
        Box::new(SandboxRunner { backend, signals: &signals, trace: Trace::Off })
    };
    let mut results: Vec<CaseResult> = Vec::new();
    for (cases, findings) in read_all(&skill) {
        if let Some(finding) = findings.first() {
            let place = &finding.place;
            return Err(Failure::new(format!("{}:{}: {}", place.file, place.line, finding.what)));
        }
        for case in &cases {
            signals.check()?;
            results.push(run_case(&skill, case, runner.as_ref()));
        }
    }
    signals.check()?;
    if results.is_empty() {
        return Err(Failure::new("the skill has no test cases")
            .hint("write them in tests/*.yaml beside SKILL.md"));
    }
    if options.json {
        output::print_json(&results)?;
    } else {
        output::print(&table(&results))?;
    }
    let passed = results.iter().all(CaseResult::is_passed);
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
