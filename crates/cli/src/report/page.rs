//! The report as one self-contained page: no script, nothing from elsewhere.

use std::time::Duration;

use sandbox_spec::{Activity, Change, MoreOfKind, Now, printable, printable_path};

use super::advice::{self, Advice};
use super::files::FileGroups;
use super::tree::{Branch, ending, tree};
use super::{RunReport, seconds};
use crate::skill::listing::{gone_with, in_order, why};

/// How many rows a table has.
const MAX_LISTED: usize = 5000;
/// How many rows of a list are shown before it has to be opened.
const MAX_OPEN: usize = 25;

const STYLE: &str = include_str!("page.css");

/// The page.
pub fn page(report: &RunReport) -> String {
    let title = escaped(&report.title());
    let (class, words) = report.verdict();
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <title>{title}</title><style>{STYLE}</style></head>\n<body>\n<h1>{title}</h1>\n\
         <p class=\"{class}\">{words}</p>\n"
    );
    summary(&mut page, &report.activity);
    denied(&mut page, &report.activity);
    told_no(&mut page, &report.activity);
    looked_for(&mut page, &report.activity);
    page.push_str("<h2>Run</h2>\n<table>\n");
    for (name, value) in report.facts() {
        row(&mut page, name, &code(&value));
    }
    page.push_str("</table>\n");
    processes(&mut page, report);
    files(&mut page, &report.activity);
    connections(&mut page, &report.activity);
    visible(&mut page, report);
    if let Some(work) = &report.work {
        let words = escaped(&work.fate.words());
        page.push_str(&format!("<h2>What it left in its work folder</h2>\n<p>{words}</p>\n"));
        changes(&mut page, &work.changes);
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn row(page: &mut String, name: &str, value: &str) {
    page.push_str(&format!("<tr><th>{name}</th><td>{value}</td></tr>\n"));
}

/// Begins a table. One with many rows scrolls by itself, so that what follows is not far away.
fn open_table(page: &mut String, class: &str, n_rows: usize) {
    if n_rows > MAX_OPEN {
        page.push_str("<div class=\"long\" tabindex=\"0\">\n");
    }
    page.push_str(&format!("<table class=\"{class}\">\n"));
}

fn close_table(page: &mut String, n_rows: usize) {
    page.push_str("</table>\n");
    if n_rows > MAX_OPEN {
        page.push_str("</div>\n");
    }
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text))
}

/// The figures that matter, in one line.
fn summary(page: &mut String, activity: &Activity) {
    let groups = FileGroups::of(activity);
    let n_system: usize = groups.read_system.values().sum();
    let n = |n: usize, more: u64| {
        let sign = if more > 0 { "+" } else { "" };
        format!("{n}{sign}")
    };
    let figures = [
        (n(activity.processes.len(), activity.more_processes), "processes"),
        (n(activity.programs.len(), activity.more_programs), "programs"),
        (n(groups.read.len() + n_system, activity.more_files), "files read"),
        (n(groups.created.len(), 0), "created"),
        (n(groups.changed.len(), 0), "changed"),
        (n(groups.removed.len(), 0), "removed"),
        (n(activity.connections.len(), activity.more_connections), "connections"),
        (activity.n_denied().to_string(), "denied"),
    ];
    page.push_str("<ul class=\"figures\">");
    for (figure, name) in figures {
        page.push_str(&format!("<li><b>{figure}</b> {name}</li>"));
    }
    page.push_str("</ul>\n");
}

fn more(page: &mut String, shown: usize, all: usize, beyond: u64, what: &str) {
    let left = u64::try_from(all.saturating_sub(shown)).unwrap_or(u64::MAX);
    let n = left.saturating_add(beyond);
    if n > 0 {
        page.push_str(&format!("<p>and {n} more {what}</p>\n"));
    }
}

fn denied(page: &mut String, activity: &Activity) {
    if activity.denied.is_empty() {
        return;
    }
    page.push_str("<h2 class=\"bad\">Denied by the policy</h2>\n");
    open_table(page, "plain", activity.denied.len());
    page.push_str("<tr><th>wanted</th><th>path</th><th>times</th><th></th></tr>\n");
    for denial in advice::denials(activity).into_iter().take(MAX_LISTED) {
        page.push_str(&format!(
            "<tr><th>{}</th><td>{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
            denial.wanted.word(),
            code(&denial.path),
            denial.times,
            advised(&Advice::of_path(denial.wanted, &denial.path))
        ));
    }
    close_table(page, activity.denied.len());
    more(page, MAX_LISTED, activity.denied.len(), 0, "denials");
    not_recorded(page, &activity.more_denied_by_kind);
}

fn told_no(page: &mut String, activity: &Activity) {
    let items: Vec<String> = advice::refusals(activity)
        .into_iter()
        .map(|ask| {
            let how = advised(&Advice::of_path(ask.wanted, &ask.path));
            format!("{} {} {how}", ask.wanted.word(), code(&ask.path))
        })
        .collect();
    if !items.is_empty() {
        list(page, "Asked about, and told no by the policy", &items, 0);
    }
    not_recorded(page, &activity.more_asked_by_kind);
}

/// What was beyond the bound of the list above.
fn not_recorded(page: &mut String, left_out: &[MoreOfKind]) {
    for MoreOfKind { kind, times } in left_out {
        let kind = escaped(kind);
        page.push_str(&format!("<p class=\"warn\">not recorded, {times} times, of: {kind}</p>\n"));
    }
}

/// What there is to say about a thing that was denied.
fn advised(advice: &Advice) -> String {
    match advice {
        Advice::Allow(policy) => format!("<i>to allow it: {}</i>", code(policy)),
        Advice::Beware(why) => format!("<b class=\"bad\">beware: {}</b>", escaped(why)),
        Advice::Nothing => String::new(),
    }
}

fn looked_for(page: &mut String, activity: &Activity) {
    let all = &activity.looked_for;
    let n_secrets = all.iter().filter(|one| one.secret.is_some()).count();
    if n_secrets > 0 {
        page.push_str("<h2 class=\"warn\">Looked for, and not there</h2>\n");
        open_table(page, "plain", n_secrets);
        page.push_str("<tr><th>path</th><th>what such a place holds</th><th>times</th></tr>\n");
        for one in all.iter().take(n_secrets.min(MAX_LISTED)) {
            page.push_str(&format!(
                "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td></tr>\n",
                code(&one.path),
                escaped(one.secret.as_deref().unwrap_or_default()),
                one.times
            ));
        }
        close_table(page, n_secrets);
        more(page, MAX_LISTED, n_secrets, 0, "such places");
    }
    let others: Vec<String> = all
        .iter()
        .skip(n_secrets)
        .map(|one| format!("{} <i>× {}</i>", code(&one.path), one.times))
        .collect();
    list(page, "Other files that were looked for, and not there", &others, 0);
    not_recorded(page, &activity.more_looked_for_by_kind);
}

fn processes(page: &mut String, report: &RunReport) {
    let activity = &report.activity;
    if activity.processes.is_empty() {
        return;
    }
    let ends = activity.processes.iter().map(|it| it.ended.unwrap_or(it.started));
    let whole = ends.max().unwrap_or_default().max(Duration::from_millis(1));
    page.push_str("<h2>Processes</h2>\n");
    open_table(page, "tree", activity.processes.len());
    page.push_str(
        "<tr><th>pid</th><th>command</th><th class=\"when\">when</th><th>took</th>\
         <th class=\"cpu\">CPU</th><th>end</th></tr>\n",
    );
    for branch in tree(&activity.processes).iter().take(MAX_LISTED) {
        page.push_str(&process_row(branch, whole));
    }
    close_table(page, activity.processes.len());
    more(page, MAX_LISTED, activity.processes.len(), activity.more_processes, "processes");
    let programs: Vec<String> = activity
        .programs
        .iter()
        .map(|program| format!("{} <i>× {}</i>", code(&program.path), program.times))
        .collect();
    list(page, "Programs started", &programs, activity.more_programs);
}

fn process_row(branch: &Branch<'_>, whole: Duration) -> String {
    let process = branch.process;
    let percent = |time: Duration| 100.0 * time.as_secs_f64() / whole.as_secs_f64();
    let took = process.ended.map(|end| end.saturating_sub(process.started));
    let width = percent(took.unwrap_or(whole.saturating_sub(process.started))).max(0.5);
    let start = percent(process.started).min(99.5);
    let (end, is_good) = ending(process);
    format!(
        "<tr><td class=\"n\">{}</td><td><code><span class=\"rail\">{}</span>{}</code></td>\
         <td class=\"when\"><span style=\"margin-left:{start:.1}%;width:{width:.1}%\"></span></td>\
         <td class=\"n\">{}</td><td class=\"n cpu\">{}</td><td class=\"{}\">{}</td></tr>\n",
        process.pid,
        branch.lines,
        escaped(&branch.command),
        took.map_or_else(|| "?".to_owned(), seconds),
        seconds(process.user_time + process.system_time),
        if is_good { "good" } else { "bad" },
        escaped(&end),
    )
}

/// A list that is closed if it is long.
fn list(page: &mut String, name: &str, items: &[String], beyond: u64) {
    if items.is_empty() && beyond == 0 {
        return;
    }
    let open = if items.len() <= MAX_OPEN { " open" } else { "" };
    page.push_str(&format!("<details{open}><summary>{name} ({})</summary>\n<ul>\n", items.len()));
    for item in items.iter().take(MAX_LISTED) {
        page.push_str(&format!("<li>{item}</li>\n"));
    }
    page.push_str("</ul>\n");
    more(page, MAX_LISTED, items.len(), beyond, "");
    page.push_str("</details>\n");
}

fn files(page: &mut String, activity: &Activity) {
    if activity.files.is_empty() {
        return;
    }
    page.push_str("<h2>Files</h2>\n");
    let groups = FileGroups::of(activity);
    for (name, paths) in groups.lists() {
        let title = match name {
            "created" => "Created",
            "changed" => "Changed",
            "removed" => "Removed",
            _ => "Read",
        };
        let items: Vec<String> = paths.iter().map(|path| code(path)).collect();
        list(page, title, &items, 0);
    }
    let system: Vec<String> = groups
        .read_system
        .iter()
        .map(|(folder, n)| format!("{} <i>{n} files</i>", code(folder)))
        .collect();
    list(page, "Read from folders of the system", &system, 0);
    let also = [
        (groups.n_listed, "folders were listed"),
        (groups.n_temporary, "files were made and removed again"),
        (usize::try_from(activity.more_files).unwrap_or(usize::MAX), "uses of further files"),
    ];
    for (n, what) in also.into_iter().filter(|(n, _)| *n > 0) {
        page.push_str(&format!("<p>{n} {what}</p>\n"));
    }
}

fn connections(page: &mut String, activity: &Activity) {
    if activity.connections.is_empty() {
        return;
    }
    page.push_str("<h2>Connections</h2>\n");
    open_table(page, "plain", activity.connections.len());
    page.push_str("<tr><th></th><th>to</th><th>why</th><th>times</th></tr>\n");
    for record in advice::connections(activity).into_iter().take(MAX_LISTED) {
        let (class, word) = match record.is_blocked() {
            true => ("bad", "denied"),
            false => ("good", "allowed"),
        };
        let advice = advised(&Advice::of_connection(record));
        page.push_str(&format!(
            "<tr><th class=\"{class}\">{word}</th><td>{} {}</td><td>{} {advice}</td>\
             <td class=\"n\">{}</td></tr>\n",
            escaped(&record.kind.to_string()),
            code(&record.destination()),
            escaped(&record.reason.to_string()),
            record.times
        ));
    }
    close_table(page, activity.connections.len());
    more(page, MAX_LISTED, activity.connections.len(), activity.more_connections, "connections");
}

fn visible(page: &mut String, report: &RunReport) {
    page.push_str("<h2>What it could see of the host</h2>\n<table>\n");
    row(page, "read-only", "the system's folders, such as <code>/usr</code>");
    for seen in &report.mounts {
        row(page, seen.access, &format!("{} is {}", code(&seen.path), code(&seen.source)));
    }
    page.push_str("</table>\n");
    let asks = report.skill.as_ref().map(|skill| skill.asks.as_slice()).unwrap_or_default();
    if !asks.is_empty() {
        page.push_str("<h2>What it asked for</h2>\n<table>\n");
        for ask in asks {
            let word = if ask.is_granted { "granted" } else { "refused" };
            row(page, word, &format!("{}: {}", ask.about, escaped(&ask.what)));
        }
        page.push_str("</table>\n");
    }
}

fn changes(page: &mut String, changes: &[Change]) {
    if changes.is_empty() {
        return;
    }
    open_table(page, "plain", changes.len());
    for change in in_order(changes).into_iter().take(MAX_LISTED) {
        let path = escaped(&printable_path(&change.path));
        let (about, size) = match &change.now {
            Now::File { size, .. } => (String::new(), format!("{size} bytes")),
            Now::Folder => ("/".to_owned(), String::new()),
            Now::Link { target } => {
                (format!(" → {}", escaped(&printable_path(target))), String::new())
            }
            Now::Special => (" (no file; is not written back)".to_owned(), String::new()),
            Now::Nothing => (String::new(), String::new()),
        };
        let gone = change.gone.map_or(String::new(), |gone| {
            format!(" <b class=\"warn\">{} goes</b>", escaped(&gone_with(gone)))
        });
        let why = why(change)
            .map_or(String::new(), |why| format!(" <b class=\"warn\">{}</b>", escaped(&why)));
        page.push_str(&format!(
            "<tr><th>{}</th><td><code>{path}{about}</code>{gone}{why}</td><td class=\"n\">{size}</td></tr>\n",
            change.happened.word()
        ));
    }
    close_table(page, changes.len());
    more(page, MAX_LISTED, changes.len(), 0, "");
}

/// Text that a browser shows as it is.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(escaped("<b a='x'>&\u{1b}"), "&lt;b a=&#39;x&#39;&gt;&amp;\\u{1b}");
    }
}
