//! Mounts: whose they are, and where they cannot be.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output};

fn run(behind: &[&str], folder: &Path, words: &[&str]) -> Output {
    let mut words = behind.iter().chain([&env!("CARGO_BIN_EXE_belljar")]).chain(words);
    let mut command = Command::new(words.next().unwrap());
    command.args(words).current_dir(folder).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn the_top_of_an_overlay_belongs_to_whom_its_source_belongs() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    let look = "stat -c %u:%g:%a . && touch made && mkdir -p deep/er && stat -c %u made deep";
    for mode in [0o755, 0o700, 0o2770] {
        std::fs::set_permissions(at, std::fs::Permissions::from_mode(mode)).unwrap();
        let words = ["run", "--mount", ".:/work:overlay", "--cwd", "/work", "--", "sh", "-c", look];
        let said = text(&run(&[], at, &words));
        assert_eq!(said, format!("1000:1000:{mode:o}\n1000\n1000\n"));
        assert_eq!(at.read_dir().unwrap().count(), 0, "nothing gets through");
    }
    // As in a mount that is written at once, also where somebody else owns it.
    if rustix::process::geteuid().is_root() {
        chown(at, Some(64321), Some(64322)).unwrap();
        std::fs::set_permissions(at, std::fs::Permissions::from_mode(0o755)).unwrap();
        for access in ["rw", "overlay"] {
            let mount = format!(".:/work:{access}");
            let words = ["run", "--mount", &mount, "--cwd", "/work", "--", "sh", "-c", look];
            let said = text(&run(&[], at, &words));
            assert!(said.starts_with("64321:64322:755\n"), "{access}: {said}");
            assert!(said.contains("Permission denied"), "{access}: {said}");
        }
    }
}

#[test]
fn make_works_in_an_overlay() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("Makefile"), "all: out\nout:\n\techo made > out\n").unwrap();
    let words = ["run", "--mount", ".:/work:overlay", "--cwd", "/work", "--", "make"];
    let output = run(&[], place.path(), &words);
    assert!(output.status.success(), "{}", text(&output));
    assert!(!place.path().join("out").exists());
}
