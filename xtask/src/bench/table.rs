//! Measurements as tables.

use std::fmt::Write;

use super::measure::{Benchmark, Cpus, Measurements, Samples};
use super::targets;

/// `850 ns`, `1.24 us`, `13.0 ms`.
pub fn duration(nanoseconds: f64) -> String {
    for (unit, size) in [("s", 1e9), ("ms", 1e6), ("us", 1e3)] {
        if nanoseconds >= size {
            return format!("{:.2} {unit}", nanoseconds / size);
        }
    }
    format!("{nanoseconds:.0} ns")
}

/// What a launcher takes as a multiple of what native takes, by medians: what users meet. Goals are
/// judged by it.
pub fn ratio(native: &Samples, other: &Samples) -> Option<f64> {
    Some(other.median()? / native.median()?)
}

/// The same by minima: what it comes to when nothing disturbs it.
pub fn least_ratio(native: &Samples, other: &Samples) -> Option<f64> {
    Some(other.minimum()? / native.minimum()?)
}

/// A ratio with the one of the minima beside it.
fn ratios(native: &Samples, other: &Samples) -> String {
    match (ratio(native, other), least_ratio(native, other)) {
        (Some(ratio), Some(least)) => format!("{ratio:.2} ({least:.2})"),
        _ => "-".to_owned(),
    }
}

fn cells(benchmark: &Benchmark) -> Vec<String> {
    let Some((native, others)) = benchmark.samples.split_first() else { return Vec::new() };
    let pair = |samples: &Samples| match (samples.minimum(), samples.median()) {
        (Some(minimum), Some(median)) => format!("{} ({})", duration(median), duration(minimum)),
        _ => "failed".to_owned(),
    };
    let mut cells = vec![pair(native)];
    for other in others {
        cells.push(pair(other));
        cells.push(ratios(native, other));
    }
    cells
}

fn headings(measurements: &Measurements) -> Vec<String> {
    let mut headings = vec!["native".to_owned()];
    for name in measurements.launchers.iter().skip(1) {
        headings.push(name.clone());
        headings.push("ratio".to_owned());
    }
    headings
}

/// The table for a terminal, with why what failed did.
pub fn text(measurements: &Measurements) -> String {
    let mut text = String::new();
    let mut line = |name: &str, cells: &[String]| {
        // Writing to a string does not fail.
        let _ = write!(text, "{name:<34}");
        for cell in cells {
            let _ = write!(text, "{cell:>22}");
        }
        text.push('\n');
    };
    line("median (minimum)", &headings(measurements));
    for benchmark in &measurements.benchmarks {
        line(&benchmark.name, &cells(benchmark));
    }
    for benchmark in &measurements.benchmarks {
        for (launcher, samples) in measurements.launchers.iter().zip(&benchmark.samples) {
            if let Some(failure) = &samples.failure {
                let _ = writeln!(text, "{} under {launcher}: {failure}", benchmark.name);
            }
        }
    }
    text
}

/// What changed by more than a tenth in the ratio of our sandbox to native.
pub fn comparison(before: &Measurements, now: &Measurements) -> String {
    let ours = |benchmark: &Benchmark| match benchmark.samples.as_slice() {
        [native, ours, ..] => ratio(native, ours),
        _ => None,
    };
    let mut text = format!("Against {} of {}:\n", before.commit, before.date);
    for benchmark in &now.benchmarks {
        let old = before.benchmarks.iter().find(|other| other.name == benchmark.name);
        let (Some(old), Some(new)) = (old.and_then(ours), ours(benchmark)) else { continue };
        let word = match new / old {
            change if change > 1.1 => "slower",
            change if change < 0.9 => "faster",
            _ => continue,
        };
        let _ = writeln!(text, "  {word} {:<34} {old:.2} -> {new:.2}", benchmark.name);
    }
    text
}

/// The page in `docs/`.
pub fn page(measurements: &Measurements, chart: &str) -> String {
    let cpus = match (measurements.used, measurements.cpus) {
        (Cpus::All, n) => format!("{n} CPUs"),
        (Cpus::One, _) => "on one CPU".to_owned(),
        (Cpus::OneBusy, n) => format!("{n} CPUs, one of them busy with something else"),
    };
    let mut page = format!(
        "# Performance\n\nMeasured by `cargo xtask bench` on {} at {}: {}, {cpus}, host kernel {}. \
         Native and sandbox took turns {} times; each cell is the median, with the minimum \
         beside it; goals are judged by the medians. Where the two are far apart, the machine was \
         busy.\n\n![ratios]({chart})\n\n",
        measurements.date,
        measurements.commit,
        measurements.processor,
        measurements.kernel,
        measurements.rounds
    );
    let mut headings = headings(measurements);
    if measurements.has_goals() {
        headings.push("goal".to_owned());
    }
    let _ = writeln!(page, "| | {} |", headings.join(" | "));
    let _ = writeln!(page, "|---|{}", "--:|".repeat(headings.len()));
    let mut missed = Vec::new();
    for benchmark in &measurements.benchmarks {
        let mut cells = cells(benchmark);
        if measurements.has_goals() {
            cells.push(goal(benchmark));
        }
        if is_missed(benchmark) {
            missed.push(benchmark.name.as_str());
        }
        let _ = writeln!(page, "| {} | {} |", benchmark.name, cells.join(" | "));
    }
    if measurements.has_goals() && !missed.is_empty() {
        let _ = writeln!(
            page,
            "\nGoals that are missed are in bold; [where the time goes](where-the-time-goes.md) \
             says why: {}.",
            missed.join("; ")
        );
    }
    page
}

fn is_missed(benchmark: &Benchmark) -> bool {
    let [native, ours, ..] = benchmark.samples.as_slice() else { return false };
    targets::of(&benchmark.name).is_some_and(|target| !target.is_reached(native, ours))
}

fn goal(benchmark: &Benchmark) -> String {
    let text = targets::of(&benchmark.name).map_or_else(String::new, |target| target.text());
    if is_missed(benchmark) { format!("**{text}**") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_fitting_units() {
        assert_eq!(duration(12.4), "12 ns");
        assert_eq!(duration(1240.0), "1.24 us");
        assert_eq!(duration(2.5e9), "2.50 s");
    }

    #[test]
    fn a_ratio_is_that_of_the_medians() {
        let samples =
            |nanoseconds: &[f64]| Samples { nanoseconds: nanoseconds.into(), failure: None };
        let (native, ours) = (samples(&[40.0, 10.0, 20.0]), samples(&[30.0, 15.0, 90.0]));
        assert_eq!(ratio(&native, &ours), Some(1.5));
        assert_eq!(ratios(&native, &samples(&[25.0, 20.0, 30.0])), "1.25 (2.00)");
        assert_eq!(ratio(&samples(&[1.0]), &samples(&[])), None);
        assert_eq!(ratios(&samples(&[1.0]), &samples(&[])), "-");
    }
}
