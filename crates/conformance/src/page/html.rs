//! A page as HTML, in one file.

use std::fmt::Write;

use super::{Block, Cell, Page, Table};

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}\
    table{border-collapse:collapse;width:100%}td,th{padding:.2rem .6rem;text-align:left;vertical-align:top;border-bottom:1px solid #ddd}\
    .n{text-align:right;white-space:nowrap}.bar{background:#2a7;height:.4rem}";

pub(super) fn render(page: &Page) -> String {
    let title = escape(&page.title);
    let mut text = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>\
         <style>{STYLE}</style><h1>{title}</h1>\n"
    );
    // Writing to a string does not fail.
    for block in &page.blocks {
        match block {
            Block::Heading(words) => {
                let _ = writeln!(text, "<h2>{}</h2>", escape(words));
            }
            Block::Paragraph(words) => {
                let _ = writeln!(text, "<p>{}</p>", escape(words));
            }
            Block::List(items) => {
                text.push_str("<ul>\n");
                for item in items {
                    let _ = writeln!(text, "<li>{}", escape(item));
                }
                text.push_str("</ul>\n");
            }
            Block::Table(table) => render_table(&mut text, table),
            Block::Chart(points) => chart(&mut text, points),
        }
    }
    text.push_str("</html>\n");
    text
}

fn render_table(text: &mut String, table: &Table) {
    text.push_str("<table><tr>");
    for (column, title) in table.titles.iter().enumerate() {
        let class = if table.is_numeric(column) { " class=n" } else { "" };
        let _ = write!(text, "<th{class}>{}", escape(title));
    }
    text.push_str("</tr>\n");
    for row in &table.rows {
        text.push_str("<tr>");
        for cell in row {
            let words = escape(&cell.to_string());
            let _ = match cell {
                Cell::Text(_) => write!(text, "<td>{words}"),
                Cell::Number(_) => write!(text, "<td class=n>{words}"),
                Cell::Rate(rate) => write!(
                    text,
                    "<td class=n>{words}<div class=bar style=width:{:.0}%></div>",
                    rate.percent().unwrap_or(0.0)
                ),
            };
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</table>\n");
}

/// A line from 0 to 100 percent, one point per measurement.
fn chart(text: &mut String, points: &[(String, f64)]) {
    const WIDTH: f64 = 800.0;
    const HEIGHT: f64 = 200.0;
    let last = u32::try_from(points.len().saturating_sub(1)).unwrap_or(0);
    let (mut line, mut dots) = (String::new(), String::new());
    for (index, (date, percent)) in (0_u32..).zip(points) {
        let x = if last == 0 { 0.0 } else { WIDTH * f64::from(index) / f64::from(last) };
        let y = HEIGHT - HEIGHT * percent / 100.0;
        let _ = write!(line, "{x:.1},{y:.1} ");
        let _ = write!(
            dots,
            "<circle cx={x:.1} cy={y:.1} r=4 fill='#2a7'><title>{}: {percent:.1} %</title></circle>",
            escape(date)
        );
    }
    let _ = writeln!(
        text,
        "<svg viewBox='-10 -10 850 240' role=img aria-label='pass rate over time'>\
         <path d='M0 0H800M0 100H800M0 200H800' stroke='#ddd' fill=none />\
         <text x=805 y=5>100</text><text x=805 y=105>50</text><text x=805 y=205>0 %</text>\
         <polyline points='{line}' stroke='#2a7' stroke-width=3 fill=none />{dots}"
    );
    if let (Some(first), Some(newest)) = (points.first(), points.last()) {
        let _ = writeln!(
            text,
            "<text x=0 y=225>{}</text><text x=800 y=225 text-anchor=end>{} ({:.1} %)</text>",
            escape(&first.0),
            escape(&newest.0),
            newest.1
        );
    }
    text.push_str("</svg>\n");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
