//! What a hostile guest leaves behind in folders that the program works on afterwards: links,
//! FIFOs, sockets, locked folders and trees of any depth. Nothing outside changes, nobody waits,
//! and nothing stays that was to go.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod place;
mod processes;

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use place::{Finished, Place, names};
use processes::wait_for_end;
use rustix::fs::{CWD, Mode, mkfifoat};

/// Runs a command that might wait for ever, and fails if it does.
fn finish(command: &mut Command) -> Finished {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A deep tree makes long lists, longer than a pipe takes.
    let all_of = |mut stream: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut words = String::new();
            stream.read_to_string(&mut words).map(|_| words)
        })
    };
    let out = all_of(Box::new(child.stdout.take().unwrap()));
    let err = all_of(Box::new(child.stderr.take().unwrap()));
    let status = wait_for_end(&mut child);
    let [out, err] = [out, err].map(|words| words.join().unwrap().unwrap());
    Finished { code: status.code(), out, err }
}

fn belljar(place: &Place, arguments: &[&str]) -> Finished {
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    command.args(arguments).current_dir(place.path("work")).env("TMPDIR", place.path("tmp"));
    finish(&mut command)
}

fn make_fifo(path: &Path) {
    mkfifoat(CWD, path, Mode::RWXU).unwrap();
}

const DEEP: &str = "perl -e 'for (1..3000) { mkdir \"d\" or die; chdir \"d\" or die }'";

#[test]
fn a_layer_deeper_than_any_path_is_refused_and_goes() {
    let place = Place::with_script(&format!("#!/bin/sh\necho 1 > made\n{DEEP}\n"));
    let done = place.run(&["--apply"]);
    done.is_failure(1, "folders lie in each other more than 256 deep", "it is in ");
    assert!(names(&place.path("work")).is_empty(), "nothing is written of what cannot be listed");
    let kept = place.kept();
    assert_eq!(kept.len(), 1);
    let kept_name = kept[0].to_str().unwrap();
    let done = place.output(&["apply", kept_name]);
    done.is_failure(1, "folders lie in each other more than 256 deep", "it is in ");
    assert_eq!(place.output(&["apply", "--discard", kept_name]).code, Some(0));
    assert!(place.kept().is_empty(), "{:?}", place.kept());
}

#[test]
fn special_files_in_a_layer_are_named_and_nobody_waits() {
    let place = Place::with_script(
        "#!/bin/sh\nmkfifo pipe\nmkdir d\nmkfifo d/old.txt\necho 1 > good\n\
         perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un(\"sock\"))'\n",
    );
    place.file("work/d/old.txt", "old\n");
    let done = finish(&mut place.skill(&["run", "--apply", "../probe"]));
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.err.contains("cannot write pipe: it is no file"), "{done:?}");
    assert!(done.err.contains("cannot write sock: it is no file"), "{done:?}");
    assert_eq!(place.work_file("good"), "1\n");
    assert_eq!(place.work_file("d/old.txt"), "old\n");
    let kept = place.kept()[0].clone();
    let done = finish(&mut place.skill(&["apply", "--discard", kept.to_str().unwrap()]));
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(place.kept().is_empty());
}

#[test]
fn links_in_a_layer_and_in_the_folder_lead_nowhere() {
    let place = Place::with_script(
        "#!/bin/sh\nrm -rf sub\nmkdir -p sub other\necho theirs > sub/key\nln -s ../../home/key link\n\
         ln -s ../home other/home\n",
    );
    place.file("home/key", "mine\n");
    place.file("work/sub/key", "old\n");
    assert_eq!(place.run(&[]).code, Some(0));
    let kept = place.kept()[0].clone();
    // After the run, in the place of the folder: a link.
    fs::remove_dir_all(place.path("work/sub")).unwrap();
    symlink(place.path("home"), place.path("work/sub")).unwrap();
    // And in the layer, as only a guest that broke out could: a file beneath a link.
    fs::remove_dir_all(kept.join("files/other")).unwrap();
    symlink(place.path("home"), kept.join("files/other")).unwrap();
    let done = place.output(&["apply", "--overwrite", kept.to_str().unwrap()]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(fs::read_to_string(place.path("home/key")).unwrap(), "mine\n");
    assert_eq!(names(&place.path("home")), ["key"]);
    assert_eq!(place.work_file("sub/key"), "theirs\n");
    assert!(place.path("work/link").is_symlink() && place.path("work/other").is_symlink());
}

/// The folder says itself where its changes go, so that only the user's own are believed.
#[test]
fn only_what_lies_in_the_state_folder_is_applied() {
    let place = Place::new();
    let home = place.path("home");
    let origin = format!("{{\"skill\": \"probe\", \"folder\": {home:?}}}");
    place.file("work/kept/origin.json", &origin);
    place.file("work/kept/files/.profile", "theirs\n");
    let done = place.output(&["apply", "kept"]);
    done.is_failure(1, "holds no changes of a run", "the folder that");
    assert!(names(&home).is_empty());
    // Nor by a link among them.
    fs::create_dir_all(place.path("state/belljar/aside")).unwrap();
    symlink(place.path("work/kept"), place.path("state/belljar/aside/kept")).unwrap();
    let link = place.path("state/belljar/aside/kept");
    let done = place.output(&["apply", link.to_str().unwrap()]);
    done.is_failure(1, "holds no changes of a run", "the folder that");
    assert!(names(&home).is_empty());
}

#[test]
fn a_fifo_that_should_say_whose_changes_they_are_makes_nobody_wait() {
    let place = Place::with_script("#!/bin/sh\necho said\n");
    let kept = place.path("state/belljar/aside/kept");
    fs::create_dir_all(kept.join("files")).unwrap();
    make_fifo(&kept.join("origin.json"));
    let done = finish(&mut place.skill(&["apply", kept.to_str().unwrap()]));
    done.is_failure(1, "it is a FIFO, not a file", "the folder that");
    let done = finish(&mut place.skill(&["run", "../probe"]));
    assert_eq!((done.code, done.out.as_str()), (Some(0), "said\n"), "{done:?}");
}

/// As an ordinary user, for whom permissions count.
#[test]
fn a_layer_with_locked_folders_goes() {
    let place = Place::new();
    let kept = place.path("state/belljar/aside/kept");
    place.file("state/belljar/aside/kept/origin.json", "{\"skill\": \"probe\", \"folder\": null}");
    for (name, mode) in [("none", 0), ("fixed", 0o555), ("blind", 0o333)] {
        let inner = kept.join("files").join(name).join("inner");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("file"), "").unwrap();
        for folder in [inner.as_path(), inner.parent().unwrap()] {
            fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
        }
    }
    let mut command = place.skill(&["apply", "--discard", kept.to_str().unwrap()]);
    if rustix::process::geteuid().is_root() {
        give_to_nobody(&place.path(""));
        use std::os::unix::process::CommandExt;
        command.uid(NOBODY).gid(NOBODY);
    }
    let done = finish(&mut command);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(place.kept().is_empty());
}

const NOBODY: u32 = 65534;

fn give_to_nobody(folder: &Path) {
    chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => give_to_nobody(&entry.path()),
            false => chown(entry.path(), Some(NOBODY), Some(NOBODY)).unwrap(),
        }
    }
}

/// Results of a run may lie in a folder that the guest can write.
#[test]
fn results_do_not_follow_what_the_guest_put_in_their_place() {
    let place = Place::with_script(
        "#!/bin/sh\nfor f in r.html r.json r.txt p.yaml; do rm -f $f; ln -s ../home/key $f; done\n",
    );
    place.file("home/key", "mine\n");
    for results in [
        &["--report", "r.html"][..],
        &["--report", "r.txt"],
        &["--json-report", "r.json"],
        &["--learn", "p.yaml"],
    ] {
        let name = results[1];
        let arguments = [&["run", "../probe", "--work", "."], results].concat();
        let done = finish(&mut place.skill(&arguments));
        assert_eq!(done.code, Some(0), "{done:?}");
        assert_eq!(fs::read_to_string(place.path("home/key")).unwrap(), "mine\n", "{name}");
        assert!(!place.path("work").join(name).is_symlink(), "{name} is where it belongs");
        for name in names(&place.path("work")) {
            fs::remove_file(place.path("work").join(name)).unwrap();
        }
    }
    // What an earlier guest left is refused before the run, and makes nobody wait.
    let results =
        [("--report", "r.html"), ("--json-report", "r.json"), ("--learn", "p"), ("--trace", "t")];
    for (option, name) in results {
        let option = if option == "--trace" {
            vec![format!("--trace={name}")]
        } else {
            vec![option.to_owned(), name.to_owned()]
        };
        let option: Vec<&str> = option.iter().map(String::as_str).collect();
        let skill = [&["skill", "run", "../probe", "--work", "none"], &option[..]].concat();
        let plain = [&["run"], &option[..], &["--", "true"]].concat();
        let arguments = if name == "p" { &skill } else { &plain };
        symlink("../home/key", place.path("work").join(name)).unwrap();
        let done = belljar(&place, arguments);
        assert_eq!(done.code, Some(125), "{name}: {done:?}");
        assert!(done.err.contains("it is a link, not a file"), "{name}: {done:?}");
        fs::remove_file(place.path("work").join(name)).unwrap();
        make_fifo(&place.path("work").join(name));
        let done = belljar(&place, arguments);
        assert_eq!(done.code, Some(125), "{name}: {done:?}");
        assert!(done.err.contains("it is a FIFO, not a file"), "{name}: {done:?}");
        fs::remove_file(place.path("work").join(name)).unwrap();
    }
    assert_eq!(fs::read_to_string(place.path("home/key")).unwrap(), "mine\n");
}

/// What a case expects is read in the folder that the guest wrote.
#[test]
fn a_case_reads_nothing_through_a_link_of_the_guest() {
    let place = Place::with_script("#!/bin/sh\nln -s /etc out\nmkfifo pipe\n");
    place.file(
        "probe/tests/cases.yaml",
        "cases:\n  - name: t\n    expect: {files: {out/passwd: {contains: root}}}\n  \
         - name: u\n    expect: {files: {pipe: {contains: root}}}\n",
    );
    let done = finish(&mut place.skill(&["test", "../probe"]));
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.out.contains("0 of 2 passed"), "{done:?}");
    assert!(!done.out.contains("root:"), "{done:?}");
    assert!(names(&place.path("tmp")).is_empty());
}

/// Temporary folders go, however a guest left them.
#[test]
fn what_is_temporary_goes_however_deep_it_is() {
    let place = Place::with_script(&format!("#!/bin/sh\nmkdir locked\nchmod 0 locked\n{DEEP}\n"));
    place.file("probe/tests/cases.yaml", "cases:\n  - name: t\n");
    let done = finish(&mut place.skill(&["test", "../probe"]));
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(names(&place.path("tmp")).is_empty(), "{:?}", names(&place.path("tmp")));
}

const SHAPES: &str = "cd /root && mkfifo pipe && mkdir locked && echo 1 > locked/f && chmod 0 locked && \
    ln -s /etc/passwd link && ln -s /etc folder && echo 2 > good && \
    perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un(\"sock\"))'";

#[test]
fn an_overlay_folder_and_results_hold_what_a_guest_left() {
    let place = Place::new();
    let script = format!("{SHAPES} && {DEEP}");
    let run = ["run", "--overlay", "kept", "--user", "root", "--", "sh", "-c", script.as_str()];
    let done = belljar(&place, &run);
    assert_eq!(done.code, Some(0), "{done:?}");
    let again = ["run", "--overlay", "kept", "--user", "root", "--", "sh", "-c", "ls /root"];
    let done = belljar(&place, &again);
    assert!(done.out.contains("locked") && done.out.contains("pipe"), "{done:?}");
    let done = belljar(&place, &["diff", "--overlay", "kept"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.out.contains("good"), "{}", done.err);
}

#[test]
fn results_are_copied_and_what_is_special_is_told() {
    let place = Place::new();
    place.file("home/passwd", "mine\n");
    // What an earlier run, or somebody else, left where results go.
    fs::create_dir_all(place.path("work/out/root")).unwrap();
    make_fifo(&place.path("work/out/root/good"));
    symlink(place.path("home"), place.path("work/out/root/locked")).unwrap();
    let run = ["run", "--output", "/root:out", "--user", "root", "--", "sh", "-c", SHAPES];
    let done = belljar(&place, &run);
    assert_eq!(fs::read_to_string(place.path("work/out/root/good")).unwrap(), "2\n", "{done:?}");
    assert!(!place.path("work/out/root/locked").is_symlink());
    assert_eq!(names(&place.path("home")), ["passwd"]);
    for name in ["pipe", "sock"] {
        assert!(done.err.contains(&format!("/root/{name}")), "{done:?}");
        assert!(!place.path("work/out/root").join(name).exists());
    }
}

/// What a virtual environment builds on is shown to the skill. The environment may lie where a
/// guest worked, which then would choose any folder of the user.
#[test]
fn a_virtual_environment_does_not_choose_what_is_shown() {
    let place = Place::new();
    let key = place.path("home/.ssh/id");
    place.file("home/.ssh/id", "secret\n");
    place.file("home/lib/python3.11/os.py", "");
    place.script("probe/scripts/go.sh", &format!("#!/bin/sh\ncat {}\n", key.display()));
    fs::create_dir_all(place.path("work/venv/bin")).unwrap();
    symlink("/bin/sh", place.path("work/venv/bin/python3")).unwrap();
    fs::create_dir_all(place.path("work/python/lib/python3.11")).unwrap();
    // The home itself, what is in it, and the same by a link and by a way back.
    symlink(place.path("home/.ssh"), place.path("work/link")).unwrap();
    for home in ["home/bin", "home/.ssh/bin", "work/link/bin", "work/../home/.ssh/bin"] {
        let text = format!("home = {}\n", place.path(home).display());
        place.file("work/venv/pyvenv.cfg", &text);
        let done = place.output(&["run", "--venv", "venv", "../probe"]);
        done.is_failure(125, "which is no installation of Python to be shown", "python3 -m venv");
        assert!(!done.out.contains("secret"), "{home}: {done:?}");
    }
    // An installation of Python is shown.
    place.file("work/python/lib/python3.11/os.py", "");
    let text = format!("home = {}\n", place.path("work/python/bin").display());
    place.file("work/venv/pyvenv.cfg", &text);
    let lists = format!("#!/bin/sh\nls {}\n", place.path("work/python").display());
    place.script("probe/scripts/go.sh", &lists);
    let done = place.output(&["run", "--venv", "venv", "../probe"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "lib\n"), "{done:?}");
}

#[test]
fn a_link_in_the_place_of_node_modules_is_not_shown() {
    let place = Place::with_script("#!/bin/sh\ncat /node_modules/key\n");
    place.file("home/key", "secret\n");
    fs::create_dir(place.path("work/project")).unwrap();
    symlink(place.path("home"), place.path("work/project/node_modules")).unwrap();
    let done = place.output(&["run", "--node-modules", "project", "../probe"]);
    done.is_failure(125, "has a node_modules that is a link", "name the folder");
    assert!(!done.out.contains("secret"), "{done:?}");
    // What the user names is shown.
    let done = place.output(&["run", "--node-modules", "project/node_modules", "../probe"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "secret\n"), "{done:?}");
}

#[test]
fn a_fifo_that_should_be_a_policy_or_an_environment_makes_nobody_wait() {
    let place = Place::with_script("#!/bin/sh\necho said\n");
    make_fifo(&place.path("work/policy.yaml"));
    let done = finish(&mut place.skill(&["run", "--policy", "policy.yaml", "../probe"]));
    done.is_failure(125, "it is a FIFO, not a file", "docs/policy.md");
    fs::create_dir(place.path("work/venv")).unwrap();
    make_fifo(&place.path("work/venv/pyvenv.cfg"));
    let done = finish(&mut place.skill(&["run", "--venv", "venv", "../probe"]));
    done.is_failure(125, "it is a FIFO, not a file", "python3 -m venv");
}

/// Another guest, which may write to the folder above, puts a link in the place of the one that
/// changes are kept for.
#[test]
fn changes_are_not_written_through_a_link_that_took_the_place_of_their_folder() {
    let place = Place::with_script("#!/bin/sh\necho theirs > .profile\n");
    place.file("work/inner/kept.txt", "");
    let mut run = place.skill(&["run", "../../probe"]);
    assert_eq!(finish(run.current_dir(place.path("work/inner"))).code, Some(0));
    let kept = place.kept()[0].clone();
    fs::rename(place.path("work/inner"), place.path("work/moved")).unwrap();
    symlink(place.path("home"), place.path("work/inner")).unwrap();
    for options in [&["apply"][..], &["apply", "--overwrite"]] {
        let done = place.output(&[options, &[kept.to_str().unwrap()]].concat());
        done.is_failure(1, "on its path is a link", "it is in");
        assert!(names(&place.path("home")).is_empty());
    }
    fs::remove_file(place.path("work/inner")).unwrap();
    fs::rename(place.path("work/moved"), place.path("work/inner")).unwrap();
    assert_eq!(place.output(&["apply", kept.to_str().unwrap()]).code, Some(0));
    assert_eq!(place.work_file("inner/.profile"), "theirs\n");
}

/// It takes nothing on the disk of a guest, and must take nothing on the user's.
#[test]
fn a_file_of_holes_is_written_back_with_its_holes() {
    use std::os::unix::fs::MetadataExt;
    let place = Place::with_script("#!/bin/sh\ntruncate -s 4T huge\n");
    let done = finish(&mut place.skill(&["run", "--apply", "../probe"]));
    assert_eq!(done.code, Some(0), "{done:?}");
    let there = fs::metadata(place.path("work/huge")).unwrap();
    assert_eq!((there.len(), there.blocks()), (4 << 40, 0));
    // Nor does a later run read it through.
    place.script("probe/scripts/go.sh", "#!/bin/sh\ntruncate -s 4T huge\n");
    assert_eq!(finish(&mut place.skill(&["run", "--apply", "../probe"])).code, Some(0));
}

/// The paths of folders in folders grow with the square of their number: these had 640 MB, of which
/// the host held several copies, whatever the guest's limits were.
#[test]
fn a_list_of_changes_has_an_end() {
    let place = Place::new();
    let deep = "my $n = 'd' x 200; for (1..2500) { mkdir $n or die; chdir $n or die } print 'made'";
    let limits = ["--memory", "100M", "--disk", "100M"];
    let run = [&["diff"][..], &limits, &["--", "perl", "-e", deep]].concat();
    let done = belljar(&place, &run);
    assert!(done.err.contains("made"), "{}", done.err);
    assert!(done.err.contains("the changes cannot be listed: E2BIG"), "{}", done.err);
    assert!(done.out.len() < 1000, "{} bytes", done.out.len());
}
