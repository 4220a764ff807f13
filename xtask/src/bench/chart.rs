//! Ratios as bars, on a logarithmic scale, with a line where native is.

use std::fmt::Write;

use super::measure::Measurements;
use super::table::ratio;

const ROW: u32 = 18;
const LEFT: f64 = 250.0;
const WIDTH: f64 = 500.0;
const COLOURS: [&str; 4] = ["#2a7", "#c63", "#36c", "#888"];

/// Where a ratio stands, from a twentieth to fifty times native.
fn position(ratio: f64) -> f64 {
    let (low, high) = (0.05_f64.ln(), 50_f64.ln());
    LEFT + WIDTH * ((ratio.ln() - low) / (high - low)).clamp(0.0, 1.0)
}

/// The chart.
pub fn svg(measurements: &Measurements) -> String {
    let mut bars = String::new();
    let mut y = 30;
    let native = position(1.0);
    for benchmark in &measurements.benchmarks {
        let Some((first, others)) = benchmark.samples.split_first() else { continue };
        // Writing to a string does not fail.
        let _ = writeln!(bars, "<text x='0' y='{}'>{}</text>", y + 12, escape(&benchmark.name));
        for (samples, colour) in others.iter().zip(COLOURS.iter().cycle()) {
            if let Some(ratio) = ratio(first, samples) {
                let x = position(ratio);
                let (start, width) = (x.min(native), (x - native).abs());
                let _ = writeln!(
                    bars,
                    "<rect x='{start:.1}' y='{y}' width='{width:.1}' height='12' fill='{colour}'/>\
                     <text x='{:.1}' y='{}'>{ratio:.2}</text>",
                    LEFT + WIDTH + 10.0,
                    y + 12
                );
            }
            y += ROW;
        }
    }
    let mut grid = String::new();
    for ratio in [0.1, 0.5, 1.0, 2.0, 10.0] {
        let x = position(ratio);
        let _ = writeln!(
            grid,
            "<line x1='{x:.1}' y1='20' x2='{x:.1}' y2='{y}' stroke='#ccc'/><text x='{x:.1}' y='14' text-anchor='middle'>{ratio}</text>"
        );
    }
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 820 {}' font-family='sans-serif' font-size='12'>\n{grid}{bars}</svg>\n",
        y + 10
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
