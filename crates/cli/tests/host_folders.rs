//! Folders of the host: nothing outside of them is reached, and what the host cannot do comes out
//! as the error that Linux would give.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// How long the race goes on, in milliseconds.
const RACE: &str = "3000";

/// A program that a test runs.
fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/host_folders").join(name)
}

/// `belljar run` with a folder at `/m` and a script at `/script`, which Python runs.
fn python_inside(folder: &Path, script: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    command
        .args(["run", "--user", "root", "--mount", &format!("{}:/m:rw", folder.display())])
        .args(["--mount", &format!("{}:/script", source(script).display())])
        .args(["--", "/usr/bin/python3", "/script", "/m"]);
    command
}

fn python_outside(folder: &Path, script: &str) -> Command {
    let mut command = Command::new("/usr/bin/python3");
    command.arg(source(script)).arg(folder);
    command
}

#[track_caller]
fn output_of(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!((text(&output.stderr), output.status.code()), (String::new(), Some(0)));
    text(&output.stdout)
}

fn compile(name: &str, into: &Path) {
    let status = Command::new("cc")
        .args(["-O1", "-Wno-unused-result", "-pthread", "-o"])
        .arg(into)
        .arg(source(name))
        .status();
    assert!(status.unwrap().success());
}

fn guest(folder: &Path, arguments: &[&str]) -> Child {
    let mount = |name: &str, to: &str| format!("{}:{to}", folder.join(name).display());
    Command::new(env!("CARGO_BIN_EXE_belljar"))
        .args(["run", "--user", "root", "--mount", &mount("inside", "/m:rw")])
        .args(["--mount", &mount("race", "/race"), "--", "/race"])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What the host swaps in the folder: a directory and a link that leads out of it.
fn swap_on_the_host(folder: &Path, is_over: &AtomicBool) {
    let inside = folder.join("inside");
    let (name, other) = (inside.join("host"), inside.join("other"));
    fs::create_dir_all(name.join("deep")).unwrap();
    symlink("../outside", &other).unwrap();
    let here = rustix::fs::CWD;
    while !is_over.load(Ordering::Relaxed) {
        // A guest may have moved them in the meantime.
        let how = rustix::fs::RenameFlags::EXCHANGE;
        let _ = rustix::fs::renameat_with(here, &name, here, &other, how);
        let _ = fs::create_dir_all(name.join("deep"));
        let _ = symlink(folder.join("outside"), &other);
    }
}

#[test]
fn swapped_links_and_folders_lead_nowhere_outside() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    for name in ["inside", "outside", "outside/deep"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    let canaries = ["canary", "outside/canary", "outside/only-outside"];
    for canary in canaries {
        fs::write(folder.join(canary), "outside\n").unwrap();
    }
    compile("race.c", &folder.join("race"));
    let state = || -> Vec<_> {
        let paths = canaries.iter().chain(&["outside", "outside/deep"]);
        let of = |path: &&str| {
            let it = fs::metadata(folder.join(path)).unwrap();
            (it.ino(), it.mode(), it.nlink(), it.size(), it.mtime_nsec(), it.ctime_nsec())
        };
        paths.map(of).collect()
    };
    let before = state();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| swap_on_the_host(folder, &is_over));
        let canary = folder.join("outside/canary");
        let canary = canary.to_str().unwrap();
        let guests = ["attack", "attack", "swap"].map(|role| guest(folder, &[role, RACE, canary]));
        let ends = guests.map(|guest| guest.wait_with_output().unwrap());
        is_over.store(true, Ordering::Relaxed);
        for end in ends {
            let (out, err) =
                (String::from_utf8_lossy(&end.stdout), String::from_utf8_lossy(&end.stderr));
            assert_eq!((end.status.code(), out.as_ref(), err.as_ref()), (Some(0), "held\n", ""));
        }
    });
    assert_eq!(state(), before, "something outside was changed");
    for canary in canaries {
        assert_eq!(fs::read_to_string(folder.join(canary)).unwrap(), "outside\n");
    }
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["canary", "inside", "outside", "race"]);
}

/// Runs a script that asks the host for changes of `folder`, and returns what it said.
fn converse(mut command: Command, folder: &Path) -> Vec<String> {
    let page = |byte: u8| vec![byte; 8192];
    fs::create_dir_all(folder.join("directory")).unwrap();
    for (name, byte) in [("vanishing", b'v'), ("shrinking", b's'), ("replaced", b'o')] {
        fs::write(folder.join(name), page(byte)).unwrap();
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut answers = child.stdin.take().unwrap();
    let mut said = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let Some(wish) = line.strip_prefix("ask ") else {
            said.push(line);
            continue;
        };
        match wish {
            "remove vanishing" => fs::remove_file(folder.join("vanishing")).unwrap(),
            "shrink shrinking" => fs::write(folder.join("shrinking"), "short").unwrap(),
            "remove directory" => fs::remove_dir(folder.join("directory")).unwrap(),
            "replace replaced" => {
                fs::write(folder.join("new"), "new").unwrap();
                fs::rename(folder.join("new"), folder.join("replaced")).unwrap();
            }
            "make a tree" => make_tree(folder),
            other => change_in(folder, other),
        }
        answers.write_all(b"\n").unwrap();
    }
    assert!(child.wait().unwrap().success(), "{said:?}");
    said
}

#[test]
fn what_the_host_changes_under_way_is_seen_as_on_linux() {
    let (natively, inside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (natively, inside) = (natively.path(), inside.path());
    let expected = converse(python_outside(natively, "surprises.py"), natively);
    let found = converse(python_inside(inside, "surprises.py"), inside);
    assert!(expected.len() > 15, "{expected:?}");
    assert_eq!(found, expected);
}

/// Directories with five files each, in place of what is there.
fn make_tree(folder: &Path) {
    fs::remove_dir(folder.join("directory")).unwrap();
    for name in ["vanishing", "shrinking", "replaced"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    for directory in 0..8 {
        let directory = folder.join(format!("directory{directory}"));
        fs::create_dir(&directory).unwrap();
        for file in 0..5 {
            fs::write(directory.join(format!("file{file}")), "").unwrap();
        }
    }
}

/// Does what a script wishes: `create in directory3`.
fn change_in(folder: &Path, wish: &str) {
    let (what, directory) = wish.split_once(" in ").unwrap();
    let directory = folder.join(directory);
    let (new, other) = (directory.join("new"), directory.join("other"));
    match what {
        "create" => fs::write(new, "").unwrap(),
        "rename" => fs::rename(new, other).unwrap(),
        "remove" => fs::remove_file(other).unwrap(),
        _ => unreachable!("{wish}"),
    }
}

#[test]
fn names_that_the_host_changes_under_way_are_seen_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let said = converse(python_inside(folder.path(), "walk.py"), folder.path());
    assert_eq!(said, ["all was seen"]);
}

#[test]
fn who_waits_for_the_disk_waits_alone() {
    let place = tempfile::tempdir().unwrap();
    assert_eq!(output_of(&mut python_inside(place.path(), "sync.py")), "synced others went on\n");
}

#[test]
fn a_read_error_of_the_host_is_the_guests() {
    // A device that is never suspended has no such delay, so that reading it is an error.
    let mount = "/sys/class/mem/null/power/autosuspend_delay_ms:/m";
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    command.args(["run", "--user", "root", "--mount", mount, "--", "sh", "-c"]);
    command.arg("dd if=/m bs=16 count=1 2>&1; cat /m; echo $?");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("error reading '/m': Input/output error"), "{said}");
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(complaint, "cat: /m: Input/output error\n");
    assert!(said.ends_with("1\n"), "{said}");
}

/// A command that runs where `folder` is a file system of one megabyte.
fn with_a_small_disk(folder: &Path, command: &Command) -> Command {
    let mut small = Command::new("unshare");
    let script = "mount -t tmpfs -o size=1m small \"$0\" && exec \"$@\"";
    small.args(["--map-root-user", "--mount", "sh", "-c", script]).arg(folder);
    small.arg(command.get_program()).args(command.get_args());
    small
}

fn can_have_a_small_disk(folder: &Path) -> bool {
    let tried = with_a_small_disk(folder, &Command::new("true")).status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        test_skips::skip("small-disk", "users may not mount in a namespace of their own here");
    }
    can
}

#[test]
fn a_full_disk_is_full_inside_too() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    if !can_have_a_small_disk(folder) {
        return;
    }
    let expected = output_of(&mut with_a_small_disk(folder, &python_outside(folder, "full.py")));
    assert!(expected.contains("one more byte: ENOSPC"), "{expected}");
    let found = output_of(&mut with_a_small_disk(folder, &python_inside(folder, "full.py")));
    assert_eq!(found, expected);
}

#[test]
fn a_full_memory_file_system_is_full_as_linuxs_is() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    if !can_have_a_small_disk(folder) {
        return;
    }
    let expected = output_of(&mut with_a_small_disk(folder, &python_outside(folder, "full.py")));
    let mut inside = Command::new(env!("CARGO_BIN_EXE_belljar"));
    inside.args(["run", "--user", "root", "--tmpfs", "/m:1M"]);
    inside.args(["--mount", &format!("{}:/script", source("full.py").display())]);
    inside.args(["--", "/usr/bin/python3", "/script", "/m"]);
    assert_eq!(output_of(&mut inside), expected);
}

#[test]
fn a_kernel_without_free_descriptors_says_so_and_goes_on() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("folder")).unwrap();
    for n in 0..400 {
        fs::write(place.path().join(n.to_string()), "content\n").unwrap();
    }
    let inside = python_inside(place.path(), "exhausted.py");
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 150; exec \"$0\" \"$@\""]);
    limited.arg(inside.get_program()).args(inside.get_args());
    let said = output_of(&mut limited);
    let expected = "opening ends with ENFILE after more than 50\n\
        a pipe needs none: done\n\
        listing: ENFILE\n\
        a file in memory: done\n\
        opening again: done\n\
        content\ntexta program: 0\n";
    assert_eq!(said, expected);
}

/// Whoever is in a directory of the host when it goes is still somewhere.
#[test]
fn a_working_directory_that_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let outside = output_of(&mut python_outside(folder.path(), "gone.py"));
    assert_eq!(output_of(&mut python_inside(folder.path(), "gone.py")), outside);
}

/// A program that a guest made runs on the host while the guest goes on: nobody holds it open for writing.
#[test]
fn what_a_guest_made_can_be_run_outside() {
    let folder = tempfile::tempdir().unwrap();
    let mut guest = Command::new(env!("CARGO_BIN_EXE_belljar"))
        .args(["run", "--mount", &format!("{}:/m:rw", folder.path().display()), "--"])
        .args(["sh", "-c", "cp /bin/true /m/made && echo ready && read line"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(guest.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    // The kernel closes it when it has nothing else to do, which is a moment later.
    let runs = (0..100).any(|_| {
        let status = Command::new(folder.path().join("made")).status();
        status.is_ok_and(|status| status.success()) || {
            std::thread::sleep(std::time::Duration::from_millis(10));
            false
        }
    });
    drop(guest.stdin.take());
    guest.wait().unwrap();
    assert!(runs);
}
