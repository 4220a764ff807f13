//! A terminal that is slower than the guest: everything is shown before `belljar` ends, unless
//! somebody ends it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod processes;
mod terminal_pair;

use std::fs::File;
use std::io::Read;
use std::process::{Child, Command};
use std::time::Duration;

use processes::wait_for_end;
use rustix::process::{Pid, Signal, kill_process};

/// More than a host's terminal and the kernel process together hold.
const SCRIPT: &str = "head -c 50000 /dev/zero | tr '\\0' x; printf END";

/// Starts `belljar run` on a terminal of its own. Returns the other side of that.
fn start(options: &[&str], script: &str) -> (File, Child) {
    let (master, side) = terminal_pair::open();
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait", env!("CARGO_BIN_EXE_belljar"), "run"]);
    command.args(options).args(["--", "sh", "-c", script]);
    terminal_pair::give(side, &mut command);
    (master, command.spawn().unwrap())
}

#[test]
fn everything_is_shown_to_a_slow_reader() {
    let (mut master, mut child) = start(&[], SCRIPT);
    let (mut seen, mut chunk) = (Vec::new(), [0; 1024]);
    // The guest is long gone when most of it is read. The end of a terminal is an error.
    std::thread::sleep(Duration::from_millis(500));
    while let Ok(n @ 1..) = master.read(&mut chunk) {
        seen.extend(chunk.iter().take(n));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(wait_for_end(&mut child).success());
    assert_eq!(seen.iter().filter(|byte| **byte == b'x').count(), 50_000);
    assert!(seen.ends_with(b"END"));
}

#[test]
fn a_time_limit_ends_the_wait_for_the_terminal() {
    let (_master, mut child) = start(&["--timeout", "2s"], SCRIPT);
    // What is said about the end goes to that terminal, which nobody reads: it has room for it.
    assert_eq!(wait_for_end(&mut child).code(), Some(124));
}

#[test]
fn a_signal_ends_the_wait_for_the_terminal() {
    let (master, mut child) = start(&[], SCRIPT);
    std::thread::sleep(Duration::from_secs(2));
    assert!(child.try_wait().unwrap().is_none(), "there is more to show");
    let group = rustix::termios::tcgetpgrp(&master).unwrap();
    kill_process(Pid::from_raw(group.as_raw_nonzero().get()).unwrap(), Signal::TERM).unwrap();
    assert_eq!(wait_for_end(&mut child).code(), Some(137));
}
