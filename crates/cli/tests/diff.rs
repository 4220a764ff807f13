//! `belljar diff` and `--output`: what a run did, and what it leaves on the host.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn belljar(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const WORK: &str = "echo said; cd /root && mkdir d && echo x > d/new && echo 1 >> /etc/hosts && \
    rm /usr/bin/env && touch /usr/bin/sort && ln -s new d/link";

#[test]
fn shows_what_a_program_did_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let arguments = ["diff", "--user", "root", "--mount", ".:/work/here", "--", "sh", "-c", WORK];
    let output = belljar(&arguments, place.path());
    let shown = text(&output.stdout);
    let lines: Vec<&str> = shown.lines().filter(|line| !line.contains("hosts  ")).collect();
    let expected = [
        "  etc/",
        "  root/",
        "+   d/",
        "+     link -> new",
        "+     new  2",
        "  usr/",
        "    bin/",
        "-     env",
    ];
    assert_eq!(lines, expected, "{shown}");
    assert!(shown.contains("~   hosts"), "{shown}");
    assert_eq!(text(&output.stderr), "said\n");
}

#[test]
fn tells_of_earlier_runs_in_json() {
    let place = tempfile::tempdir().unwrap();
    let run = ["run", "--no-cwd", "--overlay", "kept", "--user", "root", "--", "sh", "-c", WORK];
    assert!(belljar(&run, place.path()).status.success());
    let output = belljar(&["diff", "--json", "--overlay", "kept"], place.path());
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let changes: Vec<String> = value["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {}", it["happened"].as_str().unwrap(), it["path"].as_str().unwrap()))
        .collect();
    let expected = [
        "changed /etc/hosts",
        "created /root/d",
        "created /root/d/link",
        "created /root/d/new",
        "removed /usr/bin/env",
    ];
    assert_eq!(changes, expected);
}

#[test]
fn results_arrive_and_what_is_missing_is_told() {
    let place = tempfile::tempdir().unwrap();
    let script = "mkdir -p r/s && echo x > r/s/f && ln -s /etc r/s/l && exit 3";
    let run = ["run", "--no-cwd", "--output", "all", "--output", "r:one", "--", "sh", "-c", script];
    let output = belljar(&run, place.path());
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    for path in ["all/home/user/r/s/f", "one/r/s/f"] {
        assert_eq!(fs::read_to_string(place.path().join(path)).unwrap(), "x\n");
    }
    let link = fs::read_link(place.path().join("one/r/s/l")).unwrap();
    assert_eq!(link, Path::new("/etc"));
    let output = belljar(&["run", "--no-cwd", "--output", "no:one", "--", "true"], place.path());
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("/home/user/no was not copied out: ENOENT"));
}

#[test]
fn a_link_in_the_output_folder_is_replaced_and_not_followed() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir_all(place.path().join("one")).unwrap();
    fs::write(place.path().join("key"), "mine").unwrap();
    std::os::unix::fs::symlink("../key", place.path().join("one/f")).unwrap();
    let run = ["run", "--no-cwd", "--output", "f:one", "--", "sh", "-c", "echo theirs > f"];
    assert!(belljar(&run, place.path()).status.success());
    assert_eq!(fs::read_to_string(place.path().join("key")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(place.path().join("one/f")).unwrap(), "theirs\n");
}
