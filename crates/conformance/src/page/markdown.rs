//! A page as Markdown.

use std::fmt::Write;

use super::{Block, Page, Table};

pub(super) fn render(page: &Page) -> String {
    let mut text = format!("# {}\n", page.title);
    // Writing to a string does not fail.
    for block in &page.blocks {
        text.push('\n');
        match block {
            Block::Heading(words) => {
                let _ = writeln!(text, "## {words}");
            }
            Block::Paragraph(words) => {
                let _ = writeln!(text, "{words}");
            }
            Block::List(items) => {
                for item in items {
                    let _ = writeln!(text, "- {item}");
                }
            }
            Block::Table(table) => render_table(&mut text, table),
            Block::Chart(points) => {
                text.push_str("| date | rate |\n|---|--:|\n");
                for (date, percent) in points {
                    let _ = writeln!(text, "| {date} | {percent:.1} % |");
                }
            }
        }
    }
    text
}

fn render_table(text: &mut String, table: &Table) {
    let _ = writeln!(text, "| {} |", table.titles.join(" | "));
    text.push('|');
    for column in 0..table.titles.len() {
        text.push_str(if table.is_numeric(column) { "--:|" } else { "---|" });
    }
    text.push('\n');
    for row in &table.rows {
        let cells: Vec<_> = row.iter().map(|cell| cell.to_string().replace('|', "\\|")).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
}
