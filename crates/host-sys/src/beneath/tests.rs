//! Trees as a hostile guest would leave them.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, Mode, OFlags};

use super::open::{open_beneath, open_without_links};
use super::*;

/// A folder that a guest shaped, and one beside it that nothing may touch.
struct Case {
    _top: tempfile::TempDir,
    tree: PathBuf,
    outside: PathBuf,
    folder: Folder,
}

const SECRET: &[u8] = b"mine";

fn case() -> Case {
    let top = tempfile::tempdir().unwrap();
    let (tree, outside) = (top.path().join("tree"), top.path().join("outside"));
    fs::create_dir(&tree).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("key"), SECRET).unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o755)).unwrap();
    let folder = Folder::at(&tree).unwrap();
    Case { _top: top, tree, outside, folder }
}

impl Case {
    fn assert_outside_is_untouched(&self) {
        assert_eq!(fs::read(self.outside.join("key")).unwrap(), SECRET);
        assert_eq!(fs::read_dir(&self.outside).unwrap().count(), 1);
        assert_eq!(fs::metadata(&self.outside).unwrap().mode() & 0o7777, 0o755);
    }

    fn make_fifo(&self, name: &str) {
        rustix::fs::mkfifoat(CWD, self.tree.join(name), Mode::from_raw_mode(0o666)).unwrap();
    }
}

fn text(error: &io::Error) -> String {
    error.to_string()
}

#[test]
fn only_single_names_are_names() {
    let case = case();
    for name in ["", ".", "..", "a/b", "../outside/key", "/etc/passwd", "a/"] {
        assert_eq!(case.folder.open(name).unwrap_err().raw_os_error(), Some(22), "{name}");
        assert!(case.folder.create(name, 0o600).is_err(), "{name}");
        assert!(case.folder.remove(name).is_err(), "{name}");
        assert!(case.folder.folder(name).is_err(), "{name}");
        assert!(case.folder.status_of(name).is_err(), "{name}");
        assert!(case.folder.make_folder(name, 0o700).is_err(), "{name}");
        assert!(case.folder.rename("x", &case.folder, name).is_err(), "{name}");
    }
    for path in ["../outside", "a/../../outside", "/etc"] {
        fs::create_dir_all(case.tree.join("a")).unwrap();
        assert!(case.folder.descend(Path::new(path)).is_err(), "{path}");
    }
    assert!(case.folder.open("a\0b").is_err());
    case.assert_outside_is_untouched();
}

#[test]
fn a_link_is_never_followed() {
    let case = case();
    symlink(&case.outside, case.tree.join("d")).unwrap();
    symlink(case.outside.join("key"), case.tree.join("f")).unwrap();
    symlink(case.outside.join("new"), case.tree.join("n")).unwrap();
    assert_eq!(text(&case.folder.open("f").unwrap_err()), "it is a link, not a file");
    let error = case.folder.folder("d").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    assert!(case.folder.descend(Path::new("d/x")).is_err());
    assert!(case.folder.parent_of(Path::new("d/key")).is_err());
    assert!(case.folder.ensure_folder("d", 0o700).is_err());
    assert!(case.folder.create("n", 0o600).is_err());
    assert!(case.folder.set_mode_of("f", 0).is_err());
    assert_eq!(case.folder.status_of("d").unwrap().unwrap().kind, Kind::Link);
    assert_eq!(case.folder.read_link("d").unwrap(), case.outside);
    case.folder.replace("f", 0o640, &b"theirs"[..]).unwrap();
    assert_eq!(fs::read(case.tree.join("f")).unwrap(), b"theirs");
    assert_eq!(fs::symlink_metadata(case.tree.join("f")).unwrap().mode(), 0o100_640);
    case.folder.remove("d").unwrap();
    case.folder.remove_contents().unwrap();
    assert_eq!(case.folder.list(9).unwrap(), []);
    case.assert_outside_is_untouched();
}

/// What hosts before Linux 5.6 do is as strict.
#[test]
fn both_ways_to_open_refuse_the_same() {
    let case = case();
    fs::write(case.tree.join("file"), "").unwrap();
    fs::create_dir(case.tree.join("folder")).unwrap();
    symlink(&case.outside, case.tree.join("to-folder")).unwrap();
    symlink(case.outside.join("key"), case.tree.join("to-file")).unwrap();
    symlink("/proc/self/fd/0", case.tree.join("magic")).unwrap();
    let names = ["file", "folder", "to-folder", "to-file", "magic", "none", "..", "a/b", ""];
    let create = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    for flags in [OFlags::PATH, OFlags::PATH | OFlags::DIRECTORY, OFlags::RDONLY, create] {
        for name in names.map(OsStr::new) {
            let outcome = |opened: rustix::io::Result<OwnedFd>| {
                let status = opened.map(|fd| Status::of(&rustix::fs::fstat(fd).unwrap()).kind);
                if flags == create && status.is_ok() {
                    fs::remove_file(case.tree.join(name)).unwrap();
                }
                status
            };
            let mode = if flags == create { Mode::RUSR } else { Mode::empty() };
            let new = outcome(open_beneath(&case.folder, name, flags, mode));
            let old = outcome(open_without_links(&case.folder, name, flags, mode));
            assert_eq!(new, old, "{name:?} {flags:?}");
        }
    }
    case.assert_outside_is_untouched();
}

#[test]
fn what_is_no_file_is_an_error_and_nobody_waits() {
    let case = case();
    case.make_fifo("fifo");
    let _socket = UnixListener::bind(case.tree.join("socket")).unwrap();
    fs::create_dir(case.tree.join("folder")).unwrap();
    let names = [("fifo", "a FIFO"), ("socket", "a socket"), ("folder", "a folder")];
    for (name, what) in names {
        let error = case.folder.open(name).unwrap_err();
        assert_eq!(text(&error), format!("it is {what}, not a file"));
        assert!(case.folder.read(name, 10).is_err());
    }
    let devices = Folder::at(Path::new("/dev")).unwrap();
    assert_eq!(text(&devices.open("null").unwrap_err()), "it is a device, not a file");
    // In its place a file can be put.
    case.folder.replace("fifo", 0o600, &b"x"[..]).unwrap();
    assert_eq!(case.folder.read("fifo", 10).unwrap(), b"x");
}

#[test]
fn files_are_read_up_to_a_limit_and_in_pieces() {
    let case = case();
    fs::write(case.tree.join("ten"), [7; 10]).unwrap();
    assert_eq!(case.folder.read("ten", 10).unwrap(), [7; 10]);
    let error = case.folder.read("ten", 9).unwrap_err();
    assert_eq!(text(&error), "it has more than 9 bytes");
    let mut pieces = [0; 4];
    let mut file = case.folder.open("ten").unwrap();
    assert_eq!(file.read(&mut pieces).unwrap(), 4);
    assert_eq!(case.folder.read("none", 1).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_new_file_is_new_and_a_failed_replacement_leaves_nothing() {
    struct Breaks;
    impl Read for Breaks {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
    let case = case();
    fs::write(case.tree.join("there"), "old").unwrap();
    let error = case.folder.create("there", 0o600).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert!(case.folder.replace("there", 0o600, Breaks).is_err());
    assert_eq!(fs::read(case.tree.join("there")).unwrap(), b"old");
    assert_eq!(case.folder.list(9).unwrap().len(), 1);
    fs::create_dir_all(case.tree.join("full/x")).unwrap();
    assert!(case.folder.replace("full", 0o600, &b""[..]).is_err());
    assert_eq!(case.folder.list(9).unwrap().len(), 2);
}

#[test]
fn a_held_folder_is_itself_whatever_becomes_of_its_name() {
    let case = case();
    fs::create_dir(case.tree.join("d")).unwrap();
    fs::write(case.tree.join("d/inner"), "i").unwrap();
    let held = case.folder.folder("d").unwrap();
    fs::rename(case.tree.join("d"), case.tree.join("e")).unwrap();
    symlink(&case.outside, case.tree.join("d")).unwrap();
    assert_eq!(held.read("inner", 9).unwrap(), b"i");
    assert_eq!(fs::read(held.proc_path().join("inner")).unwrap(), b"i");
    held.set_mode(0o711).unwrap();
    assert_eq!(fs::metadata(case.tree.join("e")).unwrap().mode() & 0o777, 0o711);
    case.assert_outside_is_untouched();
}

#[test]
fn a_walk_has_order_and_limits() {
    let case = case();
    for path in ["b/2", "b/1", "a", "c/d/e"] {
        fs::create_dir_all(case.tree.join(path)).unwrap();
    }
    symlink(&case.outside, case.tree.join("b/link")).unwrap();
    let walk = |limits| {
        let mut paths = Vec::new();
        case.folder
            .walk(limits, &mut |found| {
                paths.push(found.path.display().to_string());
                Ok(if found.name == "d" { Next::Past } else { Next::Into })
            })
            .map(|()| paths)
    };
    let all = walk(Limits { entries: 7, depth: 2 }).unwrap();
    assert_eq!(all, ["a", "b", "b/1", "b/2", "b/link", "c", "c/d"]);
    let many = walk(Limits { entries: 6, depth: 2 }).unwrap_err();
    assert_eq!(text(&many), "c: there are more than 6 files and folders in it");
    let deep = walk(Limits { entries: 99, depth: 1 }).unwrap_err();
    assert_eq!(text(&deep), "b/1: folders lie in each other more than 1 deep");
}

/// Runs a test as an ordinary user, for whom permissions count.
fn as_ordinary_user(test: impl FnOnce() + Send) {
    use rustix::process::{Gid, Uid};
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                // For this thread alone: the calls are the raw ones.
                rustix::thread::set_thread_gid(Gid::from_raw(65534)).unwrap();
                rustix::thread::set_thread_uid(Uid::from_raw(65534)).unwrap();
            }
            test();
        });
        run.join().unwrap();
    });
}

#[test]
fn locked_folders_are_removed() {
    as_ordinary_user(|| {
        let case = case();
        for (name, bits) in [("none", 0), ("fixed", 0o555), ("blind", 0o333), ("shut", 0o666)] {
            fs::create_dir_all(case.tree.join(name).join("in/er")).unwrap();
            fs::write(case.tree.join(name).join("in/file"), "").unwrap();
            symlink(&case.outside, case.tree.join(name).join("in/link")).unwrap();
            for path in [case.tree.join(name).join("in"), case.tree.join(name)] {
                fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
            }
        }
        let kept = case.folder.remove_unlocked("fixed").unwrap_err();
        assert_eq!(kept.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(fs::metadata(case.tree.join("fixed")).unwrap().mode() & 0o777, 0o555);
        fs::set_permissions(&case.tree, fs::Permissions::from_mode(0o500)).unwrap();
        case.folder.remove_contents().unwrap();
        assert_eq!(case.folder.list(9).unwrap(), []);
        case.assert_outside_is_untouched();
    });
}

#[test]
fn a_tree_of_any_depth_is_removed() {
    let case = case();
    // Deeper than a path can say, than descriptors last and than a stack holds.
    let mut at = case.folder.again().unwrap();
    for _ in 0..5000 {
        at.create("file", 0o600).unwrap();
        at = at.make_folder("deep", 0o700).unwrap();
    }
    drop(at);
    let walked = case.folder.walk(Limits::default(), &mut |_| Ok(Next::Into));
    assert!(text(&walked.unwrap_err()).ends_with("folders lie in each other more than 256 deep"));
    case.folder.remove("deep").unwrap();
    assert_eq!(case.folder.list(9).unwrap().len(), 1);
}

#[test]
fn a_folder_with_very_many_files_is_removed() {
    let case = case();
    let wide = case.folder.make_folder("wide", 0o700).unwrap();
    for n in 0..10_000 {
        wide.create(n.to_string(), 0o600).unwrap();
    }
    assert!(wide.list(9999).is_err());
    assert_eq!(wide.list(10_000).unwrap().len(), 10_000);
    case.folder.remove("wide").unwrap();
    case.folder.remove("wide").unwrap();
    assert_eq!(case.folder.status_of("wide").unwrap(), None);
}

/// Somebody swaps a folder for a link to elsewhere all the time, while everything is done there.
#[test]
fn a_race_does_not_lead_outside() {
    let case = case();
    let is_done = AtomicBool::new(false);
    let swap = || {
        let (a, b) = (case.tree.join("a"), case.tree.join("b"));
        symlink(&case.outside, &b).unwrap();
        while !is_done.load(Ordering::Relaxed) {
            // Whatever the other side removed is made again.
            let _ = fs::create_dir_all(a.join("key/x"));
            let _ = symlink(&case.outside, &b);
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            let _ = rustix::fs::renameat_with(CWD, &a, CWD, &b, flags);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(swap);
        let (mut n_links, mut n_folders) = (0, 0);
        for round in 0..3000 {
            // What fails, fails: only what happens outside counts.
            match case.folder.folder("a") {
                Ok(folder) => {
                    n_folders += 1;
                    let _ = folder.set_mode(0o700);
                    let _ = folder.replace("key", 0o777, &b"theirs"[..]);
                    let _ = folder.create("key2", 0o777);
                }
                Err(_) => n_links += 1,
            }
            let _ = case.folder.set_mode_of("a", 0o711);
            if let Ok(bytes) = case.folder.descend(Path::new("a")).and_then(|it| it.read("key", 9))
            {
                assert_eq!(bytes, b"theirs");
            }
            let _ = case.folder.walk(Limits::default(), &mut |found| {
                assert_ne!(found.status.identity, identity(&case.outside.join("key")));
                Ok(Next::Into)
            });
            if round % 10 == 0 {
                let _ = case.folder.remove("a");
                let _ = case.folder.remove_contents();
            }
        }
        is_done.store(true, Ordering::Relaxed);
        assert!(n_links > 0 && n_folders > 0, "{n_links} links, {n_folders} folders: no race");
    });
    case.assert_outside_is_untouched();
}

fn identity(path: &Path) -> (u64, u64) {
    let metadata = fs::metadata(path).unwrap();
    (metadata.dev(), metadata.ino())
}

#[test]
fn where_a_link_leads_is_known_without_going_there() {
    let case = case();
    fs::create_dir_all(case.tree.join("a/b")).unwrap();
    let link = |to: &Path, name: &str| symlink(to, case.tree.join(name)).unwrap();
    link(Path::new("a/b/.."), "in");
    link(Path::new("../outside/key"), "out");
    link(&case.outside, "absolute");
    link(Path::new("none"), "dangling");
    link(Path::new("self"), "self");
    let leads = |path: &str| case.folder.leads(Path::new(path)).unwrap();
    assert_eq!(leads("in/b"), Leads::Inside);
    assert_eq!(leads("out"), Leads::Outside);
    assert_eq!(leads("absolute/key"), Leads::Outside);
    assert_eq!(leads("dangling"), Leads::Nowhere);
    assert_eq!(leads("self"), Leads::Nowhere);
    let made = case.folder.ensure_path(Path::new("a/b/c/d"), 0o755).unwrap();
    made.create("f", 0o600).unwrap();
    assert!(case.tree.join("a/b/c/d/f").exists());
    assert!(case.folder.ensure_path(Path::new("out/x"), 0o755).is_err());
    assert!(case.folder.ensure_path(Path::new("a/../../x"), 0o755).is_err());
}

#[test]
fn a_path_that_was_written_down_is_not_followed_elsewhere() {
    let case = case();
    let real = case.tree.canonicalize().unwrap();
    fs::create_dir_all(real.join("a/b")).unwrap();
    let held = Folder::at_exactly(&real.join("a/b")).unwrap();
    assert_eq!(held.status().unwrap().identity, identity(&real.join("a/b")));
    assert!(Folder::at_exactly(Path::new("/")).is_ok());
    assert!(Folder::at_exactly(Path::new("a")).is_err());
    fs::rename(real.join("a"), real.join("moved")).unwrap();
    assert_eq!(Folder::at_exactly(&real.join("a/b")).unwrap_err().kind(), io::ErrorKind::NotFound);
    symlink(&case.outside, real.join("a")).unwrap();
    fs::create_dir(case.outside.join("b")).unwrap();
    let error = text(&Folder::at_exactly(&real.join("a/b")).unwrap_err());
    assert_eq!(error, "on its path is a link, or something else by now");
    let error = text(&Folder::at_exactly(&real.join("a")).unwrap_err());
    assert_eq!(error, "on its path is a link, or something else by now");
    fs::remove_dir(case.outside.join("b")).unwrap();
}

#[test]
fn held_folders_are_not_inherited() {
    let case = case();
    let inner = case.folder.make_folder("inner", 0o700).unwrap();
    for folder in [&case.folder, &inner] {
        let flags = rustix::io::fcntl_getfd(folder).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
    }
}
