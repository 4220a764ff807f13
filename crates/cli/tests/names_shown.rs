//! Every command shows the names that strangers chose with escapes: none drives the terminal, turns
//! text round, or begins a line of its own.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod place;

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use place::{Finished, Place};

/// Turns text round, conceals it, and begins a line that looks like ours.
const NAME: &str = "a\u{202e}b\u{1b}[8m\nhint: do it";

fn belljar(place: &Place, arguments: &[&str]) -> Finished {
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    command.args(arguments).current_dir(place.path("work")).stdin(Stdio::null());
    command.env("HOME", place.path("home")).env("XDG_STATE_HOME", place.path("state"));
    Finished::of(&command.output().unwrap())
}

#[track_caller]
fn is_escaped(what: &str, done: &Finished) {
    for text in [&done.out, &done.err] {
        assert!(!text.contains('\u{202e}') && !text.contains('\u{1b}'), "{what}: {text}");
        let is_forged = |line: &str| line.trim_start().starts_with("hint: do it");
        assert!(!text.lines().any(is_forged), "{what}: {text}");
    }
    assert!((done.out.clone() + &done.err).contains(r"\u{202e}"), "{what} says nothing: {done:?}");
}

#[test]
fn names_that_are_given() {
    let place = Place::with_script("#!/bin/sh\ntrue\n");
    fs::write(place.path("work").join(NAME), "#!/nowhere\u{202e}\n").unwrap();
    for arguments in [
        &["run", "--", NAME][..],
        &["run", "--root", NAME, "--", "true"],
        &["run", "--cwd", NAME, "--", "true"],
        &["run", "--mount", &format!("{NAME}:/x"), "--mount", &format!("{NAME}:/x"), "--", "true"],
        &["run", &format!("--{NAME}"), "--", "true"],
        &["run", "--report", &format!("{NAME}/x.txt"), "--", "true"],
        &["diff", NAME, "--", "true"],
        &["skill", "check", NAME],
        &["skill", "run", NAME],
        &["skill", "apply", NAME],
        &["skill", "run", "--policy", &format!("no{NAME}"), "../probe"],
        &["skill", "run", "--work", NAME, "../probe"],
        &[NAME],
    ] {
        let done = belljar(&place, arguments);
        assert_ne!(done.code, Some(0), "{arguments:?}");
        is_escaped(&format!("{arguments:?}"), &done);
    }
}

#[test]
fn names_that_a_skill_brings() {
    let place = Place::with_script("#!/bin/sh\ntrue\n");
    let text = "import \u{202e}foo\nimport evil\u{202e}name\n";
    place.file(&format!("probe/scripts/{}.py", NAME.replace('\n', "")), text);
    place.file("probe/requirements.txt", "evil\u{202e}==1\u{1b}[8m\n");
    symlink(NAME, place.path("probe/link")).unwrap();
    let head = "---\nname: probe\ndescription: \"a\\u202eb\\u001b[8m\"\n---\n";
    place.file("probe/SKILL.md", &format!("{head}[x](a\u{202e}b.md)\n"));
    for command in ["check", "show", "deps"] {
        is_escaped(command, &place.output(&[command, "../probe"]));
        let json = place.output(&[command, "--json", "../probe"]);
        let text = json.out + &json.err;
        assert!(!text.contains('\u{202e}') && !text.contains('\u{1b}'), "{command}: {text}");
    }
    is_escaped("run", &place.run(&[NAME]));
}

#[test]
fn names_that_a_guest_makes() {
    let place = Place::new();
    let script =
        format!("printf x > '{NAME}'; ln -s '{NAME}' link; cat 'no{NAME}' 2>/dev/null; true");
    let guest = ["--", "bash", "-c", script.as_str()];
    for command in [&["run", "--report"][..], &["run", "--trace"], &["diff"], &["diff", "--json"]] {
        let done = belljar(&place, &[command, &guest].concat());
        let text = done.out + &done.err;
        assert!(!text.contains('\u{202e}') && !text.contains('\u{1b}'), "{command:?}: {text}");
        assert!(text.contains("link"), "{command:?}: {text}");
    }
}

#[test]
fn names_in_the_report_of_an_end() {
    let place = Place::new();
    let unseen = "a\u{202e}b\u{fe0f}\u{34f}\u{17b4}c";
    let done = belljar(&place, &["run", "--json-report", "r.json", "--", &format!("./{unseen}")]);
    assert_eq!(done.code, Some(127), "{done:?}");
    let report = place.work_file("r.json");
    assert!(report.is_ascii(), "{report}");
    let value: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(value["exit_code"], 127);
    for escape in [r"\u{202e}", r"\u{fe0f}", r"\u{34f}", r"\u{17b4}"] {
        assert!(done.err.contains(escape), "{escape}: {}", done.err);
    }
    assert!(!done.err.contains(['\u{202e}', '\u{fe0f}', '\u{34f}', '\u{17b4}']), "{}", done.err);
}
