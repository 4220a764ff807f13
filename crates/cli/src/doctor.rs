//! `belljar doctor`: what this host offers, found out by trying, and which boundary is in force.

mod checks;
mod project;

use std::fmt::Write;
use std::process::ExitCode;

use clap::Args;
use sandbox::{CapabilityReport, LayerState};
use serde::Serialize;

use crate::failure::Failure;
use crate::{backends, output};
use checks::{Check, Finding};

/// Options of `doctor`.
#[derive(Args)]
pub struct Options {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show what `run` would show of the project that you stand in, and of your tools
    #[arg(long)]
    project: bool,
}

#[derive(Serialize)]
struct Report {
    usable: bool,
    host: Vec<Check>,
    backends: Vec<CapabilityReport>,
}

/// Prints the findings. Ends with 1 if no sandbox can run here.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    if options.project {
        return project::run(options.json);
    }
    let backends: Vec<_> = backends::all().iter().map(|backend| backend.capabilities()).collect();
    let usable = backends.iter().any(CapabilityReport::is_usable);
    let report = Report { usable, host: checks::all(), backends };
    if options.json {
        output::print_json(&report)?;
    } else {
        output::print(&text(&report))?;
    }
    Ok(if usable { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(report: &Report) -> String {
    let mut text = String::from("Host\n");
    for check in &report.host {
        let (mark, words) = match &check.finding {
            Finding::Good { detail } => ("ok", detail.as_str()),
            Finding::Lacking { detail, .. } => ("no", detail.as_str()),
        };
        let line = format!("  {mark:<3} {:<28} {words}", check.name);
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", line.trim_end());
        if let Finding::Lacking { consequence, .. } = &check.finding {
            let _ = writeln!(text, "      {:<28} {consequence}", "");
        }
    }
    for backend in &report.backends {
        let _ = write!(text, "\n{}", backend_text(backend));
    }
    if report.backends.is_empty() {
        text.push_str("\nThis build has no backend.\n");
    }
    text
}

fn backend_text(backend: &CapabilityReport) -> String {
    let verdict = if backend.is_usable() { "works here" } else { "does not work here" };
    let mut text = format!("Backend {}: {verdict}\n", backend.backend);
    for obstacle in &backend.obstacles {
        let _ = writeln!(text, "  no  {obstacle}");
    }
    for layer in &backend.layers {
        let line = match &layer.state {
            LayerState::InForce => format!("  ok  {:<28} in force", layer.layer),
            LayerState::Unavailable(why) => {
                format!("  no  {:<28} not available: {why}", layer.layer)
            }
            LayerState::Unused(why) => format!("  --  {:<28} not used: {why}", layer.layer),
        };
        let _ = writeln!(text, "{line}");
    }
    text
}
