//! Growth as tables and as a chart.

use std::fmt::Write;

use super::Growth;
use super::curves::Curve;
use crate::bench::duration;

const PANEL_WIDTH: f64 = 380.0;
const PANEL_HEIGHT: f64 = 200.0;
const COLOURS: [&str; 3] = ["#2a7", "#c63", "#36c"];

/// The tables, as Markdown that reads well on a terminal too.
pub fn tables(growth: &Growth) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    for curve in &growth.curves {
        let _ = write!(text, "| {} |", curve.kind);
        for count in &curve.counts {
            let _ = write!(text, " {count} |");
        }
        let _ = writeln!(text, "\n|---|{}", "--:|".repeat(curve.counts.len()));
        for (name, points) in &curve.calls {
            let _ = write!(text, "| {name} |");
            for point in points {
                let _ = write!(text, " {} |", duration(*point));
            }
            text.push('\n');
        }
        text.push('\n');
    }
    let idle = &growth.idle;
    let _ = writeln!(text, "| idle sandboxes | |\n|---|--:|");
    let _ = writeln!(text, "| at the same time | {} |", idle.sandboxes);
    let _ = writeln!(text, "| memory of the first alone | {} KiB |", idle.first_kib);
    let _ = writeln!(text, "| memory of each, with all running | {} KiB |", idle.mean_kib);
    let _ = writeln!(
        text,
        "| CPU time of all together in {:.0} s | {:.2} s |",
        idle.watched_seconds, idle.cpu_seconds
    );
    let _ = writeln!(text, "| start of the first ones, median | {:.1} ms |", idle.first_start_ms);
    let _ = writeln!(text, "| start of the last ones, median | {:.1} ms |", idle.last_start_ms);
    text
}

/// The page.
pub fn page(growth: &Growth, chart: &str) -> String {
    format!(
        "# Growth\n\nMeasured by `cargo xtask growth` on {}: what calls cost inside when there are many descriptors, names in a \
         folder, mounts or processes, least times. A call must not get slower by what it does not touch; `fork` copies the \
         table of descriptors and the host's page tables, as natively. Memory counts all processes of a sandbox, with the \
         guest's `sleep`, each page by its share.\n\n![curves]({chart})\n\n{}",
        growth.date,
        tables(growth)
    )
}

/// One panel per kind; both axes are logarithmic.
pub fn svg(growth: &Growth) -> String {
    let mut panels = String::new();
    for (index, curve) in growth.curves.iter().enumerate() {
        let (column, row) = ((index % 2) as f64, (index / 2) as f64);
        let (x, y) = (column * (PANEL_WIDTH + 30.0), row * (PANEL_HEIGHT + 70.0));
        let _ = writeln!(panels, "<g transform='translate({x:.0} {y:.0})'>{}</g>", panel(curve));
    }
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {:.0} {:.0}' font-family='sans-serif' font-size='12'>\n{panels}</svg>\n",
        2.0 * PANEL_WIDTH + 30.0,
        2.0 * (PANEL_HEIGHT + 70.0)
    )
}

/// Where a value stands between two others, on a logarithmic scale.
fn place(value: f64, low: f64, high: f64) -> f64 {
    ((value.ln() - low.ln()) / (high.ln() - low.ln())).clamp(0.0, 1.0)
}

fn panel(curve: &Curve) -> String {
    let x = |count: u32| 60.0 + (PANEL_WIDTH - 80.0) * place(count.into(), 10.0, 100_000.0);
    let y = |nanoseconds: f64| {
        PANEL_HEIGHT - 20.0 - (PANEL_HEIGHT - 40.0) * place(nanoseconds, 100.0, 1e6)
    };
    let mut text = format!("<text x='60' y='14' font-weight='bold'>{}</text>\n", curve.kind);
    for (nanoseconds, label) in
        [(1e2, "100 ns"), (1e3, "1 us"), (1e4, "10 us"), (1e5, "100 us"), (1e6, "1 ms")]
    {
        let at = y(nanoseconds);
        let _ = writeln!(
            text,
            "<line x1='60' x2='{:.0}' y1='{at:.1}' y2='{at:.1}' stroke='#ddd'/><text x='54' y='{:.1}' text-anchor='end'>{label}</text>",
            PANEL_WIDTH - 20.0,
            at + 4.0
        );
    }
    for count in &curve.counts {
        let _ = writeln!(
            text,
            "<text x='{:.1}' y='{:.1}' text-anchor='middle'>{count}</text>",
            x(*count),
            PANEL_HEIGHT
        );
    }
    for (number, ((name, points), colour)) in curve.calls.iter().zip(COLOURS).enumerate() {
        let line: Vec<String> = curve
            .counts
            .iter()
            .zip(points)
            .map(|(count, point)| format!("{:.1},{:.1}", x(*count), y(*point)))
            .collect();
        let _ = writeln!(
            text,
            "<polyline points='{}' fill='none' stroke='{colour}' stroke-width='2'/>\
             <text x='60' y='{:.1}' fill='{colour}'>{name}</text>",
            line.join(" "),
            PANEL_HEIGHT + 16.0 + 14.0 * number as f64
        );
    }
    text
}
