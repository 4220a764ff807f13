//! `belljar skill deps`: what a skill needs, what of it is here, and how to get the rest.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use sandbox::Backend;
use serde_json::json;
use skills::deps::{Presence, Status, assess, find_needs};
use skills::{Skill, printable};

use super::environment::{Environment, EnvironmentOptions};
use super::inventory::Here;
use super::problem;
use super::scratch::Scratch;
use crate::failure::Failure;
use crate::signals::Signals;
use crate::{backends, output};

/// Options of `skill deps`.
#[derive(Args)]
pub struct Options {
    /// The skill: a folder, its SKILL.md, or a `.skill` or `.zip` archive
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// What runs the sandbox of --install
    #[arg(long, value_name = "NAME", default_value = backends::DEFAULT)]
    backend: String,
    #[command(flatten)]
    environment: EnvironmentOptions,
}

/// Prints the needs. Ends with 1 if something is missing that the skill cannot do without.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    let signals = Signals::take_over()?;
    let _scratch = Scratch::new()?;
    let skill = problem::load(&options.path)?;
    let needs = find_needs(&skill);
    let backend = backends::choose(&options.backend)?;
    let environment = options.environment.prepare(&skill, &*backend, &signals)?;
    let here = Here::look(&skill, &needs, &environment, &*backend);
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

/// The packages that a skill cannot do without and that its runs do not find.
pub fn lacking_packages(
    skill: &Skill,
    environment: &Environment,
    backend: &dyn Backend,
) -> Vec<String> {
    let mut needs = find_needs(skill);
    needs.programs.clear();
    if needs.is_empty() {
        return Vec::new();
    }
    let here = Here::look(skill, &needs, environment, backend);
    assess(&needs, &here).into_iter().filter(is_lacking).map(|status| status.name).collect()
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
