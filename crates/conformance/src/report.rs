//! Pages made of results.

mod html;
mod markdown;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use crate::groups::Group;
use crate::results::{ProgramResult, Results, ResultsError};

pub use html::html;
pub use markdown::markdown;

/// How many cases count, and how many of them pass.
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

/// `97.3 %`, or a dash.
fn percent(rate: Rate) -> String {
    rate.percent().map_or_else(|| "-".to_owned(), |percent| format!("{percent:.1} %"))
}

/// A case that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The program.
    pub program: String,
    /// The case.
    pub case: String,
}

/// Everything that pages show.
#[derive(Clone, Debug, Serialize)]
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
    /// What passes now and did not before.
    pub better: Vec<Change>,
    /// What passed before and does not now.
    pub worse: Vec<Change>,
    /// Rates of earlier measurements, oldest first, this one last.
    pub history: Vec<(String, f64)>,
    /// Which programs make which system call, where they were traced.
    pub exercised: BTreeMap<String, Vec<String>>,
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
    let mut summary = Summary {
        date: results.date.clone(),
        total: Rate::default(),
        groups: BTreeMap::new(),
        mean_of_groups: 0.0,
        programs: BTreeMap::new(),
        better: Vec::new(),
        worse: Vec::new(),
        history: Vec::new(),
        exercised: BTreeMap::new(),
    };
    for program in &results.programs {
        let rate = rate(program);
        summary.total.add(rate);
        summary.groups.entry(program.group).or_default().add(rate);
        summary.programs.insert(program.name.clone(), rate);
        for call in &program.calls {
            summary.exercised.entry(call.clone()).or_default().push(program.name.clone());
        }
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

fn compare(results: &Results, previous: &Results, summary: &mut Summary) {
    let mut before = BTreeMap::new();
    for program in &previous.programs {
        for case in &program.cases {
            before.insert(
                (program.name.as_str(), case.name.as_str()),
                (case.counts(), case.passes()),
            );
        }
    }
    for program in &results.programs {
        for case in &program.cases {
            let key = (program.name.as_str(), case.name.as_str());
            let Some((true, passed)) = before.get(&key) else { continue };
            let change = || Change { program: program.name.clone(), case: case.name.clone() };
            match (passed, case.counts(), case.passes()) {
                (false, true, true) => summary.better.push(change()),
                (true, true, false) => summary.worse.push(change()),
                _ => {}
            }
        }
    }
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

/// The summary as text for a terminal.
pub fn text(summary: &Summary) -> String {
    let mut text = String::new();
    let mut line = |name: &str, rate: Rate| {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{name:<12} {:>6} of {:>6}  {:>8}",
            rate.passed,
            rate.counted,
            percent(rate)
        );
    };
    for (group, rate) in &summary.groups {
        line(group.name(), *rate);
    }
    line("total", summary.total);
    let _ = writeln!(text, "mean of the groups: {:.1} %", summary.mean_of_groups);
    for (title, changes) in [("better", &summary.better), ("worse", &summary.worse)] {
        for change in changes {
            let _ = writeln!(text, "{title}: {} {}", change.program, change.case);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Protocol, Verdict};
    use crate::results::{CaseResult, VERSION};

    fn results(date: &str, inside: &[Verdict]) -> Results {
        let case = |(n, inside): (usize, &Verdict)| CaseResult {
            name: n.to_string(),
            native: Verdict::Passed,
            inside: *inside,
            flaky_natively: false,
            passes_only_alone: false,
        };
        let program = ProgramResult {
            name: "pipe_test".into(),
            group: Group::Ipc,
            protocol: Protocol::Tap,
            calls: vec!["pipe2".into()],
            cases: inside.iter().enumerate().map(case).collect(),
        };
        Results {
            version: VERSION,
            date: date.into(),
            host_kernel: "6.1".into(),
            cpus: 2,
            programs: vec![program],
        }
    }

    #[test]
    fn says_what_got_better_and_worse() {
        use Verdict::{Failed, Passed};
        let before = results("2026-01-01", &[Passed, Failed, Passed]);
        let now = results("2026-01-02", &[Passed, Passed, Failed]);
        let summary = summarize(&now, &[before]);
        assert_eq!((summary.total.counted, summary.total.passed), (3, 2));
        assert_eq!((summary.better[0].case.as_str(), summary.worse[0].case.as_str()), ("1", "2"));
        assert_eq!(summary.history.len(), 2);
        let page = html(&summary);
        assert!(page.contains("<svg") && page.contains("pipe_test"));
        assert!(markdown(&now, &summary).contains("| IPC | 2 | 3 | 66.7 % |"));
    }
}
