//! What calls cost when there is much of something, by `bench/growth.c`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use conformance::process::{self, Ending};
use serde::{Deserialize, Serialize};

use crate::command::{project, succeed};

/// Long enough for the largest count.
const TIMEOUT: Duration = Duration::from_secs(300);

/// What there is much of, and how many. A sandbox has at most some 4,000 processes and 10,000
/// mounts.
const KINDS: [(&str, [u32; 3]); 4] = [
    ("descriptors", [10, 1_000, 100_000]),
    ("entries", [10, 1_000, 100_000]),
    ("mounts", [10, 1_000, 9_000]),
    ("processes", [10, 1_000, 3_000]),
];

/// The least times of one kind's calls, in nanoseconds.
#[derive(Serialize, Deserialize)]
pub struct Curve {
    /// What there is much of.
    pub kind: String,
    /// How many, at each point.
    pub counts: Vec<u32>,
    /// The calls with their times at each point.
    pub calls: Vec<(String, Vec<f64>)>,
}

/// Measures all kinds inside.
pub fn measure(belljar: &Path, short: bool) -> Result<Vec<Curve>> {
    let folder = tempfile::Builder::new().prefix("belljar-growth-").tempdir()?;
    let program = folder.path().join("growth");
    let source = project().join("bench/growth.c");
    succeed(Command::new("cc").args(["-O2", "-o"]).args([&program, &source]))?;
    KINDS.iter().map(|(kind, counts)| curve(belljar, &program, kind, counts, short)).collect()
}

fn curve(belljar: &Path, program: &Path, kind: &str, counts: &[u32], short: bool) -> Result<Curve> {
    let counts = if short { counts.get(..1).unwrap_or_default() } else { counts };
    let mut calls: Vec<(String, Vec<f64>)> = Vec::new();
    for count in counts {
        for (name, nanoseconds) in sample(belljar, program, kind, *count)? {
            match calls.iter_mut().find(|(known, _)| *known == name) {
                Some((_, points)) => points.push(nanoseconds),
                None => calls.push((name, vec![nanoseconds])),
            }
        }
    }
    Ok(Curve { kind: kind.to_owned(), counts: counts.to_vec(), calls })
}

fn sample(belljar: &Path, program: &Path, kind: &str, count: u32) -> Result<Vec<(String, f64)>> {
    let mut command = Command::new(belljar);
    // Root, because not everybody may mount.
    command.args(["run", "--no-cwd", "--user", "root", "--files", "200000", "--processes", "4000"]);
    command.arg(format!("--mount={}:/growth", program.display()));
    command.args(["--tmpfs", "/folder:256M", "--", "/growth", kind, &count.to_string(), "/folder"]);
    let finished = process::run(&mut command, b"", TIMEOUT)?;
    if finished.ending != Ending::Code(0) {
        let errors = String::from_utf8_lossy(&finished.errors).into_owned();
        bail!("{count} {kind}: {}: {}", finished.ending, errors.trim());
    }
    let text = String::from_utf8_lossy(&finished.output).into_owned();
    let line = |line: &str| {
        let (nanoseconds, name) = line.split_once('\t').context("no tab")?;
        Ok((name.to_owned(), nanoseconds.parse().context("no number")?))
    };
    text.lines().map(line).collect()
}
