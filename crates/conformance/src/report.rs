//! What results say, in figures and as pages.

mod analysis;
mod evaluation;
mod overview;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use crate::groups::Group;
use crate::results::{ProgramResult, Results, ResultsError};

pub use analysis::analysis;
pub use evaluation::evaluation;
pub use overview::overview;

/// How many count, and how many of them are good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// Cases that Linux passes.
    pub counted: usize,
    /// Those that pass inside too.
    pub passed: usize,
}

impl Rate {
    fn add(&mut self, other: Self) {
        self.counted += other.counted;
        self.passed += other.passed;
    }

    /// In percent, or `None` if nothing counts.
    pub fn percent(self) -> Option<f64> {
        if self.counted == 0 {
            return None;
        }
        let (passed, counted) =
            (u32::try_from(self.passed).ok()?, u32::try_from(self.counted).ok()?);
        Some(100.0 * f64::from(passed) / f64::from(counted))
    }
}

impl std::fmt::Display for Rate {
    /// `97.3 %`, or a dash.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.percent() {
            Some(percent) => write!(f, "{percent:.1} %"),
            None => f.write_str("-"),
        }
    }
}

/// A case that changed: of a test program, an interpreter or a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The program.
    pub program: String,
    /// The case.
    pub case: String,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(format!("{} {}", self.program, self.case).trim_end())
    }
}

/// Everything that pages show.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Day of the measurement.
    pub date: String,
    /// All cases.
    pub total: Rate,
    /// By group; groups without programs are left out.
    pub groups: BTreeMap<Group, Rate>,
    /// The plain mean of the groups' rates, since sockets alone have most of the cases.
    pub mean_of_groups: f64,
    /// By program.
    pub programs: BTreeMap<String, Rate>,
    /// Day of the measurement that this one is compared with.
    pub compared_with: Option<String>,
    /// What passes now and did not before.
    pub better: Vec<Change>,
    /// What passed before and does not now.
    pub worse: Vec<Change>,
    /// What fails and was not run before.
    pub new_failures: Vec<Change>,
    /// What was run before and was not now.
    pub not_run_now: Vec<String>,
    /// Rates of earlier measurements, oldest first, this one last.
    pub history: Vec<(String, f64)>,
}

/// The rate of one program.
pub fn rate(program: &ProgramResult) -> Rate {
    Rate {
        counted: program.cases.iter().filter(|case| case.counts()).count(),
        passed: program.cases.iter().filter(|case| case.passes()).count(),
    }
}

/// Sums results up, against earlier ones if there are any (oldest first).
pub fn summarize(results: &Results, earlier: &[Results]) -> Summary {
    let mut summary = Summary { date: results.date.clone(), ..Summary::default() };
    for program in &results.programs {
        let rate = rate(program);
        summary.total.add(rate);
        summary.groups.entry(program.group).or_default().add(rate);
        summary.programs.insert(program.name.clone(), rate);
    }
    let rates: Vec<_> = summary.groups.values().filter_map(|rate| rate.percent()).collect();
    if let Ok(n) = u32::try_from(rates.len().max(1)) {
        summary.mean_of_groups = rates.iter().sum::<f64>() / f64::from(n);
    }
    if let Some(previous) = earlier.last() {
        compare(results, previous, &mut summary);
    }
    for one in earlier.iter().chain([results]) {
        let mut total = Rate::default();
        one.programs.iter().for_each(|program| total.add(rate(program)));
        if let Some(percent) = total.percent() {
            summary.history.push((one.date.clone(), percent));
        }
    }
    summary
}

/// Whether each case that counts passes, by program and case. Interpreters and skills are among
/// them: what they do is as much a promise as what tests do.
fn verdicts(results: &Results) -> BTreeMap<(&str, &str), bool> {
    let tests = results.programs.iter().flat_map(|program| {
        let counted = program.cases.iter().filter(|case| case.counts());
        counted.map(|case| ((program.name.as_str(), case.name.as_str()), case.passes()))
    });
    let used = results.usages.iter().flat_map(|usage| {
        let cases = usage.cases.iter();
        cases.map(|case| ((usage.name.as_str(), case.name.as_str()), case.passed))
    });
    tests.chain(used).collect()
}

fn compare(results: &Results, previous: &Results, summary: &mut Summary) {
    let (before, now) = (verdicts(previous), verdicts(results));
    for ((program, case), passes) in &now {
        let change = || Change { program: (*program).to_owned(), case: (*case).to_owned() };
        match (before.get(&(*program, *case)), passes) {
            (Some(false), true) => summary.better.push(change()),
            (Some(true), false) => summary.worse.push(change()),
            (None, false) => summary.new_failures.push(change()),
            _ => {}
        }
    }
    let names = |all: &BTreeMap<(&str, &str), bool>| -> BTreeSet<String> {
        all.keys().map(|(program, _)| (*program).to_owned()).collect()
    };
    summary.not_run_now = names(&before).difference(&names(&now)).cloned().collect();
    summary.compared_with = Some(previous.date.clone());
}

/// The results of a folder, oldest first.
pub fn load_history(folder: &Path) -> Result<Vec<Results>, ResultsError> {
    let mut all = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            all.push((path.clone(), Results::load(&path)?));
        }
    }
    all.sort_by(|a, b| (&a.1.date, &a.0).cmp(&(&b.1.date, &b.0)));
    Ok(all.into_iter().map(|(_, results)| results).collect())
}

/// The figures alone, for a terminal.
pub fn figures(summary: &Summary) -> String {
    let mut text = String::new();
    let groups = summary.groups.iter().map(|(group, rate)| (group.name(), *rate));
    for (name, rate) in groups.chain([("total", summary.total)]) {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{name:<12} {:>6} of {:>6}  {:>8}",
            rate.passed,
            rate.counted,
            rate.to_string()
        );
    }
    let _ = writeln!(text, "mean of the groups: {:.1} %", summary.mean_of_groups);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Verdict::{Failed, Passed};
    use crate::reasons::Reasons;
    use crate::results::tests::results;
    use crate::usage::{Kind, RunCase, Usage};

    #[test]
    fn says_what_got_better_and_worse() {
        let before = results("2026-01-01", &[Passed, Failed, Passed]);
        let now = results("2026-01-02", &[Passed, Passed, Failed, Failed]);
        let summary = summarize(&now, &[before]);
        assert_eq!((summary.total.counted, summary.total.passed), (4, 2));
        assert_eq!((summary.better[0].case.as_str(), summary.worse[0].case.as_str()), ("1", "2"));
        assert_eq!(summary.new_failures[0].case, "3");
        assert_eq!(summary.history.len(), 2);
        let page = overview(&now, &summary, &Reasons::default());
        assert!(page.to_html().contains("<svg") && page.to_html().contains("pipe_test"));
        assert!(page.to_markdown().contains("| IPC | 2 | 4 | 50.0 % |"));
    }

    #[test]
    fn a_skill_that_broke_is_a_regression_and_stands_first() {
        let usage = |passed| Usage {
            cases: vec![RunCase { name: "case".into(), passed, reason: "exit code 1".into() }],
            ..Usage::not_run(Kind::Skill, "text-tool".into(), "")
        };
        let (mut before, mut now) =
            (results("2026-01-01", &[Passed]), results("2026-01-02", &[Passed]));
        before.usages.push(usage(true));
        now.usages.push(usage(false));
        let summary = summarize(&now, &[before]);
        assert_eq!(summary.worse[0].to_string(), "text-tool case");
        let page = evaluation(&now, &summary).to_markdown();
        let (failure, what_ran) = (page.find("text-tool case"), page.find("## What was run"));
        assert!(failure.is_some() && failure < what_ran, "{page}");
        assert!(analysis(&now).to_markdown().contains("| text-tool | skill |"));
    }
}
