//! `belljar conform nightly`: the whole round in one command.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use conformance::interpreters;
use conformance::launcher::Launcher;
use conformance::page::Page;
use conformance::report::{Summary, analysis, evaluation, load_history, summarize};
use conformance::results::Results;
use conformance::suite::{self, Plan};
use conformance::usage::{Kind, Usage};
use sandbox_spec::{parse_duration, printable_path};

use super::{belljar, cannot, run::progress};
use crate::failure::Failure;
use crate::output;
use crate::signals::Signals;
use crate::skill::scratch::Scratch;
use crate::skill::usage;

/// How long the script of one interpreter may take, traced.
const SCRIPT_TIME: Duration = Duration::from_secs(120);

/// Options of `conform nightly`.
#[derive(Args)]
#[command(after_help = "Writes analysis and evaluation, as .md and .html, to the folder of the \
    pages, and the results to the history. Ends with 1 if something that worked the last time \
    does not work now.")]
pub struct Options {
    /// Folder with the test programs
    #[arg(long, value_name = "DIR")]
    tests: PathBuf,
    /// Folder with skills
    #[arg(long, value_name = "DIR")]
    skills: PathBuf,
    /// Folder with earlier results, to which these are added
    #[arg(long, value_name = "DIR")]
    history: PathBuf,
    /// Where the two pages go [default: the folder of the history]
    #[arg(long, value_name = "DIR")]
    pages: Option<PathBuf>,
    /// Only test programs whose name contains this
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// How many programs run at one time
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// How long one case may take
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    case_timeout: Duration,
    /// Where the output of failing cases goes
    #[arg(long, value_name = "DIR")]
    logs: Option<PathBuf>,
    /// A command in front of the native runs, in words
    #[arg(long, value_name = "COMMAND")]
    native_prefix: Option<String>,
    /// A further option of `belljar run` for the test programs
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    sandbox_option: Vec<String>,
}

/// Runs the round.
pub fn run(options: &Options) -> Result<ExitCode, Failure> {
    std::fs::create_dir_all(&options.history).map_err(cannot("make the folder of the history"))?;
    let earlier =
        load_history(&options.history).map_err(|error| Failure::new(error.to_string()))?;
    eprintln!("interpreters");
    let mut usages = interpreters::run(&belljar()?, SCRIPT_TIME)
        .map_err(cannot("run the scripts of the interpreters"))?;
    usages.iter().for_each(tell);
    eprintln!("skills");
    // Here and not before: what runs natively would inherit the blocked signals.
    let signals = Signals::take_over()?;
    let _scratch = Scratch::new()?;
    for skill in skills_in(&options.skills)? {
        let usage = usage_of(&skill, &signals)?;
        tell(&usage);
        usages.push(usage);
    }
    signals.check()?;
    host_sys::unblock_all_signals().map_err(cannot("let signals through again"))?;
    eprintln!("tests that exercise what they use");
    let mut results = run_tests(options, &usages)?;
    results.usages = usages;
    let summary = summarize(&results, &earlier);
    save(&results, &options.history)?;
    let pages = options.pages.as_ref().unwrap_or(&options.history);
    write(&analysis(&results), pages, "analysis")?;
    write(&evaluation(&results, &summary), pages, "evaluation")?;
    output::print(&text(&summary))?;
    Ok(if summary.worse.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tell(usage: &Usage) {
    let rate = usage.coverage();
    let end = match (usage.not_run.is_empty(), usage.works()) {
        (false, _) => usage.not_run.as_str(),
        (true, true) => "works",
        (true, false) => "DOES NOT WORK",
    };
    eprintln!("{:<40} {:>5} of {:>5} calls fully  {end}", usage.name, rate.passed, rate.counted);
}

/// A skill that cannot be read or planned is told in the pages; it does not end the night.
fn usage_of(skill: &Path, signals: &Signals) -> Result<Usage, Failure> {
    let usage = usage::of_skill(skill, signals);
    signals.check()?;
    Ok(usage.unwrap_or_else(|failure| {
        let name = skill.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Usage::not_run(Kind::Skill, name, failure.message())
    }))
}

/// Folders with a `SKILL.md`, and archives.
fn skills_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for entry in folder.read_dir().map_err(cannot("read the folder of the skills"))? {
        let path = entry.map_err(cannot("read the folder of the skills"))?.path();
        let is_archive =
            path.extension().is_some_and(|extension| extension == "skill" || extension == "zip");
        if is_archive || path.join("SKILL.md").exists() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn run_tests(options: &Options, usages: &[Usage]) -> Result<Results, Failure> {
    let folder =
        std::path::absolute(&options.tests).map_err(cannot("find the folder of the tests"))?;
    let used: BTreeSet<_> =
        usages.iter().flat_map(|usage| usage.calls().0.keys().cloned()).collect();
    let native = match &options.native_prefix {
        Some(words) => Launcher::prefix(words.split_whitespace()),
        None => Launcher::native(),
    };
    let plan = Plan {
        known_natively: None,
        inside: Launcher::belljar(belljar()?, &folder, &options.sandbox_option),
        native,
        folder,
        filter: options.filter.clone(),
        jobs: options.jobs,
        case_timeout: options.case_timeout,
        logs: options.logs.clone(),
        record_calls: true,
        only_calls: Some(used),
    };
    suite::run(&plan, &progress).map_err(cannot("run the tests"))
}

/// Keeps the results under their date. A second round of a day gets a number, and a name that
/// sorts after the first.
fn save(results: &Results, folder: &Path) -> Result<(), Failure> {
    let name = |round: u32| match round {
        1 => format!("{}.json", results.date),
        _ => format!("{}_{round:03}.json", results.date),
    };
    let free = (1..1000).map(|round| folder.join(name(round))).find(|path| !path.exists());
    let path = free.ok_or_else(|| Failure::new("there are too many results of one day"))?;
    results.save(&path).map_err(|error| Failure::new(error.to_string()))
}

fn write(page: &Page, folder: &Path, name: &str) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(cannot("make the folder of the pages"))?;
    for (extension, text) in [("md", page.to_markdown()), ("html", page.to_html())] {
        let path = folder.join(format!("{name}.{extension}"));
        std::fs::write(&path, text).map_err(cannot("write a page"))?;
        eprintln!("wrote {}", printable_path(path));
    }
    Ok(())
}

fn text(summary: &Summary) -> String {
    let mut text = conformance::report::figures(summary);
    let lists = [
        ("WORSE", &summary.worse),
        ("fails, new", &summary.new_failures),
        ("better", &summary.better),
    ];
    for (word, changes) in lists {
        for change in changes {
            text.push_str(&format!("{word}: {change}\n"));
        }
    }
    text
}
