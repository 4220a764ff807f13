//! The report of a measurement: rates, changes, failures, and the matrix of system calls.

use super::{Rate, Summary};
use crate::matrix::{Row, matrix};
use crate::page::{Page, Table};
use crate::reasons::Reasons;
use crate::results::{CaseResult, Results};

/// Only so many tests are named per call; their number is always told.
const NAMED_TESTS: usize = 4;

/// The page.
pub fn overview(results: &Results, summary: &Summary, reasons: &Reasons) -> Page {
    let mut page = Page::new(format!("Conformance, {}", results.date));
    page.paragraph(format!(
        "Host kernel {}, {} CPUs. A case counts if Linux passes it reliably.",
        results.host_kernel, results.cpus
    ));
    if summary.history.len() > 1 {
        page.heading("Pass rate over time");
        page.chart(summary.history.clone());
    }
    page.heading("Groups");
    let groups = summary.groups.iter().map(|(group, rate)| (group.name(), *rate));
    page.table(rates("group", groups.chain([("total", summary.total)])));
    page.paragraph(format!("Mean of the groups: {:.1} %.", summary.mean_of_groups));
    changes(&mut page, summary);
    page.heading("Programs");
    let programs = summary.programs.iter().map(|(name, rate)| (name.as_str(), *rate));
    page.table(rates("program", programs));
    failures(&mut page, results, reasons);
    oddities(&mut page, results);
    if results.programs.iter().any(|program| !program.exercises.is_empty()) {
        page.heading("System calls");
        page.table(matrix_table(&matrix(results)));
    }
    page
}

fn rates<'a>(what: &'static str, rows: impl Iterator<Item = (&'a str, Rate)>) -> Table {
    let mut table = Table::new([what, "passed", "counted", "rate"]);
    for (name, rate) in rows {
        table.row([name.into(), rate.passed.into(), rate.counted.into(), rate.into()]);
    }
    table
}

/// What changed, the bad news first.
pub(super) fn changes(page: &mut Page, summary: &Summary) {
    let since = summary.compared_with.as_deref().unwrap_or_default();
    let lists = [
        (format!("Worse than on {since}"), &summary.worse),
        (format!("Failing, and not run on {since}"), &summary.new_failures),
        (format!("Better than on {since}"), &summary.better),
    ];
    for (title, list) in lists {
        if !list.is_empty() {
            page.heading(title);
            page.list(list.iter().map(ToString::to_string));
        }
    }
}

fn failures(page: &mut Page, results: &Results, reasons: &Reasons) {
    let mut table = Table::new(["program", "case", "inside", "reason"]);
    for program in &results.programs {
        for case in program.cases.iter().filter(|case| case.counts() && !case.passes()) {
            let reason = reasons.of(&program.name, case).unwrap_or_default();
            let (program, case_name) = (program.name.as_str(), case.name.as_str());
            table.row([program.into(), case_name.into(), case.inside.name().into(), reason.into()]);
        }
    }
    if !table.is_empty() {
        page.heading("Failures");
        page.table(table);
    }
}

/// Cases that say something about themselves: they do not always pass on Linux, or they do not
/// get along with others.
pub(super) fn oddities(page: &mut Page, results: &Results) {
    let select = |is_odd: fn(&CaseResult) -> bool| -> Vec<String> {
        let cases = results.programs.iter().flat_map(|program| {
            let odd = program.cases.iter().filter(|case| is_odd(case));
            odd.map(|case| format!("{} {}", program.name, case.name).trim_end().to_owned())
        });
        cases.collect()
    };
    let lists = [
        ("Flaky natively, not counted", select(|case| case.flaky_natively)),
        ("Passing inside only alone", select(|case| case.passes_only_alone)),
    ];
    for (title, list) in lists {
        if !list.is_empty() {
            page.heading(title);
            page.list(list);
        }
    }
}

/// The matrix: what is used or exercised by something, or supported.
pub(super) fn matrix_table(rows: &[Row]) -> Table {
    let mut table =
        Table::new(["call", "status", "priority", "used by", "tests", "among them", "note"]);
    for row in rows {
        table.row([
            row.call.into(),
            row.status.into(),
            row.priority.name().into(),
            row.used_by.join(", ").into(),
            row.tests.len().into(),
            row.tests.iter().take(NAMED_TESTS).cloned().collect::<Vec<_>>().join(", ").into(),
            row.note.into(),
        ]);
    }
    table
}
