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
        .args(["--", "true"])
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
