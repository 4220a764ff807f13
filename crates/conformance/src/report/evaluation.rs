//! The second page of the night: what was run, and what changed.

use super::overview::{changes, oddities};
use super::{Rate, Summary};
use crate::page::{Page, Table};
use crate::protocol::Verdict;
use crate::results::Results;
use crate::usage::Kind;

/// The page. New failures stand first.
pub fn evaluation(results: &Results, summary: &Summary) -> Page {
    let mut page = Page::new(format!("Evaluation, {}", results.date));
    page.paragraph(match &summary.compared_with {
        None => "There are no earlier results to compare with.".to_owned(),
        Some(date) if summary.worse.is_empty() => format!("Nothing is worse than on {date}."),
        Some(date) => match summary.worse.len() {
            1 => format!("One case is worse than on {date}."),
            n => format!("{n} cases are worse than on {date}."),
        },
    });
    changes(&mut page, summary);
    what_was_run(&mut page, results, summary);
    broken(&mut page, results);
    failing_users(&mut page, results);
    oddities(&mut page, results);
    if !summary.not_run_now.is_empty() {
        page.heading("Run the last time, and not now");
        page.list(summary.not_run_now.clone());
    }
    page.heading("Pass rate over time");
    page.chart(summary.history.clone());
    page
}

fn what_was_run(page: &mut Page, results: &Results, summary: &Summary) {
    page.heading("What was run");
    page.paragraph(format!(
        "{} test programs natively and inside, on host kernel {} with {} CPUs.",
        results.programs.len(),
        results.host_kernel,
        results.cpus
    ));
    let mut table = Table::new(["what", "passed", "counted", "rate"]);
    let mut row = |name: &str, rate: Rate| {
        table.row([name.into(), rate.passed.into(), rate.counted.into(), rate.into()]);
    };
    for kind in [Kind::Interpreter, Kind::Skill] {
        for usage in results.usages.iter().filter(|usage| usage.kind == kind) {
            let passed = usage.cases.iter().filter(|case| case.passed).count();
            let rate = Rate { counted: usage.cases.len(), passed };
            row(&format!("{} {}", kind.name(), usage.name), rate);
        }
    }
    for (group, rate) in &summary.groups {
        row(&format!("tests: {}", group.name()), *rate);
    }
    row("tests: all", summary.total);
    page.table(table);
}

/// A crash or a hang is worse than a wrong answer.
fn broken(page: &mut Page, results: &Results) {
    let mut items = Vec::new();
    for program in &results.programs {
        for case in program.cases.iter().filter(|case| case.counts()) {
            if matches!(case.inside, Verdict::Crashed | Verdict::TimedOut | Verdict::Missing) {
                items.push(format!("{} {}: {}", program.name, case.name, case.inside.name()));
            }
        }
    }
    if !items.is_empty() {
        page.heading("Crashed, hung or never reached inside");
        page.list(items);
    }
}

fn failing_users(page: &mut Page, results: &Results) {
    let mut items = Vec::new();
    for usage in &results.usages {
        for case in usage.cases.iter().filter(|case| !case.passed) {
            items.push(format!("{} {}: {}", usage.name, case.name, case.reason));
        }
    }
    if !items.is_empty() {
        page.heading("Interpreters and skills that do not do what they should");
        page.list(items);
    }
}
