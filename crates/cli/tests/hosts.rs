//! Hosts that lack something, namespaces or Landlock, and hosts that run out of something, at the
//! start or under way: an error or a working sandbox, never a hang, a panic or a leftover.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod processes;

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use processes::{PATIENCE, assert_gone, descendants, start_until_ready, wait_for_end};
use rustix::process::{Pid, Signal, kill_process};

/// Processes, pipes and files.
const WORK: &str = "for i in 1 2 3 4 5 6; do (ls / | wc -l) > /dev/null; sleep 0.01 & done; wait; \
                    echo done";

/// Runs `belljar run -- sh -c SCRIPT` behind other words, such as `prlimit --nofile=20`. Whoever
/// hangs is killed. No temporary file may be left.
fn run(behind: &[&str], belljar: &str, options: &[&str], script: &str) -> Output {
    let temporary = tempfile::tempdir().unwrap();
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(temporary.path(), open).unwrap();
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", "300"]).args(behind).arg(belljar);
    command.args(["run", "--no-cwd"]).args(options);
    command.args(["--", "sh", "-c", script]).env("TMPDIR", temporary.path());
    let started = Instant::now();
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(started.elapsed() < Duration::from_secs(290), "{behind:?}: hangs");
    let left: Vec<_> = temporary.path().read_dir().unwrap().flatten().collect();
    assert!(left.is_empty(), "temporary files are left: {left:?}");
    output
}

/// Builds the program that takes calls away, or says why the test is skipped.
fn forbid(folder: &Path) -> Option<String> {
    let program = folder.join("forbid");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hosts/forbid.c");
    let built = Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(source).status();
    if built.is_ok_and(|status| status.success()) {
        return Some(program.to_str().unwrap().to_owned());
    }
    test_skips::skip("forbidden-calls", "there is no C compiler");
    None
}

/// What a sandbox without enough of something may do: work, or say what is missing.
fn assert_honest(output: &Output, what: &str) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("panicked"), "{what}: {errors}");
    // A program that cannot be started any more, with its old one gone, is killed, as on Linux.
    let code = output.status.code();
    assert!(code == Some(0) || !errors.is_empty(), "{what}: {code:?} without a word");
}

const BELLJAR: &str = env!("CARGO_BIN_EXE_belljar");

#[test]
fn a_host_without_descriptors() {
    for n in [6, 8, 12, 16, 20, 24, 28, 32, 48, 64, 100] {
        let limit = format!("--nofile={n}");
        let output = run(&["prlimit", &limit], BELLJAR, &[], WORK);
        assert_honest(&output, &limit);
        assert!(n > 30 || output.status.code() == Some(125), "{limit} is too little to start");
    }
}

#[test]
fn a_host_without_memory() {
    for n in [30_000_000, 100_000_000, 200_000_000, 400_000_000_u64] {
        let limit = format!("--as={n}");
        assert_honest(&run(&["prlimit", &limit], BELLJAR, &[], WORK), &limit);
    }
}

#[test]
fn a_host_without_processes() {
    // The limit does not hold for root, who can become somebody else. The name is not used.
    let folder = tempfile::tempdir().unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let belljar = folder.path().join("belljar");
    std::fs::copy(BELLJAR, &belljar).unwrap();
    let somebody =
        ["setpriv", "--reuid=64321", "--regid=64321", "--clear-groups", "--bounding-set=-all"];
    let is_root = rustix::process::geteuid().is_root();
    for n in [1, 2, 3, 4, 6, 8, 12] {
        if !is_root {
            test_skips::skip(
                "few-processes",
                "without root, the limit counts other processes, too",
            );
            return;
        }
        let limit = format!("--nproc={n}");
        let behind = [&somebody[..], &["prlimit", &limit]].concat();
        assert_honest(&run(&behind, belljar.to_str().unwrap(), &[], WORK), &limit);
    }
    // Enough to start, and not for what the guest makes: it is told what Linux tells.
    let behind = [&somebody[..], &["prlimit", "--nproc=40"]].concat();
    let bomb = "i=0; while [ $i -lt 60 ]; do sleep 9 & i=$((i+1)); done; wait";
    let output = run(&behind, belljar.to_str().unwrap(), &[], bomb);
    assert_honest(&output, "under way");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("annot fork"), "{:?}: {errors}", output.status);
    let started = Instant::now();
    while Command::new("pgrep").args(["-u", "64321"]).output().unwrap().status.success() {
        assert!(started.elapsed() < PATIENCE, "processes are left");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Below a limit that comes while the sandbox runs. Whatever the guests are told, there is an end.
fn run_out_of(what: &str) {
    let script = "echo ready; read line; for i in 1 2 3; do (ls / | wc -l) > /dev/null; sleep 0.01 & \
                  done; wait; head -c 20M /dev/zero > /tmp/file; echo done";
    let mut command = Command::new(BELLJAR);
    command.args(["run", "--timeout", "60s", "--", "sh", "-c", script]);
    let mut child = start_until_ready_with_input(&mut command);
    let inside = descendants(child.id());
    for (id, _) in &inside {
        let status = Command::new("prlimit").arg("--pid").arg(id.to_string()).arg(what).status();
        assert!(status.unwrap().success());
    }
    drop(child.stdin.take());
    // What it still says goes nowhere.
    drop(child.stdout.take());
    let status = wait_for_end(&mut child);
    assert!(status.code().is_some_and(|code| code != 124), "{what}: {status}: hangs");
    assert_gone(&inside);
}

fn start_until_ready_with_input(command: &mut Command) -> std::process::Child {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

#[test]
fn a_host_that_runs_out_of_something_under_way() {
    for what in ["--nofile=10", "--as=1000000", "--data=1000000"] {
        run_out_of(what);
    }
}

#[test]
fn a_host_whose_disk_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let forbidden = "mount -t tmpfs -o size=64k none \"$0\" && exec \"$@\"";
    let path = folder.path().to_str().unwrap();
    let behind = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", forbidden, path];
    let works = Command::new(behind[0]).args(&behind[1..]).arg("true").status();
    if !works.is_ok_and(|status| status.success()) {
        test_skips::skip("full-disk", "no user namespaces to mount a small disk in");
        return;
    }
    let small = format!("{path}:/small:rw");
    let script = "head -c 1M /dev/zero > /small/file; echo code $?; echo still here";
    let mut words = behind.to_vec();
    let temporary = format!("TMPDIR={path}");
    words.extend(["env", &temporary]);
    let output = run(&words, BELLJAR, &["--mount", &small], script);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("code 1") && text.contains("still here"), "{output:?}");
    // The archive of a skill is unpacked onto that disk.
    let skill = tempfile::tempdir().unwrap();
    let manifest = "---\nname: large\ndescription: Does not fit.\n---\n";
    std::fs::create_dir(skill.path().join("large")).unwrap();
    std::fs::write(skill.path().join("large/SKILL.md"), manifest).unwrap();
    let noise: Vec<u8> = (0..1_u32 << 18).flat_map(|n| n.wrapping_mul(n).to_le_bytes()).collect();
    std::fs::write(skill.path().join("large/noise"), noise).unwrap();
    let archive = skill.path().join("large.skill");
    let mut pack = Command::new(BELLJAR);
    pack.args(["skill", "pack"]).arg(skill.path().join("large")).arg("--output").arg(&archive);
    let packed = pack.output().unwrap();
    assert!(packed.status.success(), "{packed:?}");
    let (program, rest) = words.split_first().unwrap();
    let shown =
        Command::new(program).args(rest).args([BELLJAR, "skill", "show"]).arg(&archive).output();
    let shown = shown.unwrap();
    let errors = String::from_utf8_lossy(&shown.stderr).into_owned();
    assert!(!shown.status.success() && errors.to_lowercase().contains("space"), "{shown:?}");
}

#[test]
fn a_host_without_landlock() {
    let folder = tempfile::tempdir().unwrap();
    let Some(forbid) = forbid(folder.path()) else { return };
    let behind = [&*forbid, "444", "445", "446", "--"];
    let output = run(&behind, BELLJAR, &["--json-report", "/dev/stderr"], WORK);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(output.stdout.ends_with(b"done\n"));
    assert!(errors.contains("the host's kernel has none"), "{errors}");
    let refused = run(&behind, BELLJAR, &["--require", "landlock"], WORK);
    assert_eq!(refused.status.code(), Some(125));
    let doctor = Command::new(&forbid).args(&behind[1..]).args([BELLJAR, "doctor"]).output();
    let words = String::from_utf8_lossy(&doctor.unwrap().stdout).into_owned();
    assert!(words.contains("landlock") && words.contains("not available"), "{words}");
}

#[test]
fn a_container_that_forbids_namespaces() {
    let folder = tempfile::tempdir().unwrap();
    let Some(forbid) = forbid(folder.path()) else { return };
    let behind = [&*forbid, "namespaces", "--"];
    let output = run(&behind, BELLJAR, &["--json-report", "/dev/stderr"], WORK);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(output.stdout.ends_with(b"done\n"));
    assert!(errors.contains("the host does not permit it to this user"), "{errors}");
}

/// Words before a command that forbid it further user namespaces, where one can be had for that.
fn without_user_namespaces() -> Option<Vec<&'static str>> {
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let words = vec!["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"];
    let (program, rest) = words.split_first().unwrap();
    let works = Command::new(program).args(rest).arg("true").stderr(Stdio::null()).status();
    if works.is_ok_and(|status| status.success()) {
        return Some(words);
    }
    test_skips::skip("without-user-namespaces", "none to take them away in");
    None
}

#[test]
fn a_host_that_forbids_user_namespaces() {
    let Some(behind) = without_user_namespaces() else { return };
    let output = run(&behind, BELLJAR, &["--json-report", "/dev/stderr"], WORK);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(output.stdout.ends_with(b"done\n"));
    // The report says what does not hold.
    assert!(errors.contains("unavailable"), "{errors}");
    let refused = run(&behind, BELLJAR, &["--require", "landlock,userns"], WORK);
    assert_eq!(refused.status.code(), Some(125));
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(errors.contains("user-namespace") || errors.contains("landlock"), "{errors}");
}

#[test]
fn nothing_is_left_without_a_pid_namespace() {
    let Some(behind) = without_user_namespaces() else { return };
    let (program, rest) = behind.split_first().unwrap();
    let script = "sleep 1000 & (sleep 1000; true) & echo ready; wait";
    let mut command = Command::new(program);
    let mut child =
        start_until_ready(command.args(rest).args([BELLJAR, "run", "--", "sh", "-c", script]));
    let inside = descendants(child.id());
    let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(id, Signal::KILL).unwrap();
    child.wait().unwrap();
    assert_gone(&inside);
}
