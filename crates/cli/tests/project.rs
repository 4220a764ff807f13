//! The folder that somebody stands in is there, at its own path: writes go to a layer, and somebody
//! decides about them.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod place;
mod pty;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use place::{Finished, Place, names};
use pty::{Elsewhere, Pty};

/// A place with a project in `work`, whose top is known by git, and a folder in it.
fn project() -> Place {
    let place = Place::new();
    place.file("work/.git/HEAD", "ref: refs/heads/main\n");
    place.file("work/top.txt", "top\n");
    place.file("work/sub/data.txt", "data\n");
    place
        .file("work/sub/script.py", "print(open('data.txt').read() + open('../top.txt').read())\n");
    place
}

fn command(place: &Place, folder: &str, arguments: &[&str]) -> Command {
    let mut command = place.skill(&[]);
    let mut plain = Command::new(command.get_program());
    for (name, value) in command.get_envs() {
        plain.env(name, value.unwrap());
    }
    command = plain;
    command.args(arguments).current_dir(place.path(folder)).stdin(std::process::Stdio::null());
    command
}

fn run(place: &Place, folder: &str, arguments: &[&str]) -> Finished {
    Finished::of(&command(place, folder, arguments).output().unwrap())
}

fn run_script(place: &Place, folder: &str, options: &[&str], script: &str) -> Finished {
    let words = [&["run"], options, &["--", "sh", "-c", script]].concat();
    run(place, folder, &words)
}

#[test]
fn a_script_of_the_current_folder_just_runs() {
    let place = project();
    let done = run(&place, "work/sub", &["run", "--", "python3", "script.py"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "data\ntop\n\n"), "{done:?}");
    assert_eq!(done.err, "", "nothing was written, and nothing is said");
    assert!(place.kept().is_empty());
    let path = place.path("work/sub").canonicalize().unwrap();
    let done = run_script(&place, "work/sub", &[], "pwd; cd ..; ls");
    assert_eq!(done.out, format!("{}\nsub\ntop.txt\n", path.display()), "{done:?}");
    // By its absolute path, too.
    let script = path.join("script.py");
    let done = run(&place, "work/sub", &["run", "--", "python3", script.to_str().unwrap()]);
    assert_eq!(done.code, Some(0), "{done:?}");
}

#[test]
fn what_is_written_is_kept_and_can_be_applied() {
    let place = project();
    let done =
        run_script(&place, "work/sub", &[], "echo new > new.txt; rm ../top.txt; cat new.txt");
    assert_eq!((done.code, done.out.as_str()), (Some(0), "new\n"), "{done:?}");
    assert!(!place.path("work/sub/new.txt").exists() && place.path("work/top.txt").exists());
    let kept = place.kept();
    assert_eq!(kept.len(), 1);
    let kept = kept[0].to_str().unwrap();
    for words in ["1 created, 1 removed in ", "sub/new.txt", &format!("`belljar apply {kept}`")] {
        assert!(done.err.contains(words), "{words}: {done:?}");
    }
    let listed = run(&place, "home", &["apply"]);
    assert!(listed.out.contains(kept) && listed.out.contains("sh wrote to "), "{listed:?}");
    let applied = run(&place, "home", &["apply", kept]);
    assert_eq!(applied.code, Some(0), "{applied:?}");
    assert_eq!(place.work_file("sub/new.txt"), "new\n");
    assert!(!place.path("work/top.txt").exists() && place.kept().is_empty());
}

#[test]
fn writes_are_applied_let_through_or_not_shown_as_the_user_says() {
    let place = project();
    let done = run_script(&place, "work", &["--apply"], "echo a > a; exit 3");
    assert_eq!((done.code, place.work_file("a").as_str()), (Some(3), "a\n"), "{done:?}");
    let done = run_script(&place, "work/sub", &["--rw"], "echo b > ../b");
    assert_eq!((done.err.as_str(), place.work_file("b").as_str()), ("", "b\n"), "{done:?}");
    let done = run_script(&place, "work", &["--no-cwd"], "pwd; ls -A; touch x");
    assert_eq!((done.out.as_str(), done.err.as_str()), ("/home/user\n", ""), "{done:?}");
    assert!(place.kept().is_empty() && !place.path("work/x").exists());
    let both = run_script(&place, "work", &["--rw", "--apply"], "true");
    assert_eq!(both.code, Some(125), "{both:?}");
}

#[test]
fn on_a_terminal_the_user_is_asked() {
    for (answer, is_there) in [("y\n", true), ("n\n", false)] {
        let place = project();
        let words = ["run", "--", "sh", "-c", "echo new > new.txt"];
        let mut pty = Pty::start(&command(&place, "work/sub", &words), Elsewhere::Nothing);
        pty.wait_for("work? [y/N] ");
        assert!(pty.screen().contains("created  sub/new.txt"), "{}", pty.screen());
        pty.type_text(answer);
        assert_eq!(pty.finish(), Some(0));
        assert_eq!(place.path("work/sub/new.txt").exists(), is_there);
        assert_eq!(place.kept().is_empty(), is_there, "{}", pty.text());
    }
    // Nothing is asked if nothing was written.
    let place = project();
    let mut pty =
        Pty::start(&command(&place, "work", &["run", "--", "cat", "top.txt"]), Elsewhere::Nothing);
    assert_eq!(pty.finish(), Some(0));
    assert_eq!(pty.text(), "top\n");
}

#[test]
fn a_shell_stands_in_the_current_folder() {
    let place = project();
    let mut pty = Pty::start(&command(&place, "work/sub", &["shell"]), Elsewhere::Nothing);
    pty.wait_for("work/sub$ ");
    pty.type_text("cat data.txt > copy.txt; cat ../top.txt\n");
    pty.wait_for("top\n");
    pty.type_text("exit\n");
    pty.wait_for("work? [y/N] ");
    pty.type_text("y\n");
    assert_eq!(pty.finish(), Some(0));
    assert_eq!(place.work_file("sub/copy.txt"), "data\n");
}

#[test]
fn what_is_kept_of_a_run_that_was_killed_is_told_of() {
    let place = project();
    let script = "echo half > half.txt; sync; kill -9 $PPID; while :; do :; done";
    // The starter dies with its shell, before it can say anything.
    let belljar = env!("CARGO_BIN_EXE_belljar");
    let wait =
        "while [ -z \"$(ls \"$XDG_STATE_HOME\"/belljar/aside/*/files)\" ]; do sleep 0.1; done";
    let words = format!("{belljar} run -- sh -c '{script}' & p=$!; {wait}; kill -9 $p");
    let mut shell = Command::new("sh");
    for (name, value) in command(&place, "work", &[]).get_envs() {
        shell.env(name, value.unwrap());
    }
    shell.args(["-c", &words]).current_dir(place.path("work")).output().unwrap();
    let mut done = run(&place, "work", &["run", "--", "true"]);
    for _ in 0..100 {
        if !done.err.is_empty() {
            break;
        }
        // The sandbox may still be on its way out.
        std::thread::sleep(std::time::Duration::from_millis(100));
        done = run(&place, "work", &["run", "--", "true"]);
    }
    assert!(done.err.contains("note: an earlier run was cut off: sh wrote to"), "{done:?}");
    assert!(done.err.contains("hint: `belljar apply "), "{done:?}");
    assert_eq!(run(&place, "work", &["run", "--", "true"]).err, "", "it is told once");
}

#[test]
fn the_home_folder_is_masked_and_told_of() {
    let place = project();
    for (path, text) in [(".ssh/id", "SECRET"), (".netrc", "SECRET"), ("notes", "harmless\n")] {
        place.file(&format!("home/{path}"), text);
    }
    // Settings in git do not make a project of it.
    place.file("home/.git/HEAD", "");
    let script = "cat .ssh/id .netrc notes; echo mine > .ssh/authorized_keys; ls -A .local/state";
    for options in [&[][..], &["--rw"]] {
        let mut command = command(&place, "home", &["run"]);
        command.args(options).args(["--", "sh", "-c", script]);
        command.env("XDG_STATE_HOME", place.path("home/.local/state"));
        let done = Finished::of(&command.output().unwrap());
        assert_eq!(done.out, "harmless\n", "{done:?}");
        let warning = done.err.lines().next().unwrap();
        for words in ["is your home folder, and the program sees everything in it, except", ".ssh"]
        {
            assert!(warning.contains(words), "{done:?}");
        }
        assert!(done.err.contains("--no-cwd"), "{done:?}");
        assert_eq!(names(&place.path("home/.ssh")), ["id"]);
    }
    fs::create_dir(place.path("home/folder")).unwrap();
    let done = run_script(&place, "home/folder", &[], "ls ..");
    assert!(done.err.is_empty() && done.out == "folder\n", "only the folder itself: {done:?}");
}

#[test]
fn at_the_top_only_the_system_is_shown() {
    let place = project();
    let mut command = command(&place, "work", &["run", "--", "sh", "-c", "pwd; cat /etc/shadow"]);
    let done = Finished::of(&command.current_dir("/").output().unwrap());
    assert_eq!(done.out, "/\n", "{done:?}");
    assert!(done.err.contains("warning: / is the whole file system"), "{done:?}");
    let done = Finished::of(&command.current_dir("/usr/share").output().unwrap());
    assert_eq!(done.out, "/usr/share\n", "{done:?}");
    assert!(!done.err.contains("warning"), "{done:?}");
    let done = Finished::of(&command.current_dir("/dev").output().unwrap());
    assert!(done.err.contains("/dev is not shown"), "{done:?}");
}

#[test]
fn the_project_is_found_by_its_files_and_no_further_than_it_may() {
    let place = Place::new();
    place.file("work/package.json", "{}");
    place.file("work/a/b/c.txt", "c");
    place.file("secret.txt", "SECRET");
    place.file(".git/HEAD", "");
    // What everybody may write to is nobody's project.
    let top = place.path("");
    fs::set_permissions(&top, fs::Permissions::from_mode(0o777)).unwrap();
    let done = run_script(&place, "work/a/b", &[], "cat ../../package.json; ls ../../..");
    assert_eq!(done.out, "{}work\n", "{done:?}");
}

#[test]
fn paths_of_options_mean_what_the_user_means() {
    let place = project();
    let done = run_script(&place, "work", &["--cwd", "sub"], "cat data.txt");
    assert_eq!(done.out, "data\n", "{done:?}");
    let done = run_script(&place, "work/sub", &["--cwd", ".."], "cat top.txt");
    assert_eq!(done.out, "top\n", "{done:?}");
    // Who starts elsewhere has said what is to be seen.
    let done = run_script(&place, "work", &["--mount", ".:/w", "--cwd", "/w"], "ls; ls /tmp");
    assert_eq!(done.out, "sub\ntop.txt\n", "{done:?}");
    // A mount in the project goes before it.
    let target = place.path("work/sub").canonicalize().unwrap();
    let mount = format!("../home:{}", target.display());
    let done = run_script(&place, "work", &["--mount", &mount], "ls sub; cat top.txt");
    assert_eq!(done.out, "top\n", "{done:?}");
    // So does one that shows the project itself.
    let whole = target.parent().unwrap().display().to_string();
    let done = run_script(&place, "work", &["--mount", &format!(".:{whole}:rw")], "touch x");
    assert!(done.err.is_empty() && place.path("work/x").exists(), "{done:?}");
}

#[test]
fn a_report_says_what_was_written_and_what_became_of_it() {
    let place = project();
    let done = run_script(&place, "work", &["--report", "report.json"], "echo x > x");
    assert_eq!(done.code, Some(0), "{done:?}");
    let report: serde_json::Value = serde_json::from_str(&place.work_file("report.json")).unwrap();
    assert_eq!(report["changes"][0]["path"], "x");
    assert_eq!(report["fate"], "kept");
}

#[test]
fn without_a_place_for_the_layer_the_folder_is_only_read() {
    let place = project();
    let command = |options: &[&str]| {
        let mut command = command(&place, "work", &["run"]);
        command.args(options).args(["--", "sh", "-c", "cat top.txt; touch x || rm top.txt"]);
        command.env_remove("XDG_STATE_HOME").env_remove("HOME");
        Finished::of(&command.output().unwrap())
    };
    let done = command(&[]);
    assert_eq!((done.code, done.out.as_str()), (Some(1), "top\n"), "{done:?}");
    assert!(done.err.contains("work cannot be written to: there is no folder to keep"), "{done:?}");
    assert!(done.err.contains("hint: ") && done.err.contains("--rw"), "{done:?}");
    assert!(done.err.contains("Read-only file system"), "{done:?}");
    command(&["--apply"]).is_failure(125, "no folder to keep changes in", "--rw");
}

#[test]
fn many_runs_at_one_time_do_not_get_in_each_others_way() {
    let place = project();
    let children: Vec<_> = (0..8)
        .map(|n| {
            let script = if n % 2 == 0 { "true".to_owned() } else { format!("echo {n} > f{n}") };
            let mut command = command(&place, "work", &["run", "--", "sh", "-c", &script]);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    for (n, child) in children.into_iter().enumerate() {
        let done = Finished::of(&child.wait_with_output().unwrap());
        assert_eq!(done.code, Some(0), "{done:?}");
        assert_eq!(done.err.contains(&format!("f{n}")), n % 2 == 1, "{done:?}");
        assert!(!done.err.contains("cut off"), "{done:?}");
    }
    assert_eq!(place.kept().len(), 4);
    let spare = names(&place.path("state/belljar"));
    assert!(spare.iter().all(|name| name == "aside" || name == "spare"), "{spare:?}");
    assert!(Path::new(&place.path("state/belljar/spare/files")).is_dir());
}
