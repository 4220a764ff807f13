//! Limits that the host keeps in a control group of the sandbox's own; where it cannot have one, that
//! this is said.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod processes;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use processes::{PATIENCE, descendants, start_until_ready};

const LIMITS: [&str; 6] = ["--require", "cgroup", "--memory", "300M", "--processes", "40"];

fn belljar(script: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    command.arg("run").args(LIMITS).args(["--", "sh", "-c", script]);
    command
}

/// The folder of the control group (version 2) that a process is in.
fn group_of(id: u32) -> PathBuf {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let top = mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let place = words.next()?;
        (words.next()? == "cgroup2").then(|| PathBuf::from(place))
    });
    let groups = std::fs::read_to_string(format!("/proc/{id}/cgroup")).unwrap();
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap();
    top.unwrap().join(group)
}

#[test]
fn limits_are_the_hosts_as_well() {
    let output = belljar("exit 7").output().unwrap();
    if output.status.code() == Some(125) {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let start = "error: the containment layer control-group is required and cannot be had: ";
        assert!(errors.starts_with(start) && errors.contains("\nhint: "), "{errors}");
        test_skips::skip("control-group", "this host delegates no control group");
        return;
    }
    assert_eq!(output.status.code(), Some(7));
    let mut child = start_until_ready(&mut belljar("echo ready; exec sleep 600"));
    // Whoever removes the group when it is over is not in it.
    let inside = descendants(child.id());
    let groups = inside.iter().map(|(id, _)| group_of(*id));
    let name = format!("belljar-{}", child.id());
    let group = groups.into_iter().find(|group| group.ends_with(&name)).unwrap();
    for limit in ["memory.max", "pids.max"] {
        let text = std::fs::read_to_string(group.join(limit)).unwrap();
        assert!(text.trim().parse::<u64>().is_ok(), "{limit} is {text}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let started = Instant::now();
    while group.exists() {
        assert!(started.elapsed() < PATIENCE, "{} is left", group.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}
