//! Names that lead elsewhere between a look at them and the mount: what is shown is what was looked at.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod place;
mod registry;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use place::{Finished, Place, names};
use registry::{Registry, Wheel};
use rustix::fs::{CWD, RenameFlags, renameat_with};

/// How often the right one has to be shown before the test believes it. Who looks first and mounts
/// by name later shows the other one as often.
const ENOUGH: usize = 8;
/// How often it is tried at most: about half of the time the name leads elsewhere from the start.
const MOST: usize = 200;
/// How long each of them has the name.
const PAUSE: Duration = Duration::from_micros(300);

/// Gives two folders each other's name, again and again.
struct Swapper {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Swapper {
    fn start(one: &Path, other: &Path) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (seen, one, other) = (Arc::clone(&is_over), one.to_path_buf(), other.to_path_buf());
        let thread = std::thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                std::thread::sleep(PAUSE);
            }
        });
        Self { is_over, thread: Some(thread) }
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

/// Runs until the right one was seen often enough. Nothing else may ever be seen.
#[track_caller]
fn sees_only(right: &str, run: impl Fn() -> Finished) {
    let mut n_right = 0;
    for _ in 0..MOST {
        let done = run();
        if done.out == right {
            n_right += 1;
        }
        assert!(done.out.is_empty() || done.out == right, "the other one was shown: {done:?}");
        if n_right == ENOUGH {
            break;
        }
    }
    assert_eq!(n_right, ENOUGH, "too few of {MOST} runs had what they need");
}

/// A folder with a file that says which one it is, and one beside it.
fn two(place: &Place, names: [&str; 2]) -> [PathBuf; 2] {
    names.map(|name| {
        place.file(&format!("{name}/mark"), &format!("{name}\n"));
        place.path(name)
    })
}

#[test]
fn a_virtual_environment_is_the_one_that_was_looked_at() {
    let place = Place::with_script("#!/bin/sh\ncat $VIRTUAL_ENV/mark\n");
    let [right, other] = two(&place, ["right", "other"]);
    fs::write(right.join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    fs::create_dir(right.join("bin")).unwrap();
    symlink("/usr/bin/python3", right.join("bin/python3")).unwrap();
    let _swapper = Swapper::start(&right, &other);
    let venv = right.to_str().unwrap();
    sees_only("right\n", || place.run(&["--venv", venv]));
}

#[test]
fn node_modules_is_the_folder_that_was_looked_at() {
    let place = Place::with_script("#!/bin/sh\ncat /node_modules/mark\n");
    let [right, other] = two(&place, ["top/node_modules", "other"]);
    fs::write(right.join("mark"), "right\n").unwrap();
    // A link is refused when it is seen.
    let link = place.path("top/link");
    symlink(&other, &link).unwrap();
    let _swapper = Swapper::start(&right, &link);
    let top = place.path("top");
    let top = top.to_str().unwrap();
    sees_only("right\n", || place.run(&["--node-modules", top]));
}

#[test]
fn packages_are_those_whose_seal_was_looked_at() {
    let place = Place::new();
    place.file("probe/scripts/go.py", "import small_thing\nprint(small_thing.answer())\n");
    let module = "def answer():\n    return 'right'\n";
    let registry = Registry::start().wheel(&Wheel::new("small_thing", module));
    let run = |arguments: &[&str]| {
        let mut command = place.skill(arguments);
        command.env("XDG_CACHE_HOME", place.path("cache"));
        registry.configure(&mut command, &place.path("home"));
        Finished::of(&command.output().unwrap())
    };
    let first = run(&["run", "--install", "../probe"]);
    assert_eq!(first.out, "right\n", "{first:?}");
    let top = place.path("cache/belljar/environments");
    let made = names(&top).into_iter().find(|name| !name.ends_with(".lock")).unwrap();
    let (made, other) = (top.join(made), top.join("other"));
    let copied = Command::new("cp").arg("-a").args([&made, &other]).status().unwrap();
    assert!(copied.success());
    let found = Command::new("find").arg(&other).args(["-name", "small_thing.py"]).output();
    let module = String::from_utf8(found.unwrap().stdout).unwrap();
    fs::write(module.trim(), "def answer():\n    return 'stolen'\n").unwrap();
    let _swapper = Swapper::start(&made, &other);
    sees_only("right\n", || run(&["run", "../probe"]));
}
