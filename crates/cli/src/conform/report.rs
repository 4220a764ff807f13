//! `belljar conform report`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use conformance::matrix::{Row, matrix};
use conformance::reasons::Reasons;
use conformance::report::{self, Summary, overview, summarize};
use conformance::results::{Results, ResultsError};
use serde::Serialize;

use crate::failure::Failure;
use crate::output;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Markdown,
    Html,
    Json,
}

/// Options of `conform report`.
#[derive(Args)]
pub struct Options {
    /// The results
    results: PathBuf,
    /// Folder with earlier results
    #[arg(long, value_name = "DIR")]
    history: Option<PathBuf>,
    /// Shape of the report
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Known failures, in lines `program case: reason`
    #[arg(long, value_name = "FILE")]
    reasons: Option<PathBuf>,
    /// End with 1 if fewer percent of the cases pass
    #[arg(long, value_name = "PERCENT")]
    fail_under: Option<f64>,
}

/// The report as data.
#[derive(Serialize)]
struct Data {
    #[serde(flatten)]
    summary: Summary,
    system_calls: Vec<Row>,
}

/// Prints the report.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let failure = |error: ResultsError| Failure::new(error.to_string());
    let results = Results::load(&options.results).map_err(failure)?;
    let earlier = match &options.history {
        Some(folder) => report::load_history(folder).map_err(failure)?,
        None => Vec::new(),
    };
    let reasons = match &options.reasons {
        Some(path) => Reasons::load(path).map_err(|error| Failure::new(error.to_string()))?,
        None => Reasons::default(),
    };
    // The history may hold the results themselves.
    let earlier: Vec<_> = earlier.into_iter().filter(|other| *other != results).collect();
    let summary = summarize(&results, &earlier);
    let percent = summary.total.percent().unwrap_or(0.0);
    let page = overview(&results, &summary, &reasons);
    match options.format {
        Format::Text => output::print(&page.to_text())?,
        Format::Markdown => output::print(&page.to_markdown())?,
        Format::Html => output::print(&page.to_html())?,
        Format::Json => output::print_json(&Data { system_calls: matrix(&results), summary })?,
    }
    match options.fail_under {
        Some(least) if percent < least => {
            Err(Failure::new(format!("{percent:.1} % of the cases pass, less than {least} %")))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}
