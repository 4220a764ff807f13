//! `belljar skill run`: what reaches the user, what does not, and what is left behind.

mod place;
mod processes;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use place::{Finished, Place, names};
use processes::start_until_ready;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

#[test]
fn output_arguments_and_exit_code_are_the_scripts() {
    let place = Place::with_script("#!/bin/sh\necho \"out $1|$2\"; echo err >&2; exit 7\n");
    let done = place.run(&["--", "one two", "--flag"]);
    assert_eq!((done.code, done.out.as_str()), (Some(7), "out one two|--flag\n"), "{done:?}");
    assert_eq!(done.err, "err\n");
    assert!(place.kept().is_empty());
}

#[test]
fn a_skill_sees_little() {
    let place = Place::with_script(
        "#!/bin/sh\npwd; env; touch /skill/x 2>&1; ls /home; ls -d /root/.* 2>&1\n",
    );
    let done = place.run(&[]);
    assert!(done.out.starts_with("/work\n"), "{done:?}");
    assert!(done.out.contains("Read-only file system"), "{done:?}");
    assert!(!done.out.contains("SECRET_OF_THE_HOST"), "{done:?}");
    assert!(done.out.contains("SKILL_DIR=/skill"), "{done:?}");
    let named = place.run(&["--env", "SECRET_OF_THE_HOST", "--env", "A=b"]);
    assert!(named.out.contains("SECRET_OF_THE_HOST=hush\n"), "{named:?}");
    assert!(named.out.contains("A=b\n"), "{named:?}");
}

const CHANGES: &str = "#!/bin/sh\nset -e\necho more >> old.txt\nrm gone.txt\nmkdir -p new/deep\n\
                       echo x > new/deep/file\nmv moved renamed\nln -s old.txt link\ncat same.txt > t; cat t > same.txt; rm t\n";

fn place_with_changes() -> Place {
    let place = Place::with_script(CHANGES);
    for name in ["old.txt", "gone.txt", "same.txt", "moved/inside.txt"] {
        place.file(&format!("work/{name}"), "old\n");
    }
    place
}

fn assert_changed(place: &Place) {
    assert_eq!(place.work_file("old.txt"), "old\nmore\n");
    assert_eq!(place.work_file("new/deep/file"), "x\n");
    assert_eq!(place.work_file("renamed/inside.txt"), "old\n");
    assert_eq!(place.work_file("link"), "old\nmore\n");
    assert!(!place.path("work/gone.txt").exists());
    assert!(!place.path("work/moved").exists());
}

#[test]
fn changes_are_listed_and_kept_aside_until_they_are_applied() {
    let place = place_with_changes();
    let done = place.run(&[]);
    assert_eq!(done.code, Some(0), "{done:?}");
    for line in
        ["changed  old.txt", "removed  gone.txt", "created  new/deep/file", "created  link ->"]
    {
        assert!(done.err.contains(line), "{line}: {done:?}");
    }
    assert!(!done.err.contains("same.txt"), "{done:?}");
    assert_eq!(place.work_file("old.txt"), "old\n");
    assert_eq!(place.work_file("moved/inside.txt"), "old\n");
    assert_eq!(names(&place.path("work")).len(), 4);
    let kept = place.kept();
    let [kept] = kept.as_slice() else { panic!("{kept:?}") };
    assert!(done.err.contains(kept.to_str().unwrap()), "{done:?}");
    let applied = place.output(&["apply", kept.to_str().unwrap()]);
    assert_eq!(applied.code, Some(0), "{applied:?}");
    assert_changed(&place);
    assert!(place.kept().is_empty());
}

#[test]
fn apply_writes_back_at_once() {
    let place = place_with_changes();
    let done = place.run(&["--apply"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_changed(&place);
    assert!(place.kept().is_empty());
}

#[test]
fn a_named_work_folder_is_written_and_an_empty_one_is_kept() {
    let place = Place::with_script("#!/bin/sh\nls; echo x > made\n");
    place.file("home/seen", "");
    let done = place.run(&["--work", "../home"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "seen\n"), "{done:?}");
    assert_eq!(fs::read(place.path("home/made")).unwrap(), b"x\n");
    let done = place.run(&["--work", "none"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), ""), "{done:?}");
    assert_eq!(fs::read(place.kept()[0].join("files/made")).unwrap(), b"x\n");
    assert!(names(&place.path("work")).is_empty());
    place.run(&["--work", "../nowhere"]).is_failure(125, "is no folder", "--work none");
}

#[test]
fn an_archive_runs_like_its_folder() {
    let place = Place::with_script("#!/bin/sh\ncat /skill/SKILL.md | head -2\n");
    assert_eq!(place.output(&["pack", "../probe", "-o", "../p.skill"]).code, Some(0));
    let done = place.output(&["run", "../p.skill"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "---\nname: probe\n"), "{done:?}");
}

#[test]
fn scripts_without_a_first_line_run_by_their_names() {
    let place = Place::new();
    place.file("probe/scripts/go.py", "import sys\nprint('python', sys.argv[1:])\n");
    let done = place.run(&["go", "--", "a"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "python ['a']\n"), "{done:?}");
}

fn is_here(program: &str) -> bool {
    let is_here =
        ["/usr/bin", "/usr/local/bin"].iter().any(|it| Path::new(it).join(program).exists());
    if !is_here {
        test_skips::skip(&format!("scripts-of-{program}"), "it is not installed");
    }
    is_here
}

#[test]
fn every_kind_of_script_runs() {
    let place = Place::new();
    place.file("probe/scripts/perl.pl", "print \"perl @ARGV\\n\";\n");
    place.file("probe/scripts/ruby.rb", "puts 'ruby ' + ARGV.join(' ')\n");
    place.file("probe/scripts/node.mjs", "console.log('node', ...process.argv.slice(2));\n");
    place.file("probe/scripts/python.py", "import sys\nprint('python', *sys.argv[1:])\n");
    place.file("probe/scripts/bash.sh", "[[ a == a ]] && echo bash \"$@\"\n");
    place.script("probe/scripts/sh", "echo sh \"$@\"\n");
    for name in ["perl", "ruby", "node", "python", "bash", "sh"] {
        let program = if name == "python" { "python3" } else { name };
        if is_here(program) {
            let done = place.run(&[name, "--", "a", "b c"]);
            assert_eq!((done.code, done.out), (Some(0), format!("{name} a b c\n")), "{}", done.err);
        }
    }
    fs::copy("/bin/echo", place.path("probe/scripts/program")).unwrap();
    let done = place.run(&["program", "--", "a", "b c"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "a b c\n"), "{done:?}");
    place.file("probe/scripts/types.ts", "const word: string = 'types'; console.log(word);\n");
    let done = place.run(&["types"]);
    if done.code != Some(0) {
        done.is_failure(127, "deno, bun, tsx, node 22.6 or later", "skill deps");
    }
}

#[test]
fn what_cannot_be_run_has_the_exit_code_of_a_shell() {
    let place = Place::new();
    place.run(&[]).is_failure(127, "no scripts", "to be read");
    place.script("probe/scripts/a.sh", "#!/bin/sh\n");
    place.script("probe/scripts/b.sh", "#!/no/such/interpreter\n");
    place.file("probe/data.bin", "\u{1}\u{2}");
    place.run(&[]).is_failure(125, "2 scripts", "scripts/b.sh");
    place.run(&["nothing"]).is_failure(127, "`nothing`", "scripts/a.sh");
    place.run(&["data.bin"]).is_failure(126, "not a script", "#!");
    place.run(&["b"]).is_failure(127, "/no/such/interpreter", "skill deps");
    place.output(&["run", "../home"]).is_failure(125, "there is no SKILL.md", "the folder");
    place.file("probe/belljar.yaml", "network: everything\n");
    place.run(&["a"]).is_failure(125, "belljar.yaml is not valid", "mend");
    assert!(place.kept().is_empty());
}

#[test]
fn what_is_no_skill_is_refused_and_leaves_nothing() {
    let place = Place::with_script("#!/bin/sh\n:\n");
    place.file("text.txt", "words");
    place.file("noise.skill", "no archive at all");
    let made = std::process::Command::new("mkfifo").arg(place.path("pipe.skill")).status();
    assert!(made.unwrap().success());
    for (path, error) in [
        ("../nowhere", "no such file"),
        ("../text.txt", "not a skill"),
        ("../home", "there is no SKILL.md"),
        ("../noise.skill", "cannot read the archive"),
        ("../pipe.skill", "not a skill"),
        ("/dev/zero", "not a skill"),
    ] {
        place.output(&["run", path]).is_failure(125, error, "");
    }
    for wrong in [["--memory", "lots"], ["--timeout", "0"], ["--allow-net", "a b"]] {
        assert_eq!(place.run(&wrong).code, Some(125), "{wrong:?}");
    }
    for (option, value) in [("--mount", "nowhere:/x"), ("--policy", "nowhere"), ("--venv", "/tmp")]
    {
        place.run(&[option, value]).is_failure(125, "", "");
    }
    assert!(place.kept().is_empty());
}

#[test]
fn limits_end_a_run() {
    let place = Place::with_script("#!/bin/sh\necho begun > file\nsleep 100\n");
    let done = place.run(&["--timeout", "1s"]);
    assert_eq!(done.code, Some(124), "{done:?}");
    done.is_failure(124, "timed out", "--timeout");
    assert_eq!(place.kept().len(), 1, "what was written before is kept");
    let place = Place::with_script("#!/bin/sh\nyes\n");
    let done = place.run(&["--output-limit", "64K"]);
    assert_eq!(done.code, Some(137), "{}", done.err);
    done.is_failure(137, "more output than allowed", "--output-limit");
    assert!(done.out.len() <= 64 << 10);
}

#[test]
fn what_a_skill_asks_for_needs_an_answer() {
    let place = Place::with_script("#!/bin/sh\necho \"[$MODE][$SECRET_OF_THE_HOST]\"\n");
    place.file("probe/belljar.yaml", "env: {set: {MODE: fast}, pass: [SECRET_OF_THE_HOST]}\n");
    let done = place.run(&[]);
    done.is_failure(125, "nobody is there to answer", "--yes");
    assert!(done.err.contains("env: set MODE=fast"), "{done:?}");
    assert_eq!(place.run(&["--no"]).out, "[][]\n");
    assert_eq!(place.run(&["--yes"]).out, "[fast][hush]\n");
    assert_eq!(place.run(&["--yes", "--env", "MODE=mine"]).out, "[mine][hush]\n");
    place.file("policy.yaml", "env: {set: {MODE: user, SECRET_OF_THE_HOST: none}}\n");
    assert_eq!(place.run(&["--policy", "../policy.yaml"]).out, "[user][none]\n");
    let done = place.run(&["--policy", "../nowhere.yaml"]);
    assert_eq!(done.code, Some(125), "{done:?}");
    assert!(done.err.starts_with("error: --policy: cannot read"), "{done:?}");
}

#[test]
fn a_report_says_what_was_done() {
    let place = Place::with_script("#!/bin/sh\necho x > '<b>'\nexit 3\n");
    for name in ["r.json", "r.html", "r.txt"] {
        let done = place.run(&["--report", &format!("../{name}")]);
        assert_eq!(done.code, Some(3), "{done:?}");
    }
    let read = |name: &str| fs::read_to_string(place.path(name)).unwrap();
    let json: Value = serde_json::from_str(&read("r.json")).unwrap();
    assert_eq!((&json["exit_code"], &json["skill"]), (&3.into(), &"probe".into()));
    assert_eq!(json["changes"][0]["path"], "<b>");
    assert_eq!(json["fate"], "kept");
    assert!(read("r.html").contains("<code>&lt;b&gt;</code>"));
    assert!(read("r.txt").contains("created  <b>"));
    let printed = place.run(&["--report"]);
    assert!(printed.err.contains("report of probe, scripts/go.sh"), "{printed:?}");
}

#[test]
fn a_signal_ends_the_script_and_leaves_nothing() {
    let place = Place::with_script("#!/bin/sh\necho ready\nsleep 1000\n");
    assert_eq!(place.output(&["pack", "../probe", "-o", "../p.skill"]).code, Some(0));
    let child = start_until_ready(&mut place.skill(&["run", "../p.skill"]));
    let started = Instant::now();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let done = Finished::of(&child.wait_with_output().unwrap());
    assert_eq!(done.code, Some(143), "{done:?}");
    assert!(started.elapsed() < Duration::from_secs(60));
    assert!(names(&place.path("tmp")).is_empty());
    assert!(place.kept().is_empty());
}

#[test]
fn cases_run_inside_with_input_that_ends() {
    let place = Place::with_script("#!/bin/sh\ncat > copy; wc -c < copy; exit 4\n");
    place.file(
        "probe/tests/t.yaml",
        "cases:\n  - name: copies\n    stdin: abc\n    expect:\n      exit: 4\n      \
         stdout: {equals: \"3\"}\n      files: {copy: {equals: abc}}\n",
    );
    let done = place.output(&["test", "../probe"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("pass  probe  copies  kernel"), "{done:?}");
}

#[test]
fn a_file_outlives_its_first_name() {
    let place = Place::with_script(
        "#!/bin/sh\nset -e\nmkdir d\n! cat d/f 2> /dev/null\necho kept > d/t\nln d/t d/f\nrm d/t\ncat d/f\n",
    );
    let done = place.run(&[]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "kept\n"), "{done:?}");
}
