//! A report as text.

use std::collections::BTreeMap;

use sandbox_spec::{Activity, MoreOfKind};
use skills::printable;

use super::advice::{self, Advice};
use super::files::FileGroups;
use super::tree::{ending, tree};
use super::{RunReport, seconds};
use crate::skill::listing::{counted, in_words};

/// How many processes are listed.
const MAX_PROCESSES: usize = 60;
/// How many files of a kind are listed.
const MAX_FILES: usize = 40;
/// How many characters of a command are shown.
const MAX_COMMAND: usize = 100;

/// The report as text.
pub fn text(report: &RunReport) -> String {
    let (_, verdict) = report.verdict();
    let mut text = format!("report of {}: {verdict}\n", printable(&report.title()));
    for (name, value) in report.facts() {
        row(&mut text, name, &printable(&value));
    }
    for seen in &report.mounts {
        let (path, source) = (printable(&seen.path), printable(&seen.source));
        row(&mut text, seen.access, &format!("{path} is {source}"));
    }
    if let Some(skill) = &report.skill {
        for ask in &skill.asks {
            let word = if ask.is_granted { "granted" } else { "refused" };
            row(&mut text, word, &format!("{}: {}", ask.about, printable(&ask.what)));
        }
    }
    processes(&mut text, &report.activity);
    files(&mut text, &report.activity);
    connections(&mut text, &report.activity);
    denied(&mut text, &report.activity);
    told_no(&mut text, &report.activity);
    looked_for(&mut text, &report.activity);
    if let Some(work) = &report.work {
        let count =
            if work.changes.is_empty() { String::new() } else { counted(&work.changes) + "; " };
        text.push_str(&format!("work folder: {count}{}\n", printable(&work.fate.words())));
        text.push_str(&in_words(&work.changes));
    }
    text
}

fn row(text: &mut String, name: &str, value: &str) {
    text.push_str(&format!("  {name:<12}{value}\n"));
}

fn more(text: &mut String, shown: usize, all: usize, beyond: u64) {
    let left = u64::try_from(all.saturating_sub(shown)).unwrap_or(u64::MAX);
    let n = left.saturating_add(beyond);
    if n > 0 {
        text.push_str(&format!("  and {n} more\n"));
    }
}

fn processes(text: &mut String, activity: &Activity) {
    if activity.processes.is_empty() {
        return;
    }
    text.push_str("processes:      start      time  CPU time  end\n");
    for branch in tree(&activity.processes).iter().take(MAX_PROCESSES) {
        let process = branch.process;
        let took = process
            .ended
            .map_or(String::from("?"), |end| seconds(end.saturating_sub(process.started)));
        let cpu = seconds(process.user_time + process.system_time);
        let start = seconds(process.started);
        let command: String = printable(&branch.command).chars().take(MAX_COMMAND).collect();
        let (end, _) = ending(process);
        text.push_str(&format!(
            "  {:>6} {start:>12} {took:>9} {cpu:>9}  {end:<8} {}{command}\n",
            process.pid, branch.lines
        ));
    }
    more(text, MAX_PROCESSES, activity.processes.len(), activity.more_processes);
    text.push_str("programs started:\n");
    for program in activity.programs.iter().take(MAX_FILES) {
        row(text, &times(program.times), &printable(&program.path));
    }
    more(text, MAX_FILES, activity.programs.len(), activity.more_programs);
}

fn files(text: &mut String, activity: &Activity) {
    if activity.files.is_empty() {
        return;
    }
    text.push_str("files:\n");
    let groups = FileGroups::of(activity);
    for (name, list) in groups.lists() {
        for path in list.iter().take(MAX_FILES) {
            row(text, name, &printable(path));
        }
        more(text, MAX_FILES, list.len(), 0);
    }
    for (folder, n) in &groups.read_system {
        row(text, "read", &format!("{n} in {}", printable(folder)));
    }
    if groups.n_listed > 0 {
        row(text, "listed", &format!("{} folders", groups.n_listed));
    }
    if groups.n_temporary > 0 {
        row(text, "temporary", &format!("{} made and removed again", groups.n_temporary));
    }
    if activity.more_files > 0 {
        text.push_str(&format!("  and {} uses of further files\n", activity.more_files));
    }
}

fn connections(text: &mut String, activity: &Activity) {
    if activity.connections.is_empty() {
        return;
    }
    text.push_str("connections:\n");
    for record in advice::connections(activity).into_iter().take(MAX_FILES) {
        let word = if record.is_blocked() { "denied" } else { "allowed" };
        let to = printable(&record.destination());
        let times = times(record.times);
        let hint = Advice::of_connection(record).further_words();
        row(text, word, &format!("{} {to}, {times}: {}{hint}", record.kind, record.reason));
    }
    more(text, MAX_FILES, activity.connections.len(), activity.more_connections);
}

fn denied(text: &mut String, activity: &Activity) {
    if activity.denied.is_empty() && activity.more_denied == 0 {
        return;
    }
    text.push_str("denied by the policy:\n");
    for denial in advice::denials(activity).into_iter().take(MAX_FILES) {
        let (path, times) = (printable(&denial.path), times(denial.times));
        let hint = Advice::of_path(denial.wanted, &denial.path).further_words();
        row(text, denial.wanted.word(), &format!("{path}, {times}{hint}"));
    }
    more_of_kinds(text, MAX_FILES, activity.denied.len(), &activity.more_denied_by_kind);
}

fn told_no(text: &mut String, activity: &Activity) {
    let refused = advice::refusals(activity);
    if refused.is_empty() && activity.more_asked_by_kind.is_empty() {
        return;
    }
    text.push_str("asked about, and told no by the policy:\n");
    for ask in refused.iter().take(MAX_FILES) {
        let hint = Advice::of_path(ask.wanted, &ask.path).further_words();
        row(text, ask.wanted.word(), &format!("{}{hint}", printable(&ask.path)));
    }
    more_of_kinds(text, MAX_FILES, refused.len(), &activity.more_asked_by_kind);
}

fn looked_for(text: &mut String, activity: &Activity) {
    if activity.looked_for.is_empty() && activity.more_looked_for == 0 {
        return;
    }
    text.push_str("looked for, and not there:\n");
    for one in activity.looked_for.iter().take(MAX_FILES) {
        let word = if one.secret.is_some() { "secret" } else { "file" };
        let what = one.secret.as_deref().map_or(String::new(), |what| format!(": {what}"));
        row(text, word, &format!("{}, {}{what}", printable(&one.path), times(one.times)));
    }
    let mut unshown: BTreeMap<&str, u64> = BTreeMap::new();
    for one in activity.looked_for.iter().skip(MAX_FILES) {
        *unshown.entry(one.secret.as_deref().unwrap_or("other files")).or_default() += 1;
    }
    for (kind, n) in unshown {
        text.push_str(&format!("  and {n} more paths of: {}\n", printable(kind)));
    }
    more_of_kinds(text, 0, 0, &activity.more_looked_for_by_kind);
}

/// Says what a list does not show, and what was not recorded.
fn more_of_kinds(text: &mut String, shown: usize, all: usize, left_out: &[MoreOfKind]) {
    more(text, shown, all, 0);
    for MoreOfKind { kind, times: n } in left_out {
        text.push_str(&format!("  not recorded, {}, of: {}\n", times(*n), printable(kind)));
    }
}

fn times(n: u64) -> String {
    if n == 1 { "once".to_owned() } else { format!("{n} times") }
}
