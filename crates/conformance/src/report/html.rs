//! The report as one HTML page, with a chart of the rate over time.

use std::fmt::Write;

use super::{Rate, Summary, percent};

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
    table{border-collapse:collapse;width:100%}td,th{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #ddd}\
    td:first-child,th:first-child{text-align:left}.bar{background:#2a7;height:.6rem}.bad{color:#b00}";

/// The page.
pub fn html(summary: &Summary) -> String {
    let mut page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Belljar conformance</title>\
         <style>{STYLE}</style><h1>Conformance, {}</h1>\n",
        escape(&summary.date)
    );
    chart(&mut page, &summary.history);
    table(&mut page, "Groups", summary.groups.iter().map(|(group, rate)| (group.name(), *rate)));
    // Writing to a string does not fail.
    let _ = writeln!(
        page,
        "<p>Total {} of {}: {}. Mean of the groups: {:.1} %.</p>",
        summary.total.passed,
        summary.total.counted,
        percent(summary.total),
        summary.mean_of_groups
    );
    for (title, changes) in [("Worse", &summary.worse), ("Better", &summary.better)] {
        if changes.is_empty() {
            continue;
        }
        let _ = writeln!(page, "<h2>{title} than the last time</h2><ul>");
        for change in changes {
            let _ = writeln!(page, "<li>{} {}", escape(&change.program), escape(&change.case));
        }
        page.push_str("</ul>\n");
    }
    let programs = summary.programs.iter().map(|(name, rate)| (name.as_str(), *rate));
    table(&mut page, "Programs", programs);
    page.push_str("</html>\n");
    page
}

fn table<'a>(page: &mut String, title: &str, rows: impl Iterator<Item = (&'a str, Rate)>) {
    let _ =
        writeln!(page, "<h2>{title}</h2><table><tr><th>name<th>passed<th>counted<th>rate<th></tr>");
    for (name, rate) in rows {
        let width = rate.percent().unwrap_or(0.0);
        let _ = writeln!(
            page,
            "<tr><td>{}<td>{}<td>{}<td>{}<td style=width:10rem><div class=bar style=width:{width:.0}%></div></tr>",
            escape(name),
            rate.passed,
            rate.counted,
            percent(rate)
        );
    }
    page.push_str("</table>\n");
}

/// A line from 0 to 100 percent, one point per measurement.
fn chart(page: &mut String, history: &[(String, f64)]) {
    const WIDTH: f64 = 800.0;
    const HEIGHT: f64 = 200.0;
    let last = u32::try_from(history.len().saturating_sub(1)).unwrap_or(0);
    let mut points = String::new();
    for (index, (_, percent)) in (0_u32..).zip(history) {
        let x = if last == 0 { 0.0 } else { WIDTH * f64::from(index) / f64::from(last) };
        let _ = write!(points, "{x:.1},{:.1} ", HEIGHT - HEIGHT * percent / 100.0);
    }
    let _ = writeln!(
        page,
        "<svg viewBox='-5 -5 810 230' role=img aria-label='pass rate over time'>\
         <path d='M0 0H800M0 100H800M0 200H800' stroke='#ddd' fill=none />\
         <polyline points='{points}' stroke='#2a7' stroke-width=3 fill=none />"
    );
    if let (Some(first), Some(newest)) = (history.first(), history.last()) {
        let _ = writeln!(
            page,
            "<text x=0 y=220>{}</text><text x=800 y=220 text-anchor=end>{} ({:.1} %)</text>",
            escape(&first.0),
            escape(&newest.0),
            newest.1
        );
    }
    page.push_str("</svg>\n");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
