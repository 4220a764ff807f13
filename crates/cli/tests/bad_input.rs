//! What cannot be done is said in words, with code 125, and leaves nothing behind.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// What `belljar` says to these arguments in a folder with the folder `d` and the file `f`.
fn said(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_belljar"))
        .args(arguments)
        .args(if arguments.contains(&"shell") { &[][..] } else { &["--", "true"] })
        .current_dir(folder)
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn options_that_make_no_sense_are_explained() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::create_dir(at.join("d")).unwrap();
    fs::write(at.join("f"), "no archive").unwrap();
    let cases: [(&[&str], &str); 17] = [
        (&["run", "--mount", "missing:/m"], "missing: No such file or directory"),
        (&["run", "--mount", "missing:/m"], "hint: make it first"),
        (&["run", "--mount", "f:/usr"], "/usr has to be of the same kind"),
        (&["run", "--mount", "d:/etc/hosts"], "/etc/hosts has to be of the same kind"),
        (&["run", "--mount", "d:relative"], "must start with a slash"),
        (&["run", "--mount", "d:/m/../../x"], "must not contain `..`"),
        (&["run", "--mount", "d"], "write SRC:DST"),
        (&["run", "--mount", "d:/m:zz"], "unknown mount mode `zz`"),
        (&["run", "--mount", "d:/m", "--mount", "f:/m"], "the same place inside, /m"),
        (&["run", "--mount", "d:/m", "--tmpfs", "/m:1M"], "the same place inside, /m"),
        (&["run", "--tmpfs", "/t:much"], "`much` is no size"),
        (&["run", "--tmpfs", "relative:1M"], "must start with a slash"),
        (&["run", "--root", "missing"], "cannot use missing as root"),
        (&["run", "--root", "/dev/null"], "neither a folder nor an archive"),
        (&["run", "--overlay", "f"], "it is no folder"),
        (&["run", "--output", "f:f"], "it is no folder"),
        (&["run", "--read-only", "--overlay", "k"], "cannot be used with"),
    ];
    for (arguments, expected) in cases {
        let (code, said) = said(at, arguments);
        assert_eq!(code, Some(125), "{arguments:?}: {said}");
        assert!(said.starts_with("error: ") && said.contains(expected), "{arguments:?}: {said}");
    }
    let mut names: Vec<_> = fs::read_dir(at).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["d", "f"]);
}

#[test]
fn what_was_meant_is_in_the_hint() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("d")).unwrap();
    let before = "options of Belljar come before `--`";
    let cases: [(&[&str], &str, &str); 28] = [
        (&["run", "--timout", "5s"], "no option or argument `--timout`", "mean --timeout?"),
        (&["run", "--timout=5s"], "no option or argument `--timout`", "mean --timeout?"),
        (&["run", "--read-ony", "ls"], "no option or argument `--read-ony`", "mean --read-only?"),
        (&["shell", "--memry", "1G"], "no option or argument `--memry`", "mean --memory?"),
        (&["skill", "run", "d", "--instal"], "argument `--instal`", "mean --install?"),
        (&["diff", "--timout", "5s"], "no option or argument `--timout`", "mean --timeout?"),
        (&["conform", "needs", "--skil", "d"], "no option or argument `--skil`", "mean --skill?"),
        (&["run", "--xyzzy"], "no option or argument `--xyzzy`", before),
        (&["run", "-x"], "no option or argument `-x`", before),
        (&["rnu"], "no command `rnu`", "the commands are run, diff,"),
        (&["skill", "rnu"], "no command `rnu`", "the commands are "),
        (&["run", "--memory", "512"], "the least is 1M", "did you mean 512M?"),
        (&["run", "--memory", "0"], "the least is 1M", "leave the limit out"),
        (&["shell", "--memory", "0"], "the least is 1M", "leave the limit out"),
        (&["skill", "run", "d", "--memory", "64"], "the least is 1M", "did you mean 64M?"),
        (&["run", "--disk", "10"], "the least is 64K", "did you mean 10M?"),
        (&["run", "--file-size", "0"], "the least is 4K", "leave the limit out"),
        (&["run", "--output-limit", "0"], "the least is 1K", "leave the limit out"),
        (&["run", "--tmpfs", "/t:64"], "the least is 4K", "did you mean 64M?"),
        (&["run", "--output", "10M"], "`10M` is a size", "--output-limit 10M"),
        (&["run", "--mount", "d:/"], "/ inside belongs to the sandbox", "--root DIR"),
        (&["run", "--mount", "d:/./"], "/./ inside belongs to the sandbox", "--root DIR"),
        (&["run", "--mount", "d:/proc"], "/proc inside belongs", "such as /data"),
        (&["run", "--mount", "d:/sys/fs:rw"], "/sys/fs inside belongs", "such as /data"),
        (&["run", "--mount", "d:/dev/shm:overlay"], "/dev/shm inside belongs", "such as /data"),
        (&["run", "--tmpfs", "/proc"], "/proc inside belongs", "such as /data"),
        (&["skill", "run", "d", "--mount", "d:/proc"], "/proc inside belongs", "such as /data"),
        (&["run", "--timeout", "0"], "longer than nothing", "`belljar run --help`"),
    ];
    for (arguments, error, hint) in cases {
        let (code, said) = said(place.path(), arguments);
        let starts_a_sandbox = matches!(arguments, ["run" | "shell", ..] | ["skill", "run", ..]);
        assert_eq!(code, Some(if starts_a_sandbox { 125 } else { 2 }), "{arguments:?}: {said}");
        let lines: Vec<&str> = said.lines().collect();
        let [first, second] = lines.as_slice() else { panic!("{arguments:?}: {said}") };
        assert!(first.starts_with("error: ") && first.contains(error), "{arguments:?}: {said}");
        assert!(second.starts_with("hint: ") && second.contains(hint), "{arguments:?}: {said}");
    }
}

#[test]
fn options_of_the_program_are_its_own() {
    let place = tempfile::tempdir().unwrap();
    for words in
        [["run", "--", "printf", "--", "--timout %s"], ["run", "printf", "%s %s", "--timout", "5s"]]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
        let output = command.args(words).current_dir(&place).output().unwrap();
        assert!(output.stdout.starts_with(b"--timout "), "{output:?}");
    }
}

#[test]
fn a_sandbox_in_a_sandbox_is_refused_by_its_name() {
    let belljar = env!("CARGO_BIN_EXE_belljar");
    let mount = format!("{belljar}:/belljar");
    let inside = |words: &[&str]| {
        let mut command = Command::new(belljar);
        let output = command.args(["run", "--mount", &mount, "--", "/belljar"]).args(words);
        let output = output.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    };
    let (code, said) = inside(&["run", "--", "true"]);
    assert_eq!(code, Some(125), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    let [first, second] = lines.as_slice() else { panic!("{said}") };
    assert!(first.starts_with("error: ") && first.contains("in a sandbox of Belljar"), "{said}");
    assert!(second.starts_with("hint: ") && second.contains("the program itself"), "{said}");
    let (_, said) = inside(&["doctor"]);
    let (_, backend) = said.split_once("does not work here\n").unwrap();
    let reason = backend.lines().next().unwrap();
    assert!(reason.contains("in a sandbox of Belljar"), "{said}");
}

#[test]
fn folders_that_are_made_have_the_mode_that_the_user_wants() {
    let place = tempfile::tempdir().unwrap();
    let belljar = env!("CARGO_BIN_EXE_belljar");
    let script =
        format!("umask 027; {belljar} run --overlay kept/deep --output made -- touch file");
    let status = Command::new("sh").args(["-c", &script]).current_dir(&place).status();
    assert!(status.unwrap().success());
    let mode =
        |path: &str| fs::metadata(place.path().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(["kept", "made"].map(mode), [0o750; 2]);
}
