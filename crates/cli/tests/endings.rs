//! Whatever happens to `belljar`, nothing of its sandbox is left behind.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long the host may take to end processes, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// A sandbox in which three processes sleep.
fn start() -> Child {
    let script = "sleep 1000 & (sleep 1000; true) & echo ready; wait";
    let mut child = Command::new(env!("CARGO_BIN_EXE_belljar"))
        .args(["run", "--", "sh", "-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

/// A process: its id, and when it started, since ids are used again.
type Process = (u32, u64);

/// Parent and starting time of every process of the host.
fn processes() -> Vec<(Process, u32)> {
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
fn descendants(of: u32) -> HashSet<Process> {
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

fn wait(child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(Instant::now() < deadline, "belljar does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn assert_gone(processes_before: &HashSet<Process>) {
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

fn send(id: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(id).unwrap()).unwrap(), signal).unwrap();
}

/// Starts a sandbox, sends `belljar` a signal, and sees that everything ends.
fn nothing_is_left_after(signal: Signal) -> ExitStatus {
    let mut child = start();
    let inside = descendants(child.id());
    assert!(!inside.is_empty(), "a sandbox has processes");
    send(child.id(), signal);
    let status = wait(&mut child);
    assert_gone(&inside);
    status
}

#[test]
fn nothing_is_left_after_kill() {
    nothing_is_left_after(Signal::KILL);
}

#[test]
fn nothing_is_left_after_terminate() {
    assert_eq!(nothing_is_left_after(Signal::TERM).code(), Some(143));
}

#[test]
fn nothing_is_left_after_a_closed_terminal() {
    assert_eq!(nothing_is_left_after(Signal::HUP).code(), Some(129));
}

#[test]
fn nothing_is_left_after_an_interrupt() {
    assert_eq!(nothing_is_left_after(Signal::INT).code(), Some(130));
}

#[test]
fn when_the_kernel_dies_everything_dies_and_the_code_is_125() {
    let mut child = start();
    let inside = descendants(child.id());
    let kernel = processes().into_iter().find(|(_, parent)| *parent == child.id()).unwrap().0.0;
    send(kernel, Signal::KILL);
    assert_eq!(wait(&mut child).code(), Some(125));
    assert_gone(&inside);
    let errors = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert!(errors.contains("error: the sandbox's kernel process died"), "{errors}");
}

#[test]
fn what_the_guest_leaves_running_ends_with_its_first_process() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_belljar"))
        .args(["run", "--", "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & sleep 0.3"])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(150));
    let inside = descendants(child.id());
    assert_eq!(wait(&mut child).code(), Some(0));
    assert_gone(&inside);
}
