//! Whatever happens to `belljar`, nothing of its sandbox is left behind.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod processes;

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use processes::{PATIENCE, assert_gone, descendants, processes, start_until_ready, wait_for_end};
use rustix::process::{Pid, Signal, kill_process};

/// A sandbox in which three processes sleep.
fn start() -> Child {
    let script = "sleep 1000 & (sleep 1000; true) & echo ready; wait";
    // A test that runs in the background of a script ignores some signals, and so would this.
    let mut command = Command::new("env");
    command.args(["--default-signal", env!("CARGO_BIN_EXE_belljar")]);
    start_until_ready(command.args(["run", "--", "sh", "-c", script]))
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
fn what_belljar_was_started_to_ignore_the_guest_ignores() {
    let start = "trap '' INT HUP; exec \"$0\" run -- sh -c \"$1\"";
    let script = "kill -INT $$; kill -HUP $$; echo ready; exec sleep 1000";
    let mut command = Command::new("sh");
    let belljar = env!("CARGO_BIN_EXE_belljar");
    let mut child = start_until_ready(command.args(["-c", start, belljar, script]));
    send(child.id(), Signal::INT);
    send(child.id(), Signal::HUP);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(child.try_wait().unwrap(), None);
    send(child.id(), Signal::TERM);
    assert_eq!(wait(&mut child).code(), Some(143));
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

/// A kernel process that cannot get to its own timer is ended from outside.
#[test]
fn time_is_over_also_when_the_kernel_is_stuck() {
    for (signal, code) in [(Signal::STOP, 124), (Signal::KILL, 125)] {
        let folder = tempfile::tempdir().unwrap();
        let audit = folder.path().join("audit.jsonl");
        let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
        command.args(["run", "--timeout", "2s", "--audit"]).arg(&audit);
        command.args(["--", "sh", "-c", "echo ready; exec sleep 1000"]);
        let mut child = start_until_ready(&mut command);
        let inside = descendants(child.id());
        let kernel = processes().into_iter().find(|(_, parent)| *parent == child.id()).unwrap().0.0;
        send(kernel, signal);
        assert_eq!(wait(&mut child).code(), Some(code));
        assert_gone(&inside);
        // What it has kept from leaving is lost with it; the log does not keep quiet about that.
        let log = std::fs::read_to_string(&audit).unwrap();
        assert!(log.contains(r#""event":"cut-off""#), "{code}: {log:?}");
    }
}

/// The same, before there is a guest.
#[test]
fn time_is_over_also_when_the_start_is_stuck() {
    let folder = tempfile::tempdir().unwrap();
    // Many mounts, so that there is time to stop the kernel process before it has started.
    let mounts = (0..400).map(|n| format!("{}:/mounted-{n}", folder.path().display()));
    let mounts: Vec<_> = mounts.flat_map(|mount| ["--mount".to_owned(), mount]).collect();
    let is_stopped_in_time = |_| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_belljar"))
            .args(["run", "--timeout", "1s"])
            .args(&mounts)
            .args(["--", "true"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let list = format!("/proc/{0}/task/{0}/children", child.id());
        let kernel = loop {
            let text = std::fs::read_to_string(&list).unwrap();
            match text.split_whitespace().next().map(|word| word.parse().unwrap()) {
                Some(kernel) => break kernel,
                None => assert_eq!(child.try_wait().unwrap(), None),
            }
        };
        send(kernel, Signal::STOP);
        let inside = descendants(child.id());
        let code = wait_for_end(&mut child).code();
        assert_gone(&inside);
        let errors = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
        // Otherwise it was too late, and the guest had started.
        let is_stuck = code != Some(124) && code != Some(0);
        assert!(!is_stuck || code == Some(125), "{code:?}: {errors}");
        assert!(!is_stuck || errors.contains("it is not ready in time"), "{errors}");
        is_stuck
    };
    let is_one = (0..20).any(is_stopped_in_time);
    assert!(is_one, "the kernel process starts faster than it can be stopped");
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
