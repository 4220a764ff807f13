//! The processes of the host.

#![allow(dead_code, reason = "no test uses everything")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long the host may take to end processes, on a machine that is busy.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A process: its id, and when it started, since ids are used again.
pub type Process = (u32, u64);

/// Starts a command and waits until its program says that it is ready.
pub fn start_until_ready(command: &mut Command) -> Child {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

/// How a command ends that is about to.
pub fn wait_for_end(child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + 4 * PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(Instant::now() < deadline, "belljar does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Parent and starting time of every process of the host.
pub fn processes() -> Vec<(Process, u32)> {
    let ids = std::fs::read_dir("/proc").unwrap();
    let ids = ids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter_map(|id: u32| {
        let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name is in parentheses and may contain anything.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<_> = rest.split_whitespace().collect();
        let (state, parent, started) = (fields.first()?, fields.get(1)?, fields.get(19)?);
        (*state != "Z").then_some(((id, started.parse().ok()?), parent.parse().ok()?))
    })
    .collect()
}

/// Everything below a process.
pub fn descendants(of: u32) -> HashSet<Process> {
    let all = processes();
    let mut found = HashSet::new();
    let mut pending = vec![of];
    while let Some(parent) = pending.pop() {
        for (process, its_parent) in &all {
            if *its_parent == parent && found.insert(*process) {
                pending.push(process.0);
            }
        }
    }
    found
}

/// Waits until none of these is there any more.
pub fn assert_gone(processes_before: &HashSet<Process>) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let alive: HashSet<_> = processes().into_iter().map(|(process, _)| process).collect();
        let left: Vec<_> = processes_before.intersection(&alive).collect();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "left behind: {left:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
