//! Many sandboxes that do nothing.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::residue::Tracked;

/// How long they are watched.
const WATCHED: Duration = Duration::from_secs(10);
/// Starts at the beginning and at the end that are compared, by their medians.
const COMPARED: usize = 20;
/// Unit of CPU times in `/proc`, on every Linux of today.
const TICKS_PER_SECOND: f64 = 100.0;

/// What they cost.
#[derive(Serialize, Deserialize)]
pub struct Idle {
    /// How many.
    pub sandboxes: usize,
    /// Memory of one without its guest program, proportional share, in KiB: the first one alone.
    pub first_kib: u64,
    /// The same on average over all of them.
    pub mean_kib: u64,
    /// CPU time that all of them took together while they were watched, in seconds.
    pub cpu_seconds: f64,
    /// How long they were watched, in seconds.
    pub watched_seconds: f64,
    /// Median time from start to the guest's first word, of the first ones, in milliseconds.
    pub first_start_ms: f64,
    /// The same of the last ones.
    pub last_start_ms: f64,
}

/// Starts them one after the other and watches them.
pub fn measure(belljar: &Path, count: usize, short: bool) -> Result<Idle> {
    let folder = tempfile::Builder::new().prefix("belljar-idle-").tempdir()?;
    let script = ["--", "sh", "-c", "echo; exec sleep 3600"].map(str::to_owned);
    let mut running = Vec::with_capacity(count);
    let mut starts = Vec::with_capacity(count);
    let mut first_kib = 0;
    for number in 0..count {
        let started = Instant::now();
        let mut sandbox = Tracked::start(belljar, folder.path(), &script)?;
        let output = sandbox.child.stdout.take().context("no output")?;
        let mut line = String::new();
        if BufReader::new(output).read_line(&mut line)? == 0 {
            bail!("sandbox {number} of {count} did not start");
        }
        starts.push(started.elapsed().as_secs_f64() * 1e3);
        if number == 0 {
            std::thread::sleep(Duration::from_millis(500));
            first_kib = memory(&sandbox);
        }
        running.push(sandbox);
    }
    let watched = if short { Duration::from_millis(100) } else { WATCHED };
    std::thread::sleep(Duration::from_secs(1));
    let before: f64 = running.iter().map(cpu_seconds).sum();
    std::thread::sleep(watched);
    let after: f64 = running.iter().map(cpu_seconds).sum();
    let total: u64 = running.iter().map(memory).sum();
    let compared = COMPARED.min(count);
    let idle = Idle {
        sandboxes: count,
        first_kib,
        mean_kib: total / count.max(1) as u64,
        cpu_seconds: after - before,
        watched_seconds: watched.as_secs_f64(),
        first_start_ms: median(starts.get(..compared).unwrap_or_default()),
        last_start_ms: median(starts.get(count - compared..).unwrap_or_default()),
    };
    for sandbox in &mut running {
        sandbox.child.kill()?;
        sandbox.child.wait()?;
    }
    Ok(idle)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// The proportional share of memory, in KiB, of all its processes.
fn memory(sandbox: &Tracked) -> u64 {
    let share = |id: u32| -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
        let line = text.lines().find(|line| line.starts_with("Pss:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    sandbox.processes().iter().filter_map(|process| share(process.id)).sum()
}

fn cpu_seconds(sandbox: &Tracked) -> f64 {
    let ticks = |id: u32| -> Option<f64> {
        let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let fields: Vec<_> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let user: f64 = fields.get(11)?.parse().ok()?;
        let system: f64 = fields.get(12)?.parse().ok()?;
        Some(user + system)
    };
    let total: f64 = sandbox.processes().iter().filter_map(|process| ticks(process.id)).sum();
    total / TICKS_PER_SECOND
}
