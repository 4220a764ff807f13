//! The folder that somebody stands in is there, at its own path: writes go to a layer, and somebody
//! decides about them.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod place;
mod pty;
mod terminal_pair;

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

/// Programs of tools in the home folder, with tokens beside them.
fn with_tools() -> Place {
    let place = project();
    for (path, text) in [
        (".cargo/bin/mytool", "#!/bin/sh\necho tool; cat \"$CARGO_HOME\"/*.toml\n"),
        (".nvm/versions/node/v1/bin/nodetool", "#!/bin/sh\ncat \"${0%/bin/*}/etc/npmrc\"\n"),
        ("private/secret-tool", "#!/bin/sh\necho secret\n"),
    ] {
        place.script(&format!("home/{path}"), text);
    }
    place.file("home/.cargo/credentials.toml", "TOKEN");
    place.file("home/.cargo/config.toml", "TOKEN");
    place.file("home/.nvm/versions/node/v1/etc/npmrc", "TOKEN");
    place
}

fn with_path(place: &Place, arguments: &[&str]) -> Finished {
    let home = |path: &str| place.path("home").join(path).display().to_string();
    let path = [home(".cargo/bin"), home(".nvm/versions/node/v1/bin"), home("private")].join(":");
    let mut command = command(place, "work", arguments);
    command.env("PATH", format!("{path}:/usr/bin:/bin"));
    for name in ["CARGO_HOME", "RUSTUP_HOME", "NVM_DIR", "PYENV_ROOT"] {
        command.env_remove(name);
    }
    Finished::of(&command.output().unwrap())
}

#[test]
fn tools_that_path_reaches_run_without_the_tokens_beside_them() {
    let place = with_tools();
    let script = "mytool; nodetool; ls -A ~+/../home; touch ../home/.cargo/bin/x";
    let done = with_path(&place, &["run", "--", "bash", "-c", script]);
    assert!(done.out.starts_with("tool\n"), "{done:?}");
    assert!(done.err.contains("etc/npmrc: Permission denied"), "{done:?}");
    assert!(!done.out.contains("TOKEN") && !done.out.contains("private"), "{done:?}");
    assert!(!place.path("home/.cargo/bin/x").exists());
    let told = with_path(&place, &["doctor", "--project"]);
    for words in
        ["the top of a git repository", "home/.cargo/bin\n", "without versions/node/v1/etc"]
    {
        assert!(told.out.contains(words), "{words}: {told:?}");
    }
    assert!(!told.out.contains("private"), "{told:?}");
    let told = with_path(&place, &["doctor", "--project", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(json["tools"][0]["name"], "cargo");
    // Not for who shows no folder.
    let done = with_path(&place, &["run", "--no-cwd", "--", "mytool"]);
    assert_eq!(done.code, Some(127), "{done:?}");
}

#[test]
fn a_command_that_only_the_host_has_is_told_of() {
    let place = with_tools();
    let done = with_path(&place, &["run", "--", "secret-tool"]);
    let private = place.path("home/private").canonicalize().unwrap().display().to_string();
    done.is_failure(127, "command not found", &format!("--mount {private}:{private}"));
    let named = format!("{private}:{private}");
    let whole = format!("{private}/secret-tool");
    let done = with_path(&place, &["run", "--mount", &named, "--", &whole]);
    assert_eq!(done.out, "secret\n", "the hint helps: {done:?}");
}

#[test]
fn an_argument_that_only_the_host_has_is_told_of() {
    let place = project();
    place.file("home/data.csv", "1,2\n");
    let data = place.path("home/data.csv").display().to_string();
    let done = run(&place, "work", &["run", "--", "cat", &data]);
    assert_eq!(done.code, Some(1), "{done:?}");
    let hint =
        format!("hint: {data} is on the host and is not shown inside; --mount {data}:{data}");
    assert!(done.err.contains(&hint), "{done:?}");
    // Nothing is said of what is shown, nor after a run that went well.
    let done = run(&place, "work", &["run", "--", "ls", "top.txt", "nothing"]);
    assert!(!done.err.contains("hint"), "{done:?}");
    let done = run(&place, "work", &["run", "--", "echo", &data]);
    assert_eq!(done.err, "", "{done:?}");
    let done = run(&place, "work", &["run", "--no-cwd", "--", "cat", "top.txt"]);
    assert!(done.err.contains("top.txt is on the host"), "{done:?}");
}

#[test]
fn git_knows_the_user_and_nothing_else() {
    let place = project();
    place.file(
        "home/.gitconfig",
        "[user]\n name = Ann\n email = ann@example.org\n[credential]\n helper = SECRET\n",
    );
    let script = "git init -q /tmp/r && cd /tmp/r && git commit -q --allow-empty -m x && \
                  git log --format='%an <%ae> %cn'; git config --list";
    let done = run_script(&place, "work", &[], script);
    assert!(done.out.starts_with("Ann <ann@example.org> Ann\n"), "{done:?}");
    assert!(!done.out.contains("SECRET"), "{done:?}");
    // What the repository says goes before it, and what the command line says before all.
    place.file("work/.git/config", "[user]\n\tname = Work\n");
    let named = ["--env", "GIT_COMMITTER_NAME=Me"];
    let done = run_script(&place, "work", &named, "echo $GIT_AUTHOR_NAME $GIT_COMMITTER_NAME");
    assert_eq!(done.out, "Work Me\n", "{done:?}");
}

#[test]
fn package_managers_know_that_there_is_no_network() {
    let place = project();
    let script = "echo $PIP_RETRIES $NPM_CONFIG_FETCH_RETRIES $CARGO_NET_OFFLINE";
    assert_eq!(run_script(&place, "work", &[], script).out, "0 0 true\n");
    let own = run_script(&place, "work", &["--env", "PIP_RETRIES=3"], script);
    assert_eq!(own.out, "3 0 true\n");
    let open = run_script(&place, "work", &["--allow", "example.org"], script);
    assert_eq!(open.out, "\n", "{open:?}");
    let started = std::time::Instant::now();
    let pip =
        run(&place, "work", &["run", "--", "python3", "-m", "pip", "download", "nothing-such"]);
    assert_ne!(pip.code, Some(0), "{pip:?}");
    assert!(started.elapsed() < std::time::Duration::from_secs(30), "{pip:?}");
}

#[test]
fn a_skill_takes_arguments_as_they_are_meant() {
    let place = Place::with_script("#!/bin/sh\npwd; echo \"$@\"; cat \"$1\"\n");
    place.file("work/sub/f.txt", "text\n");
    let whole = place.path("work").canonicalize().unwrap().join("sub/f.txt");
    for words in [
        &["sub/f.txt", "b", "--", "-c"][..],
        &["go.sh", "sub/f.txt", "b", "--", "-c"],
        &["--", "sub/f.txt", "b", "-c"],
    ] {
        let done = place.run(words);
        assert_eq!(done.out, "/work\nsub/f.txt b -c\ntext\n", "{words:?}: {done:?}");
    }
    let done = place.run(&[whole.to_str().unwrap()]);
    assert_eq!(done.out, "/work\n/work/sub/f.txt\ntext\n", "{done:?}");
    let done = place.run(&["--cwd", "sub", "f.txt"]);
    assert_eq!(done.out, "/work/sub\nf.txt\ntext\n", "{done:?}");
    place.run(&["og.sh"]).is_failure(127, "no script `og.sh`", "scripts/go.sh");
}

#[test]
fn a_program_is_held_to_what_it_was_seen_to_need() {
    let place = project();
    // Not in /tmp, of which policies say nothing closer.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for path in [".git", "top.txt", "other.txt"] {
        fs::write(folder.path().join(path), "top\n").unwrap();
    }
    let policy = place.path("home/policy.yaml").display().to_string();
    let run = |words: &[&str]| {
        let mut command = command(&place, "work", &["run"]);
        Finished::of(&command.args(words).current_dir(folder.path()).output().unwrap())
    };
    let done = run(&["--learn", &policy, "--", "cat", "top.txt"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "top\n"), "{done:?}");
    let learned = fs::read_to_string(&policy).unwrap();
    assert!(learned.contains("/top.txt\"") && learned.contains("/usr/bin/cat"), "{learned}");
    let done = run(&["--policy", &policy, "--", "cat", "top.txt"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "top\n"), "{done:?}");
    let done = run(&["--policy", &policy, "--", "cat", "other.txt"]);
    assert_eq!((done.code, done.out.as_str()), (Some(1), ""), "{done:?}");
    assert!(done.err.contains("other.txt: Permission denied"), "{done:?}");
    let done = run(&["--policy", "nothing.yaml", "--", "true"]);
    done.is_failure(125, "cannot read nothing.yaml", "--learn FILE writes a policy");
}
