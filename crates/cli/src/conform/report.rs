//! `belljar conform report`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use conformance::report::{self, html, markdown, summarize, text};
use conformance::results::{Results, ResultsError};

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
    /// End with 1 if fewer percent of the cases pass
    #[arg(long, value_name = "PERCENT")]
    fail_under: Option<f64>,
}

/// Prints the report.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let failure = |error: ResultsError| Failure::new(error.to_string());
    let results = Results::load(&options.results).map_err(failure)?;
    let earlier = match &options.history {
        Some(folder) => report::load_history(folder).map_err(failure)?,
        None => Vec::new(),
    };
    // The history may hold the results themselves.
    let earlier: Vec<_> = earlier.into_iter().filter(|other| *other != results).collect();
    let summary = summarize(&results, &earlier);
    match options.format {
        Format::Text => output::print(&text(&summary))?,
        Format::Markdown => output::print(&markdown(&results, &summary))?,
        Format::Html => output::print(&html(&summary))?,
        Format::Json => output::print_json(&summary)?,
    }
    let percent = summary.total.percent().unwrap_or(0.0);
    match options.fail_under {
        Some(least) if percent < least => {
            Err(Failure::new(format!("{percent:.1} % of the cases pass, less than {least} %")))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}
