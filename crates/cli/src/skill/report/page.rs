//! The report as one self-contained page: no script, nothing from elsewhere.

use super::RunReport;
use crate::skill::changes::{Change, Now};

/// How many changes a page lists.
const MAX_LISTED: usize = 5000;

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
color:#1b1f24;background:#fff}\
h1{font-size:1.5rem;margin-bottom:0}h2{font-size:1.1rem;margin-top:2rem}\
table{border-collapse:collapse;width:100%}\
th,td{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;\
border-bottom:1px solid #d8dee4}th{font-weight:600;white-space:nowrap}\
td{overflow-wrap:anywhere}td.n{text-align:right;font-variant-numeric:tabular-nums}\
code{font:.9em ui-monospace,monospace}\
.good{color:#116329}.bad{color:#a40e26}\
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}\
th,td{border-color:#30363d}.good{color:#56d364}.bad{color:#ff7b72}}";

/// The page.
pub fn page(report: &RunReport) -> String {
    let title = format!("{}: {}", escaped(&report.skill), escaped(&report.script));
    let (class, words) = match report.exit_code {
        0 => ("good", "succeeded".to_owned()),
        code => ("bad", format!("failed with exit code {code}")),
    };
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style></head>\n<body>\n<h1>{title}</h1>\n\
         <p class=\"{class}\">{words}</p>\n"
    );
    page.push_str("<h2>Run</h2>\n<table>\n");
    for (name, value) in report.facts() {
        row(&mut page, name, &format!("<code>{}</code>", escaped(&value)));
    }
    page.push_str("</table>\n<h2>What it could see of the host</h2>\n<table>\n");
    for seen in &report.mounts {
        let (path, source) = (escaped(&seen.path), escaped(&seen.source));
        row(&mut page, seen.access, &format!("<code>{path}</code> is <code>{source}</code>"));
    }
    page.push_str("</table>\n");
    if !report.asks.is_empty() {
        page.push_str("<h2>What it asked for</h2>\n<table>\n");
        for ask in &report.asks {
            let word = if ask.is_granted { "granted" } else { "refused" };
            row(&mut page, word, &format!("{}: {}", ask.about, escaped(&ask.what)));
        }
        page.push_str("</table>\n");
    }
    page.push_str(&format!("<h2>What it wrote</h2>\n<p>{}</p>\n", escaped(&report.fate.words())));
    page.push_str(&changes(&report.changes));
    page.push_str("</body>\n</html>\n");
    page
}

fn row(page: &mut String, name: &str, value: &str) {
    page.push_str(&format!("<tr><th>{name}</th><td>{value}</td></tr>\n"));
}

fn changes(changes: &[Change]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let mut text = String::from("<table>\n");
    for change in changes.iter().take(MAX_LISTED) {
        let path = escaped(&change.path.to_string_lossy());
        let (about, size) = match &change.now {
            Now::File { size } => (String::new(), format!("{size} bytes")),
            Now::Folder => ("/".to_owned(), String::new()),
            Now::Link { target } => {
                (format!(" → {}", escaped(&target.to_string_lossy())), String::new())
            }
            Now::Special => (" (no file; is not written back)".to_owned(), String::new()),
            Now::Nothing => (String::new(), String::new()),
        };
        text.push_str(&format!(
            "<tr><th>{}</th><td><code>{path}{about}</code></td><td class=\"n\">{size}</td></tr>\n",
            change.happened.word()
        ));
    }
    text.push_str("</table>\n");
    if changes.len() > MAX_LISTED {
        text.push_str(&format!("<p>and {} more</p>\n", changes.len() - MAX_LISTED));
    }
    text
}

/// Text that a browser shows as it is.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in skills::printable(text).chars() {
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
        assert_eq!(escaped("<b a='x'>&\u{1b}"), "&lt;b a=&#39;x&#39;&gt;&amp;\u{fffd}");
    }
}
