//! `cargo xtask stress`: a short round of stress-ng inside.
//!
//! It is there to find what no test of a single call finds: a kernel that panics or hangs, a guest
//! that outlives its sandbox, an answer that is wrong only under load.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::command::build_belljar;
use crate::residue::{self, Tracked, drain};

/// What is stressed, one stressor after the other, a second each.
const CLASSES: &str = "pipe,network,interrupt,io";

/// More than the round takes on a slow machine.
const LIMIT: Duration = Duration::from_secs(180);

/// stress-ng's codes for success, and for stressors that do not apply here.
const GOOD_CODES: [i32; 2] = [0, 3];

/// Runs the round.
pub fn run() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let started = Instant::now();
    let mut arguments = vec!["--timeout=150s", "--", "stress-ng", "--class", CLASSES];
    arguments.extend(["--sequential", "1", "--timeout", "1", "--temp-path", "/tmp"]);
    let arguments: Vec<_> = arguments.into_iter().map(str::to_owned).collect();
    let mut tracked = Tracked::start(&build_belljar()?, folder.path(), &arguments)?;
    drop(tracked.child.stdin.take());
    let (output, errors) = (drain(tracked.child.stdout.take()), drain(tracked.child.stderr.take()));
    let Some(status) = tracked.wait(LIMIT)? else { bail!("belljar does not end") };
    tracked.check_nothing_left(folder.path())?;
    let text = residue::text(output) + &residue::text(errors);
    let bad = |line: &&str| line.contains(" fail: ") || line.contains("panicked");
    let bad: BTreeSet<_> = text.lines().filter(bad).collect();
    bad.iter().for_each(|line| println!("{line}"));
    for (stressor, reason) in skipped(&text) {
        test_skips::skip(&format!("stress {stressor}"), reason);
    }
    if !status.code().is_some_and(|code| GOOD_CODES.contains(&code)) {
        println!("{text}");
        bail!("stress-ng ended with {status}");
    }
    if !bad.is_empty() {
        bail!("{} kinds of failures under stress", bad.len());
    }
    println!("stress: passed after {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// The stressors that said that they are skipped, and why.
fn skipped(text: &str) -> Vec<(&str, &str)> {
    let skipped = |line| {
        // `stress-ng: info:  [2] rawsock stressor will be skipped, ...`, or `... sctp: ..., skipping ...`.
        let (_, said): (&str, &str) = str::split_once(line, "] ")?;
        let is_skip = said.contains("will be skipped") || said.contains("skipping stressor");
        let name = said.split([' ', ':']).next()?;
        is_skip.then_some((name, said))
    };
    text.lines().filter_map(skipped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stressors_that_are_skipped_are_told() {
        let text = "stress-ng: info:  [2] setting to a 1 second run per stressor\n\
                    stress-ng: info:  [2] rawdev flood stressor will be skipped, need to be root\n\
                    stress-ng: info:  [21] ping-sock: skipping stressor, permission denied\n\
                    stress-ng: info:  [9] dccp: DCCP protocol not supported, skipping stressor\n";
        let names: Vec<_> = skipped(text).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["rawdev", "ping-sock", "dccp"]);
    }
}
