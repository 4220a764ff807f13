//! A page as data, so that every report is written once and shown as text, Markdown or HTML.

mod html;
mod markdown;
mod text;

use crate::report::Rate;

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    title: String,
    blocks: Vec<Block>,
}

/// A part of a page.
#[derive(Clone, Debug)]
enum Block {
    Heading(String),
    Paragraph(String),
    List(Vec<String>),
    Table(Table),
    /// Percents over time, with the dates.
    Chart(Vec<(String, f64)>),
}

/// Rows under titles.
#[derive(Clone, Debug)]
pub struct Table {
    titles: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

/// What stands in a table.
#[derive(Clone, Debug)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A count.
    Number(usize),
    /// A share, which HTML shows as a bar too.
    Rate(Rate),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        Self::Number(number)
    }
}

impl From<Rate> for Cell {
    fn from(rate: Rate) -> Self {
        Self::Rate(rate)
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
            Self::Rate(rate) => write!(f, "{rate}"),
        }
    }
}

impl Cell {
    fn is_number(&self) -> bool {
        !matches!(self, Self::Text(_))
    }
}

impl Table {
    /// An empty table.
    pub fn new<const N: usize>(titles: [&'static str; N]) -> Self {
        Self { titles: titles.into(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(cells.into());
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether a column holds numbers, which stand at the right.
    fn is_numeric(&self, column: usize) -> bool {
        let cell = self.rows.first().and_then(|row| row.get(column));
        cell.is_some_and(Cell::is_number)
    }
}

impl Page {
    /// A page with this title.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), blocks: Vec::new() }
    }

    /// Adds a heading.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Heading(text.into()));
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Paragraph(text.into()));
    }

    /// Adds a list.
    pub fn list(&mut self, items: impl IntoIterator<Item = String>) {
        self.blocks.push(Block::List(items.into_iter().collect()));
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// Adds a chart of percents over time.
    pub fn chart(&mut self, points: Vec<(String, f64)>) {
        self.blocks.push(Block::Chart(points));
    }

    /// The page for a terminal.
    pub fn to_text(&self) -> String {
        text::render(self)
    }

    /// The page as Markdown.
    pub fn to_markdown(&self) -> String {
        markdown::render(self)
    }

    /// The page as HTML that needs nothing else.
    pub fn to_html(&self) -> String {
        html::render(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        let mut page = Page::new("A & B");
        page.heading("Rates");
        let mut table = Table::new(["name", "passed", "rate"]);
        table.row(["a|b <i>".into(), 2.into(), Rate { counted: 4, passed: 2 }.into()]);
        page.table(table);
        page.list(["one".to_owned()]);
        page.chart(vec![("2026-01-01".to_owned(), 50.0), ("2026-01-02".to_owned(), 75.0)]);
        page
    }

    #[test]
    fn as_text() {
        let text = page().to_text();
        assert!(text.contains("a|b <i>       2  50.0 %\n"), "{text}");
        assert!(text.contains("  one\n") && text.contains("2026-01-02  75.0 %"), "{text}");
    }

    #[test]
    fn as_markdown() {
        let text = page().to_markdown();
        assert!(
            text.starts_with("# A & B\n\n## Rates\n\n| name | passed | rate |\n|---|--:|--:|\n")
        );
        assert!(text.contains("| a\\|b <i> | 2 | 50.0 % |\n\n- one\n"), "{text}");
    }

    #[test]
    fn as_html() {
        let text = page().to_html();
        assert!(
            text.contains("<h1>A &amp; B</h1>") && text.contains("<td>a|b &lt;i&gt;"),
            "{text}"
        );
        assert!(text.contains("<polyline points='0.0,100.0 800.0,50.0 '"), "{text}");
    }
}
