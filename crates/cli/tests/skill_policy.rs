//! `belljar skill run`: what is recorded, learned, enforced and asked for.

#![expect(clippy::unwrap_used, reason = "a test that fails here shall say so")]

mod place;

use std::fs;
use std::io::{BufReader, Read, Write};
use std::process::{Command, Stdio};

use place::{Finished, Place};
use serde_json::Value;

fn report(place: &Place, arguments: &[&str]) -> (Finished, Value) {
    let done = place.run(&[&["--report", "../r.json"], arguments].concat());
    let text = fs::read_to_string(place.path("r.json")).unwrap();
    (done, serde_json::from_str(&text).unwrap())
}

fn find<'v>(list: &'v Value, key: &str, wanted: &str) -> &'v Value {
    let is_it = |item: &&Value| item[key] == wanted;
    list.as_array().unwrap().iter().find(is_it).unwrap_or(&Value::Null)
}

#[test]
fn a_report_tells_processes_files_and_connections() {
    let place = Place::with_script(
        "#!/bin/bash\ncat in.txt > out.txt\nsh -c 'kill -9 $$'\nrm old.txt\necho > t; rm t\n\
         ( : > /dev/tcp/192.0.2.1/80 ) 2>/dev/null\nexit 4\n",
    );
    place.file("work/in.txt", "in\n");
    place.file("work/old.txt", "old\n");
    let (done, json) = report(&place, &[]);
    assert_eq!(done.code, Some(4), "{done:?}");
    let processes = json["processes"].as_array().unwrap();
    let first = &processes[0];
    assert_eq!((&first["parent"], &first["end"]["code"]), (&1.into(), &4.into()));
    let ran = |name: &str| {
        let runs = |it: &&Value| it["commands"][0]["arguments"][0] == name;
        processes.iter().find(runs).unwrap()
    };
    assert_eq!((&ran("cat")["parent"], &ran("cat")["end"]["code"]), (&first["pid"], &0.into()));
    assert_eq!(ran("sh")["end"]["signal"], 9);
    assert!(ran("cat")["started"]["nanos"].is_number() && ran("cat")["ended"].is_object());
    let fate = |path: &str| find(&json["files"], "path", path)["fate"].clone();
    assert_eq!(fate("/work/in.txt"), "unchanged");
    assert_eq!(fate("/work/out.txt"), "created");
    assert_eq!(fate("/work/old.txt"), "removed");
    assert_eq!(fate("/work/t"), "temporary");
    assert_eq!(find(&json["programs"], "path", "/usr/bin/bash")["times"], 1);
    assert_eq!(find(&json["connections"], "address", "192.0.2.1:80")["verdict"], "denied");
    assert_eq!(json["connections"].as_array().unwrap().len(), 1);
    let printed = place.run(&["--report"]);
    assert!(printed.err.contains("└─ ") && printed.err.contains("exit 4"), "{}", printed.err);
    let page = place.run(&["--report", "../r.html"]);
    assert_eq!(page.code, Some(4));
    let page = fs::read_to_string(place.path("r.html")).unwrap();
    assert!(page.contains("192.0.2.1:80") && page.contains("killed"), "{page}");
    for elsewhere in ["http:", "https:", "src=", "<script", "@import", "url("] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
}

#[test]
fn a_learned_policy_fits_the_same_run_and_no_other() {
    let place = Place::with_script(
        "#!/bin/sh\nmkdir -p made\ncat in.txt > made/out.txt\ncase $1 in\nread) cat secret.txt;;\n\
         write) echo x > other.txt;;\nrun) env;;\nesac\n",
    );
    place.file("work/in.txt", "in\n");
    place.file("work/secret.txt", "secret\n");
    assert_eq!(place.run(&["--learn", "../p.yaml"]).code, Some(0));
    let policy = fs::read_to_string(place.path("p.yaml")).unwrap();
    for line in ["network: none", "\"/work/in.txt\"", "\"/work/made\"", "\"/usr/bin/cat\""] {
        assert!(policy.contains(line), "{line} is not in\n{policy}");
    }
    let under = |argument: &str| place.run(&["--policy", "../p.yaml", "--", argument]);
    let same = under("");
    assert_eq!(same.code, Some(0), "{same:?}");
    assert!(!same.err.contains("the policy denied"), "{same:?}");
    for (argument, denied) in [
        ("read", "read /work/secret.txt   (to allow it: files: read: [/work/secret.txt])"),
        ("write", "write /work/other.txt   (to allow it: files: write: [/work/other.txt])"),
        ("run", "run /usr/bin/env   (to allow it: programs: [/usr/bin/env])"),
    ] {
        let more = under(argument);
        assert_ne!(more.code, Some(0), "{more:?}");
        assert!(more.err.contains(denied), "{more:?}");
        assert!(!more.out.contains("secret"), "{more:?}");
    }
}

#[test]
fn a_file_called_star_is_learned_as_that_file() {
    let place = Place::with_script(
        "#!/bin/bash\ncp /usr/bin/true '*'; ./'*' && echo mine > '?*'; cat 'in*'\n\
         case $1 in\nread) cat secret.txt;;\nwrite) echo x > other.txt;;\n\
         run) cp /usr/bin/true ./tool && ./tool;;\nesac\n",
    );
    place.file("work/in*", "in\n");
    place.file("work/secret.txt", "secret\n");
    assert_eq!(place.run(&["--learn", "../p.yaml"]).code, Some(0));
    let policy = fs::read_to_string(place.path("p.yaml")).unwrap();
    assert!(policy.contains(r#""/work/\\*""#), "{policy}");
    let under = |argument: &str| place.run(&["--policy", "../p.yaml", "--", argument]);
    let same = under("");
    assert_eq!((same.code, same.out.as_str()), (Some(0), "in\n"), "{same:?}");
    assert!(!same.err.contains("the policy denied"), "{same:?}");
    for (argument, denied) in [
        ("read", "read /work/secret.txt"),
        ("write", "write /work/other.txt"),
        ("run", "write /work/tool"),
    ] {
        let more = under(argument);
        assert_ne!(more.code, Some(0), "{more:?}");
        assert!(more.err.contains(denied) && !more.out.contains("secret"), "{more:?}");
    }
    // What is learned again stays what it is.
    assert_eq!(place.run(&["--learn", "../p.yaml"]).code, Some(0));
    let again = fs::read_to_string(place.path("p.yaml")).unwrap();
    assert!(again.contains(r#""/work/\\*""#) && !again.contains(r#""/work/*""#), "{again}");
}

#[test]
fn what_would_allow_everything_is_not_learned_and_told() {
    let place = Place::with_script(
        "#!/bin/bash\nprintf x > \"$(printf 'bad\\377')\"; mkdir \"$(printf 'd\\377')\"; : > ok\n",
    );
    let done = place.run(&["--learn", "../p.yaml"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.err.contains("is not in the policy"), "{done:?}");
    let policy = fs::read_to_string(place.path("p.yaml")).unwrap();
    assert!(policy.contains("\"/work/ok\"") && !policy.contains("\"/work\""), "{policy}");
    assert!(!policy.contains("\"/\""), "{policy}");
}

#[test]
fn denials_that_are_made_up_hide_none_and_words_about_the_report_are_true() {
    let place = Place::with_script(
        "#!/bin/bash\nfor n in $(seq 1 1500); do : < many/$n; done 2>/dev/null\n\
         : > thesis.txt; cat /etc/ssl/private/key; true\n",
    );
    for n in 1..=1500 {
        place.file(&format!("work/many/{n}"), "");
    }
    place.file("work/thesis.txt", "mine\n");
    place.file(
        "p.yaml",
        "files: {read: [/skill, /usr, /etc], write: [/work/none]}\nprograms: [bash, cat, seq]\n",
    );
    let (done, json) = report(&place, &["--policy", "../p.yaml"]);
    let denied = json["denied"].as_array().unwrap();
    assert_eq!(denied.len(), 1000, "{done:?}");
    assert_eq!(find(&json["denied"], "path", "/work/thesis.txt")["wanted"], "write");
    let more = &json["more_denied_by_kind"][0];
    assert_eq!((&more["kind"], &more["times"]), (&"read".into(), &json["more_denied"]));
    assert!(json["more_denied"].as_u64().unwrap() >= 501, "{more}");
    // What is said to be listed is listed there, and what is listed nowhere is said to be so.
    assert!(done.err.contains("and 990 more; --report FILE.html lists them"), "{}", done.err);
    assert!(done.err.contains("counted and not listed anywhere: read"), "{}", done.err);
    assert!(!done.err.contains("--report shows them"), "{}", done.err);
    place.run(&["--report", "../r.html", "--policy", "../p.yaml"]);
    let page = fs::read_to_string(place.path("r.html")).unwrap();
    assert_eq!(page.matches("<code>/work/many/").count(), 999, "{}", done.err);
    assert!(page.contains("times, of: read</p>"));
    let told = place.run(&["--report", "--policy", "../p.yaml"]);
    assert!(told.err.contains("  not recorded, "), "{}", told.err);
}

#[test]
fn what_is_learned_again_is_added() {
    let place = Place::with_script("#!/bin/sh\ncat $1.txt\n");
    for name in ["a", "b", "c"] {
        place.file(&format!("work/{name}.txt"), name);
    }
    for name in ["a", "b"] {
        assert_eq!(place.run(&["--learn", "../p.yaml", "--", name]).out, name);
    }
    for (name, code) in [("a", 0), ("b", 0), ("c", 1)] {
        let held = place.run(&["--policy", "../p.yaml", "--", name]);
        assert_eq!(held.code, Some(code), "{held:?}");
    }
    // What somebody has written is not written over.
    let mine = "files: {read: [/usr]}\n";
    place.file("mine.yaml", mine);
    let done = place.run(&["--learn", "../mine.yaml", "--", "a"]);
    done.is_failure(125, "something else in it", "another place");
    assert_eq!(done.out, "");
    assert_eq!(fs::read_to_string(place.path("mine.yaml")).unwrap(), mine);
}

#[test]
fn there_is_no_way_around_a_policy() {
    let place = Place::with_script(
        "#!/bin/bash\nmv secret.txt made/a; ln secret.txt made/b; ln -s ../secret.txt made/c\n\
         cat made/*; cat secret.txt; : > secret.txt; rm secret.txt; chmod 777 secret.txt\n\
         touch secret.txt; cat < /proc/self/cwd/secret.txt; mkdir folder; mv made /tmp/x\n\
         cp /usr/bin/env made/env; made/env; truncate -s 0 secret.txt; cat link\n\
         exec 3<made; cat /proc/self/fd/3/../secret.txt\n",
    );
    place.file("work/secret.txt", "secret\n");
    place.file("work/made/x.txt", "x\n");
    std::os::unix::fs::symlink("secret.txt", place.path("work/link")).unwrap();
    place.file(
        "p.yaml",
        "files:\n  read: [/skill, /usr/lib, /etc, /usr/bin/env]\n  write: [/work/made]\n\
         programs: [bash, mv, ln, cat, rm, chmod, touch, mkdir, cp, truncate]\n",
    );
    let done = place.run(&["--policy", "../p.yaml"]);
    assert_eq!(done.out, "x\n", "{done:?}");
    assert!(!done.err.contains("secret\n"), "{done:?}");
    assert!(done.err.contains("run /work/made/env"), "{done:?}");
    let (_, json) = report(&place, &["--policy", "../p.yaml"]);
    for change in json["changes"].as_array().unwrap() {
        assert!(change["path"].as_str().unwrap().starts_with("made"), "{change}");
    }
}

#[test]
fn who_asks_is_told_what_the_policy_would_say() {
    let place = Place::with_script(
        "#!/bin/bash\nfor f in in.txt other.txt; do\n[ -r $f ] && echo reads $f\n\
         [ -w $f ] && echo writes $f\ndone\n[ -x /usr/bin/env ] && echo runs env\n\
         [ -x /usr/bin/tee ] && echo runs tee\n:\n",
    );
    place.file("work/in.txt", "");
    place.file("work/other.txt", "");
    place.file(
        "p.yaml",
        "files:\n  read: [/skill, /usr/lib, /etc, /work/in.txt]\n  write: [/work/other.txt]\n\
         programs: [bash, tee]\n",
    );
    let done = place.run(&["--policy", "../p.yaml"]);
    let answers = "reads in.txt\nreads other.txt\nwrites other.txt\nruns tee\n";
    assert_eq!(done.out, answers, "{done:?}");
    assert!(done.err.contains("it asked about 2 paths"), "{done:?}");
    let told = place.run(&["--policy", "../p.yaml", "--report"]);
    assert!(
        told.err.contains("asked about, and told no by the policy:\n  write       /work/in.txt")
    );
    let all = place.run(&["--learn", "../learned.yaml"]);
    let same = place.run(&["--policy", "../learned.yaml"]);
    assert_eq!((same.out, same.err.contains("denied")), (all.out, false), "{}", same.err);
}

#[test]
fn a_program_that_the_policy_denies_is_told() {
    let place = Place::with_script("#!/bin/sh\n");
    place.file("p.yaml", "programs: [cat]\n");
    place.run(&["--policy", "../p.yaml"]).is_failure(126, "does not let", "programs:");
    place.file("p.yaml", "files: {read: [usr]}\n");
    let done = place.run(&["--policy", "../p.yaml"]);
    assert_eq!(done.code, Some(125), "{done:?}");
    assert!(done.err.contains("must start with a slash"), "{done:?}");
}

#[test]
fn what_cannot_be_written_after_the_run_is_told_before_it() {
    let place = Place::with_script("#!/bin/sh\necho ran\n");
    let done = place.run(&["--report", "/no/such/folder/r.html"]);
    done.is_failure(125, "cannot write the report", "another place");
    assert_eq!(done.out, "");
    let done = place.run(&["--learn", "/no/such/folder/p.yaml"]);
    done.is_failure(125, "cannot write the policy", "another place");
    assert_eq!(done.out, "");
    place.file("broken.skill", "PK\u{3}\u{4}nothing more");
    place.output(&["run", "../broken.skill"]).is_failure(125, "broken.skill", "again");
}

/// Runs the skill at a terminal, and answers its questions.
fn at_a_terminal(place: &Place, answers: &[(&str, &str)]) -> String {
    let run = place.skill(&["run", "../probe"]);
    let mut command = Command::new("script");
    let program = env!("CARGO_BIN_EXE_belljar");
    command.args(["-qec", &format!("'{program}' skill run ../probe"), "/dev/null"]);
    for (name, value) in run.get_envs() {
        command.env(name, value.unwrap());
    }
    let mut child = command
        .current_dir(place.path("work"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut seen = String::new();
    for (question, answer) in answers {
        let mut byte = [0];
        while !seen.ends_with(question) {
            assert_eq!(output.read(&mut byte).unwrap(), 1, "no question in {seen}");
            seen.push(byte[0].into());
        }
        input.write_all(answer.as_bytes()).unwrap();
    }
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).unwrap();
    drop(input);
    child.wait().unwrap();
    (seen + &String::from_utf8_lossy(&rest)).replace('\r', "")
}

#[test]
fn questions_are_asked_at_a_terminal() {
    let place = Place::with_script("#!/bin/sh\necho \"mode=$MODE\"; echo new > file.txt\n");
    place.file("probe/belljar.yaml", "env: {set: {MODE: fast}}\n");
    let (grant, write) = ("Grant this? [y/N] ", "work? [y/N] ");
    let seen = at_a_terminal(&place, &[(grant, "n\n"), (write, "\n")]);
    assert!(seen.contains("mode=\n") && seen.contains("kept aside"), "{seen}");
    assert!(!place.path("work/file.txt").exists());
    let seen = at_a_terminal(&place, &[(grant, "y\n"), (write, "yes\n")]);
    assert!(seen.contains("mode=fast\n"), "{seen}");
    assert_eq!(place.work_file("file.txt"), "new\n");
}

#[test]
fn a_tilde_is_the_home_folder() {
    let place = Place::with_script("#!/bin/sh\ncat /data/word\n");
    place.file("home/stuff/word", "from the home\n");
    place.file("probe/~/stuff/word", "from a folder called tilde\n");
    let policy = "mounts: [{source: ~/stuff, target: /data}]\n";
    place.file("probe/belljar.yaml", policy);
    let done = place.run(&["--yes"]);
    assert_eq!(done.out, "from the home\n", "{done:?}");
    fs::remove_file(place.path("probe/belljar.yaml")).unwrap();
    place.file("p.yaml", policy);
    assert_eq!(place.run(&["--policy", "../p.yaml"]).out, "from the home\n");
    assert_eq!(place.run(&["--mount=~/stuff:/data"]).out, "from the home\n");
    // Without a home it is refused, before anything is asked.
    let mut command = place.skill(&["run", "../probe", "--policy", "../p.yaml"]);
    let output = command.env_remove("HOME").output().unwrap();
    Finished::of(&output).is_failure(125, "home folder", "set HOME");
    place.file("probe/belljar.yaml", policy);
    let output = place.skill(&["run", "../probe"]).env_remove("HOME").output().unwrap();
    Finished::of(&output).is_failure(125, "home folder is not known", "set HOME");
}

#[test]
fn a_path_that_cannot_be_found_and_keys_are_told_by_check() {
    let place = Place::with_script("#!/bin/sh\ncat /keys/id\n");
    place.file("home/.ssh/id", "secret\n");
    place.file("probe/belljar.yaml", "mounts: [{source: ~/.ssh, target: /keys}]\n");
    let checked = place.output(&["check", "../probe"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(checked.out.contains("`~/.ssh` holds SSH keys"), "{checked:?}");
    assert_eq!(place.run(&["--no"]).out, "");
    let granted = place.run(&["--yes"]);
    assert_eq!(granted.out, "secret\n", "{granted:?}");
    assert!(granted.err.contains("holds SSH keys"), "{granted:?}");
    place.file("probe/belljar.yaml", "mounts: [{source: ~ann/x, target: /keys}]\n");
    let checked = place.output(&["check", "../probe"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert!(checked.out.contains("`~ann/x` is no path"), "{checked:?}");
    let done = place.run(&["--yes"]);
    assert_eq!(done.code, Some(125), "{done:?}");
}
