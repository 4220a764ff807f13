//! `belljar skill deps`: what a skill needs, what of it is here, and how to get the rest.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use skills::deps::{Presence, Status, assess, find_needs};
use skills::printable;

use super::inventory::Here;
use super::problem;
use crate::failure::Failure;
use crate::output;

/// Options of `skill deps`.
#[derive(Args)]
pub struct Options {
    /// The skill: a folder, its SKILL.md, or a `.skill` or `.zip` archive
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Look into this virtual environment of Python too
    #[arg(long, value_name = "DIR")]
    venv: Option<PathBuf>,
    /// Look into this node_modules folder too
    #[arg(long, value_name = "DIR")]
    node_modules: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the needs. Ends with 1 if something is missing that the skill cannot do without.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let skill = problem::load(&options.path)?;
    let needs = find_needs(&skill);
    let here = Here::look(&skill, &needs, options.venv.as_deref(), options.node_modules.as_deref());
    let statuses = assess(&needs, &here);
    let is_complete = !statuses.iter().any(is_lacking);
    if options.json {
        output::print_json(&json!({
            "skill": skill.name(),
            "is_complete": is_complete,
            "requirements": needs.requirement_set(),
            "statuses": statuses,
            "needs": needs,
        }))?;
    } else {
        output::print(&text(&statuses))?;
    }
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn is_lacking(status: &Status) -> bool {
    status.presence == Presence::Missing && !status.is_optional
}

fn text(statuses: &[Status]) -> String {
    if statuses.is_empty() {
        return "needs nothing beyond the base system\n".to_owned();
    }
    let width = statuses.iter().map(|status| status.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for status in statuses {
        let word = match (status.presence, status.is_optional) {
            (Presence::Present, _) => "here",
            (Presence::Missing, false) => "MISSING",
            (Presence::Missing, true) => "missing",
            (Presence::Unknown, _) => "unknown",
        };
        let maybe = if status.is_optional { "optional" } else { "" };
        let advice = match status.presence {
            Presence::Present => "",
            Presence::Missing | Presence::Unknown => &status.advice,
        };
        let name = printable(&status.name);
        let advice = printable(advice);
        let line = format!("{word:<7}  {:<7}  {name:width$}  {maybe:<8}  {advice}", status.kind);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let n_missing = statuses.iter().filter(|status| is_lacking(status)).count();
    let last = match n_missing {
        0 => "everything that the skill cannot do without is here".to_owned(),
        n => format!("{n} of {} missing", statuses.len()),
    };
    text + &last + "\n"
}
