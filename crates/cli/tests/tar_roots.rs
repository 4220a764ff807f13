//! `--root TAR`: archives of real `tar` are read in place, in every form that it writes.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test may stop at the first surprise")]

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What is asked of a tree, natively and inside. Everything is relative to its top.
const QUESTIONS: &str = "md5sum sparse many hole tail plain hard n*/n*/file; \
    stat -c '%n %s %a %h %Y %F' sparse many hole tail plain hard soft folder; \
    readlink soft; readlink long; ls folder; find ./n* ./bin | sort; \
    test plain -ef hard && echo same; dd if=sparse bs=1000 skip=1040 count=3 2>/dev/null | md5sum; \
    tail -c 20 tail | od -c | head -1; stat -c %t:%T nodes/null nodes/disk 2>/dev/null";

/// A tree with `busybox`, files with holes, long names and links.
fn tree(at: &Path) -> PathBuf {
    let tree = at.join("tree");
    fs::create_dir_all(tree.join("bin")).unwrap();
    fs::create_dir(tree.join("folder")).unwrap();
    let busybox = ["/usr/bin/busybox", "/bin/busybox"].iter().find(|path| Path::new(path).exists());
    fs::copy(busybox.unwrap(), tree.join("bin/busybox")).unwrap();
    let write = |name: &str, size: u64, pieces: &[u64]| {
        let file = File::create(tree.join(name)).unwrap();
        file.set_len(size).unwrap();
        for &offset in pieces {
            let text = format!("{name} at {offset} ").repeat(400);
            let length = usize::try_from(size - offset).unwrap().min(text.len());
            file.write_all_at(&text.as_bytes()[..length], offset).unwrap();
        }
    };
    write("sparse", 4 << 20, &[0, 1 << 20, (1 << 20) + 65536]);
    // More pieces than a header has room for.
    let many: Vec<u64> = (0..70).map(|n| n * 131_072 + 65536).collect();
    write("many", 10 << 20, &many);
    write("hole", 3 << 20, &[]);
    write("tail", (2 << 20) + 17, &[2 << 20]);
    write("plain", 5000, &[0]);
    fs::hard_link(tree.join("plain"), tree.join("hard")).unwrap();
    symlink("folder/../plain", tree.join("soft")).unwrap();
    symlink("t".repeat(180), tree.join("long")).unwrap();
    let deep = tree.join("n".repeat(120)).join("n".repeat(130));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("file"), "deep").unwrap();
    fs::write(tree.join("folder/a"), "").unwrap();
    fs::set_permissions(tree.join("plain"), fs::Permissions::from_mode(0o4751)).unwrap();
    // Only root can make these.
    fs::create_dir(tree.join("nodes")).unwrap();
    for (name, kind, major, minor) in [("null", "c", "1", "3"), ("disk", "b", "8", "0")] {
        let path = tree.join("nodes").join(name);
        let _ = Command::new("mknod").arg(path).args([kind, major, minor]).output();
    }
    tree
}

fn inside(root: &Path, script: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_belljar"))
        .args(["run", "--user", "root", "--root"])
        .arg(root)
        .args(["--cwd", "/", "--", "/bin/busybox", "sh", "-c", script])
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn archives_of_every_form_show_the_tree_that_they_were_made_of() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    let tree = tree(at);
    let natively = Command::new(tree.join("bin/busybox"))
        .args(["sh", "-c", QUESTIONS])
        .current_dir(&tree)
        .output()
        .unwrap();
    let expected = text(&natively.stdout);
    assert!(expected.contains("same\n"), "{expected}");
    let forms: [(&str, &[&str]); 7] = [
        ("gnu.tar", &["--format=gnu"]),
        ("old-sparse.tar", &["--format=gnu", "--sparse"]),
        ("pax-0.0.tar", &["--format=posix", "--sparse", "--sparse-version=0.0"]),
        ("pax-0.1.tar.gz", &["--format=posix", "--sparse", "--sparse-version=0.1", "--gzip"]),
        ("pax-1.0.tar.zst", &["--format=posix", "--sparse", "--sparse-version=1.0", "--zstd"]),
        ("pax.tar.gz", &["--format=posix", "--gzip"]),
        ("names.tar", &["--format=posix", "--no-recursion", "--sparse", "--hole-detection=raw"]),
    ];
    for (name, options) in forms {
        let archive = at.join(name);
        let mut tar = Command::new("tar");
        tar.args(options).arg("-cf").arg(&archive).arg("-C").arg(&tree);
        let made = if options.contains(&"--no-recursion") {
            // Without a leading dot, and directories only where a file needs them.
            let mut find = Command::new("find");
            find.args(["-not", "-type", "d", "-printf", "%P\\n"]).current_dir(&tree);
            let list = find.output().unwrap();
            fs::write(at.join("list"), list.stdout).unwrap();
            tar.arg("-T").arg(at.join("list")).status()
        } else {
            tar.arg(".").status()
        };
        assert!(made.unwrap().success(), "{name}");
        let output = inside(&archive, QUESTIONS);
        let without_folder_times = |text: &str| -> String {
            text.lines().filter(|line| !line.starts_with("folder ")).collect()
        };
        assert_eq!(text(&output.stderr), "", "{name}");
        let found = text(&output.stdout);
        assert_eq!(without_folder_times(&found), without_folder_times(&expected), "{name}");
    }
}

#[test]
fn holes_stay_holes_and_devices_lead_nowhere() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    let tree = tree(at);
    let archive = at.join("root.tar");
    let mut tar = Command::new("tar");
    tar.args(["--format=gnu", "--sparse", "-cf"]).arg(&archive).arg("-C").arg(&tree).arg(".");
    assert!(tar.status().unwrap().success());
    let script = "test $(stat -c %b hole) -eq 0 && test $(stat -c %b sparse) -lt 500 && echo holes; \
        cp sparse copy && cmp sparse copy && echo x >> sparse && tail -c 2 sparse; \
        cat nodes/disk; echo $?";
    let output = inside(&archive, script);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(out, "holes\nx\n1\n", "{err}");
    if tree.join("nodes/disk").exists() {
        assert_eq!(err, "cat: can't open 'nodes/disk': No such device or address\n");
    }
}

#[test]
fn what_is_no_archive_is_refused_with_words() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    let tree = tree(at);
    for (name, options) in [("whole.tar", "-cf"), ("whole.gz", "-czf"), ("whole.zst", "--zstd")] {
        let mut tar = Command::new("tar");
        tar.arg(options);
        if options == "--zstd" {
            tar.arg("-cf");
        }
        tar.arg(at.join(name)).arg("-C").arg(&tree).arg("bin").arg("plain");
        assert!(tar.status().unwrap().success());
        let bytes = fs::read(at.join(name)).unwrap();
        fs::write(at.join(format!("half-{name}")), &bytes[..bytes.len() / 2]).unwrap();
    }
    fs::write(at.join("text"), "no archive ".repeat(100)).unwrap();
    for name in ["half-whole.tar", "half-whole.gz", "half-whole.zst", "text", "missing"] {
        let output = inside(&at.join(name), "true");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{name}: {said}");
        assert!(said.starts_with("error: ") && said.contains(name), "{name}: {said}");
    }
}
