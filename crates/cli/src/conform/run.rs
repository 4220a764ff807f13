//! `belljar conform run`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use conformance::launcher::Launcher;
use conformance::reasons::{Reasons, Verdicts};
use conformance::report::{figures, rate, summarize};
use conformance::results::{ProgramResult, Results};
use conformance::suite::{self, Plan};
use sandbox_spec::parse_duration;

use super::{belljar, cannot};
use crate::failure::Failure;
use crate::output;

/// Options of `conform run`.
#[derive(Args)]
pub struct Options {
    /// Folder with the test programs
    #[arg(long, value_name = "DIR")]
    tests: PathBuf,
    /// Only programs whose name contains this
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// How many programs run at one time
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// How long one case may take
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    case_timeout: Duration,
    /// Where the results go
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Where the output of failing cases goes
    #[arg(long, value_name = "DIR")]
    logs: Option<PathBuf>,
    /// Record which system calls each program exercises (needs strace)
    #[arg(long)]
    record_calls: bool,
    /// Known failures, in lines `program case: reason`: any other failure, and a line that is not
    /// needed, ends with 1
    #[arg(long, value_name = "FILE")]
    exceptions: Option<PathBuf>,
    /// A command in front of the native runs, in words
    #[arg(long, value_name = "COMMAND")]
    native_prefix: Option<String>,
    /// Earlier results: programs in them do not run natively again
    #[arg(long, value_name = "FILE")]
    native_from: Option<PathBuf>,
    /// A further option of `belljar run` for the runs inside
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    sandbox_option: Vec<String>,
}

/// Runs the programs; says how each went on standard error, and the sum on standard output.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let exceptions = match &options.exceptions {
        Some(path) => Some(Reasons::load(path).map_err(|error| Failure::new(error.to_string()))?),
        None => None,
    };
    let folder =
        std::path::absolute(&options.tests).map_err(cannot("find the folder of the tests"))?;
    let native = match &options.native_prefix {
        Some(words) => Launcher::prefix(words.split_whitespace()),
        None => Launcher::native(),
    };
    let known_natively = match &options.native_from {
        Some(path) => Some(Results::load(path).map_err(|error| Failure::new(error.to_string()))?),
        None => None,
    };
    let plan = Plan {
        known_natively,
        inside: Launcher::belljar(belljar()?, &folder, &options.sandbox_option),
        native,
        folder,
        filter: options.filter.clone(),
        jobs: options.jobs,
        case_timeout: options.case_timeout,
        logs: options.logs.clone(),
        record_calls: options.record_calls,
        only_calls: None,
    };
    let results = suite::run(&plan, &progress).map_err(cannot("run the tests"))?;
    if let Some(path) = &options.out {
        results.save(path).map_err(|error| Failure::new(error.to_string()))?;
    }
    output::print(&figures(&summarize(&results, &[])))?;
    match exceptions {
        Some(exceptions) => judge(&exceptions.judge(&results)),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Says how a program went.
pub(super) fn progress(program: &ProgramResult) {
    let rate = rate(program);
    eprintln!("{:<40} {:>5} of {:>5}", program.name, rate.passed, rate.counted);
}

fn judge(verdicts: &Verdicts) -> Result<ExitCode, Failure> {
    for name in &verdicts.unexpected {
        output::print(&format!("FAILED {name}\n"))?;
    }
    for name in &verdicts.stale {
        output::print(&format!("FAILED {name}: it passes, or is not there; take its line away\n"))?;
    }
    let Verdicts { passed, known, not_counted, .. } = verdicts;
    output::print(&format!(
        "{passed} passed, {} failed, {known} known failures, {not_counted} not counted\n",
        verdicts.unexpected.len() + verdicts.stale.len()
    ))?;
    Ok(if verdicts.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
