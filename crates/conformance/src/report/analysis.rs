//! The first page of the night: what interpreters and skills use, and what of it is not there.

use super::overview::matrix_table;
use crate::matrix::{Row, matrix};
use crate::needs::Priority;
use crate::page::{Page, Table};
use crate::results::Results;

/// The page.
pub fn analysis(results: &Results) -> Page {
    let rows = matrix(results);
    let mut page = Page::new(format!("Analysis, {}", results.date));
    page.paragraph(
        "Which system calls interpreters and skills make, seen by running and tracing them. \
         Nothing here is estimated: what was not run is said to be so.",
    );
    coverage(&mut page, results);
    gaps(&mut page, results, &rows);
    page.heading("System calls that are used");
    let used: Vec<_> = rows.iter().filter(|row| !row.used_by.is_empty()).cloned().collect();
    page.table(matrix_table(&used));
    page.heading("All other system calls");
    let unused: Vec<_> = rows.into_iter().filter(|row| row.used_by.is_empty()).collect();
    page.table(matrix_table(&unused));
    page
}

fn coverage(page: &mut Page, results: &Results) {
    let mut table = Table::new([
        "name",
        "kind",
        "traced",
        "calls",
        "fully supported",
        "rate",
        "cases",
        "pass inside",
    ]);
    let mut not_run = Vec::new();
    for usage in &results.usages {
        if !usage.not_run.is_empty() {
            not_run.push(format!("{} {}: {}", usage.kind.name(), usage.name, usage.not_run));
            continue;
        }
        let rate = usage.coverage();
        table.row([
            usage.name.as_str().into(),
            usage.kind.name().into(),
            if usage.native.is_some() { "natively and inside" } else { "inside" }.into(),
            rate.counted.into(),
            rate.passed.into(),
            rate.into(),
            usage.cases.len().into(),
            usage.cases.iter().filter(|case| case.passed).count().into(),
        ]);
    }
    page.heading("Coverage per interpreter and skill");
    page.table(table);
    if !not_run.is_empty() {
        page.heading("Not run");
        page.list(not_run);
    }
}

/// What is used and not all there, the most important first.
fn gaps(page: &mut Page, results: &Results, rows: &[Row]) {
    let mut gaps: Vec<_> = rows
        .iter()
        .filter(|row| row.priority != Priority::None && !row.used_by.is_empty())
        .collect();
    gaps.sort_by_key(|row| row.priority);
    page.heading("Gaps");
    if gaps.is_empty() {
        page.paragraph("None: everything that is used is fully supported.");
    } else {
        let titles =
            ["priority", "call", "status", "blocks", "used by", "answered by Linux only", "note"];
        let mut table = Table::new(titles);
        for row in gaps {
            table.row([
                row.priority.name().into(),
                row.call.into(),
                row.status.into(),
                if row.blocks.is_empty() {
                    "nothing that was run".into()
                } else {
                    row.blocks.join(", ").into()
                },
                row.used_by.join(", ").into(),
                row.differs.join(", ").into(),
                row.note.into(),
            ]);
        }
        page.table(table);
    }
    let unknown: Vec<_> = results
        .usages
        .iter()
        .flat_map(|usage| {
            let needs = usage.needs().into_iter().filter(|need| need.status == "unknown");
            needs.map(move |need| format!("{} ({})", need.call, usage.name))
        })
        .collect();
    if !unknown.is_empty() {
        page.heading("Calls that are not in the table");
        page.list(unknown);
    }
}
