//! A page for a terminal.

use std::fmt::Write;

use super::{Block, Page, Table};

pub(super) fn render(page: &Page) -> String {
    let mut text = format!("{}\n", page.title);
    // Writing to a string does not fail.
    for block in &page.blocks {
        match block {
            Block::Heading(words) => {
                let _ = writeln!(text, "\n{words}:");
            }
            Block::Paragraph(words) => {
                let _ = writeln!(text, "{words}");
            }
            Block::List(items) => {
                for item in items {
                    let _ = writeln!(text, "  {item}");
                }
            }
            Block::Table(table) => render_table(&mut text, table),
            Block::Chart(points) => {
                for (date, percent) in points {
                    let _ = writeln!(text, "  {date}  {percent:.1} %");
                }
            }
        }
    }
    text
}

fn render_table(text: &mut String, table: &Table) {
    let rows: Vec<Vec<String>> =
        std::iter::once(table.titles.iter().map(|it| (*it).to_owned()).collect())
            .chain(table.rows.iter().map(|row| row.iter().map(ToString::to_string).collect()))
            .collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..table.titles.len()).map(width).collect();
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = if table.is_numeric(column) {
                write!(line, "{cell:>width$}  ")
            } else {
                write!(line, "{cell:<width$}  ")
            };
        }
        let _ = writeln!(text, "  {}", line.trim_end());
    }
}
