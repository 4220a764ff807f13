//! `cargo xtask stress`: a short round of stress-ng inside.
//!
//! It is there to find what no test of a single call finds: a kernel that panics or hangs, a guest
//! that outlives its sandbox, an answer that is wrong only under load.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use conformance::process::{self, Ending};

use crate::command::build_belljar;

/// What is stressed, one stressor after the other, a second each.
const CLASSES: &str = "pipe,network,interrupt,io";

/// What is left out, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("aiol", "not tried since asynchronous I/O was written"),
    ("sigpipe", "clones processes that share memory, which is refused"),
    ("vm-segv", "waits for ever where ptrace is refused"),
];

/// More than the round takes on a slow machine.
const LIMIT: Duration = Duration::from_secs(180);

/// stress-ng's codes for success, and for stressors that do not apply here.
const GOOD_CODES: [i32; 2] = [0, 3];

/// Runs the round.
pub fn run() -> Result<()> {
    for (name, why) in LEFT_OUT {
        println!("skipped {name}: {why}");
    }
    let left_out: Vec<_> = LEFT_OUT.iter().map(|(name, _)| *name).collect();
    let before = guests();
    let mut command = Command::new(build_belljar()?);
    command.args(["run", "--timeout=150s", "--", "stress-ng", "--class", CLASSES]);
    command.args(["--exclude", &left_out.join(","), "--sequential", "1", "--timeout", "1"]);
    command.args(["--temp-path", "/tmp"]);
    let finished = process::run(&mut command, b"", LIMIT)?;
    let text = String::from_utf8_lossy(&finished.output).into_owned()
        + &String::from_utf8_lossy(&finished.errors);
    let bad = |line: &&str| line.contains(" fail: ") || line.contains("panicked");
    let bad: BTreeSet<_> = text.lines().filter(bad).collect();
    bad.iter().for_each(|line| println!("{line}"));
    if !matches!(finished.ending, Ending::Code(code) if GOOD_CODES.contains(&code)) {
        println!("{text}");
        bail!("stress-ng ended with {}", finished.ending);
    }
    if !bad.is_empty() {
        bail!("{} kinds of failures under stress", bad.len());
    }
    let left: Vec<_> = guests().difference(&before).cloned().collect();
    if !left.is_empty() {
        bail!("guests outlived their sandbox: {}", left.join(" "));
    }
    println!("stress: passed after {:.0} s", finished.wall_time.as_secs_f64());
    Ok(())
}

/// The host's process ids of all guests on this machine.
fn guests() -> BTreeSet<String> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return BTreeSet::new() };
    let is_guest = |path: std::path::PathBuf| {
        let words = std::fs::read(path.join("cmdline")).ok()?;
        let pid = path.file_name()?.to_str()?.to_owned();
        words.starts_with(b"belljar-guest\0").then_some(pid)
    };
    processes.filter_map(|entry| is_guest(entry.ok()?.path())).collect()
}
