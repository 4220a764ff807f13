//! The report as Markdown.

use std::fmt::Write;

use kernel_syscalls::SYSCALLS;

use super::{Rate, Summary, percent};
use crate::protocol::Verdict;
use crate::results::Results;

/// The page: rates, changes, failures, and the matrix of system calls where programs were traced.
pub fn markdown(results: &Results, summary: &Summary) -> String {
    let mut page = format!(
        "# Conformance\n\nMeasured on {} (host kernel {}, {} CPUs). A case counts if Linux passes it.\n\n",
        results.date, results.host_kernel, results.cpus
    );
    page.push_str("| group | passed | counted | rate |\n|---|--:|--:|--:|\n");
    for (group, rate) in &summary.groups {
        row(&mut page, group.name(), *rate);
    }
    row(&mut page, "**total**", summary.total);
    // Writing to a string does not fail.
    let _ = writeln!(page, "\nMean of the groups: {:.1} %.", summary.mean_of_groups);
    changes(&mut page, summary);
    page.push_str("\n## Programs\n\n| program | passed | counted | rate |\n|---|--:|--:|--:|\n");
    for (name, rate) in &summary.programs {
        row(&mut page, name, *rate);
    }
    failures(&mut page, results);
    if !summary.exercised.is_empty() {
        matrix(&mut page, summary);
    }
    page
}

fn row(page: &mut String, name: &str, rate: Rate) {
    let _ = writeln!(page, "| {name} | {} | {} | {} |", rate.passed, rate.counted, percent(rate));
}

fn changes(page: &mut String, summary: &Summary) {
    for (title, list) in [("Worse", &summary.worse), ("Better", &summary.better)] {
        if list.is_empty() {
            continue;
        }
        let _ = writeln!(page, "\n## {title} than the last time\n");
        for change in list {
            let _ = writeln!(page, "- {} {}", change.program, change.case);
        }
    }
}

fn failures(page: &mut String, results: &Results) {
    page.push_str("\n## Failures\n\n| program | case | inside |\n|---|---|---|\n");
    for program in &results.programs {
        for case in program.cases.iter().filter(|case| case.counts() && !case.passes()) {
            let verdict = match case.inside {
                Verdict::Failed => "failed",
                Verdict::Skipped => "skipped",
                Verdict::Crashed => "crashed",
                Verdict::TimedOut => "timed out",
                Verdict::Missing => "did not run",
                Verdict::Passed => continue,
            };
            let _ = writeln!(page, "| {} | {} | {verdict} |", program.name, case.name);
        }
    }
}

fn matrix(page: &mut String, summary: &Summary) {
    page.push_str(
        "\n## System calls\n\n| call | status | tests that make it | note |\n|---|---|--:|---|\n",
    );
    for call in SYSCALLS {
        let tests = summary.exercised.get(call.name).map_or(0, Vec::len);
        let (word, note) = (call.status.word(), call.status.note());
        let _ = writeln!(page, "| {} | {word} | {tests} | {note} |", call.name);
    }
}
