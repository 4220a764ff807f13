//! A screen as an SVG picture.

use std::fmt::Write;

use super::screen::{Cell, Colour, Style};

const CHAR_WIDTH: f64 = 8.4;
const LINE_HEIGHT: usize = 19;
const FONT_SIZE: usize = 14;
const MARGIN: usize = 18;
const BAR_HEIGHT: usize = 34;
/// The narrowest picture, in characters.
const MIN_COLUMNS: usize = 80;

const BACKGROUND: &str = "#16181d";
const BAR: &str = "#23262e";
const PLAIN: &str = "#d7dae0";
/// The sixteen colours.
const PALETTE: [&str; 16] = [
    "#3b4048", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0",
    "#7f8794", "#ef8f97", "#b5d99c", "#f0d399", "#8cc5f5", "#d7a1ea", "#86d0da", "#ffffff",
];

/// Draws a screen.
pub fn draw(lines: &[Vec<Cell>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0).max(MIN_COLUMNS);
    let width = (width_of(columns) + 2.0 * as_f64(MARGIN)).ceil();
    let height = BAR_HEIGHT + lines.len() * LINE_HEIGHT + 2 * MARGIN;
    let mut svg = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"A terminal with belljar\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"10\" fill=\"{BACKGROUND}\"/>\n\
         <path d=\"M0 {BAR_HEIGHT}V10a10 10 0 0 1 10-10H{}a10 10 0 0 1 10 10V{BAR_HEIGHT}z\" \
         fill=\"{BAR}\"/>",
        width - 10.0
    );
    for (n, colour) in ["#e06c75", "#e5c07b", "#98c379"].iter().enumerate() {
        let x = MARGIN + 4 + n * 20;
        let _ = writeln!(svg, "<circle cx=\"{x}\" cy=\"17\" r=\"6\" fill=\"{colour}\"/>");
    }
    let _ = writeln!(
        svg,
        "<g font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace\" \
         font-size=\"{FONT_SIZE}\" fill=\"{PLAIN}\">"
    );
    for (n, line) in lines.iter().enumerate() {
        let y = BAR_HEIGHT + MARGIN + n * LINE_HEIGHT + FONT_SIZE;
        draw_line(&mut svg, line, y);
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// Draws a line as one text for each run of the same style.
fn draw_line(svg: &mut String, line: &[Cell], y: usize) {
    let mut column = 0;
    for run in line.chunk_by(|one, other| one.1 == other.1) {
        let text: String = run.iter().map(|(c, _)| c).collect();
        let x = as_f64(MARGIN) + width_of(column);
        let length = width_of(run.len());
        column += run.len();
        if text.trim().is_empty() {
            continue;
        }
        let style = run.first().map(|(_, style)| *style).unwrap_or_default();
        // The length makes fonts of another width fit.
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y}\" textLength=\"{length:.1}\"{}>{}</text>",
            attributes(style),
            escaped(&text)
        );
    }
}

fn attributes(style: Style) -> String {
    let mut text = match style.colour {
        Colour::Plain => String::new(),
        Colour::Numbered(n) => {
            format!(" fill=\"{}\"", PALETTE.get(usize::from(n)).unwrap_or(&PLAIN))
        }
    };
    if style.is_bold {
        text.push_str(" font-weight=\"bold\"");
    }
    text
}

/// Spaces are of the kind that no viewer takes together.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace(' ', "\u{a0}")
}

fn width_of(columns: usize) -> f64 {
    as_f64(columns) * CHAR_WIDTH
}

fn as_f64(n: usize) -> f64 {
    u32::try_from(n).unwrap_or(u32::MAX).into()
}
