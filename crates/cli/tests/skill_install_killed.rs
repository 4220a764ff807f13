//! `--install` that is killed at any moment, and twice at one time: no half of an environment is ever
//! used, and what is left does not grow.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod place;
mod processes;
mod registry;

use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use place::{Finished, Place, names};
use registry::{Npm, Registry, Wheel};

/// How often an installation is killed, unless `BELLJAR_KILLS` says more.
const KILLS: usize = 6;

/// Both modules are there, or the script fails.
const SCRIPT: &str = "import first_thing, second_thing\nimport subprocess\n\
    node = subprocess.run(['node', '-p', 'require(\"small-thing\")'], capture_output=True, text=True)\n\
    print(first_thing.name, second_thing.name, node.stdout.strip())\n";
const WHOLE: &str = "one two small-thing\n";

fn prepare() -> (Place, Registry) {
    let place = Place::new();
    place.file("probe/scripts/go.py", SCRIPT);
    place.file("probe/package.json", r#"{"dependencies": {"small-thing": "1"}}"#);
    let registry = Registry::start()
        .wheel(&Wheel::new("first_thing", "name = 'one'\n"))
        .wheel(&Wheel::new("second_thing", "name = 'two'\n"))
        .npm(&Npm::new("small-thing", "touch made"));
    (place, registry)
}

fn command(place: &Place, registry: &Registry, arguments: &[&str]) -> Command {
    let mut command = place.skill(arguments);
    command.env("XDG_CACHE_HOME", place.path("cache"));
    registry.configure(&mut command, &place.path("home"));
    command
}

fn run(place: &Place, registry: &Registry, arguments: &[&str]) -> Finished {
    Finished::of(&command(place, registry, arguments).output().unwrap())
}

fn cached(place: &Place) -> Vec<String> {
    let mut names = names(&place.path("cache/belljar/environments"));
    names.sort();
    names
}

/// As if it had been left two minutes ago: what is younger may still be in use.
fn make_old(folder: &Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(120);
    for name in names(folder) {
        File::open(folder.join(name)).unwrap().set_modified(long_ago).unwrap();
    }
}

#[test]
fn an_installation_that_is_killed_leaves_nothing_that_is_used_or_grows() {
    let (place, registry) = prepare();
    let install = ["run", "--install", "../probe"];
    let started = Instant::now();
    let done = run(&place, &registry, &install);
    assert_eq!(done.out, WHOLE, "{done:?}");
    let whole_time = started.elapsed();
    let whole = cached(&place);
    assert_eq!(whole.len(), 2, "an entry and its lock: {whole:?}");
    let kills = std::env::var("BELLJAR_KILLS").map_or(KILLS, |it| it.parse().unwrap());
    for _ in 0..kills {
        let entry = place.path("cache/belljar/environments").join(&whole[0]);
        if entry.exists() {
            fs::remove_dir_all(entry).unwrap();
        }
        let mut child = command(&place, &registry, &install)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // A new one each time: nobody knows beforehand where it is hit.
        let part = RandomState::new().hash_one(0) % 1100;
        let moment = whole_time.mul_f64(part as f64 / 1000.0);
        std::thread::sleep(moment);
        let inside = processes::descendants(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        processes::assert_gone(&inside);
        let left = cached(&place);
        let is_known = |name: &&String| {
            let rest = name.strip_prefix(whole[0].as_str());
            rest.is_some_and(|rest| ["", ".lock", ".making"].contains(&rest))
        };
        assert!(left.iter().all(|name| is_known(&name)), "after {moment:?}: {left:?}");
        // It is whole, or it is not used: never a part.
        let used = run(&place, &registry, &["run", "../probe"]);
        let is_there = left.contains(&whole[0]);
        assert_eq!(used.out, if is_there { WHOLE } else { "" }, "after {moment:?}: {used:?}");
    }
    let again = run(&place, &registry, &install);
    assert_eq!(again.out, WHOLE, "{again:?}");
    assert_eq!(cached(&place), whole);
    make_old(&place.path("tmp"));
    let last = run(&place, &registry, &["run", "../probe"]);
    assert_eq!(last.out, WHOLE, "{last:?}");
    assert_eq!(names(&place.path("tmp")), Vec::<String>::new());
    assert_eq!(place.kept(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn two_installations_at_one_time_make_one() {
    let (place, registry) = prepare();
    let start = || {
        let mut command = command(&place, &registry, &["run", "--install", "../probe"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let both = [start(), start()];
    for child in both {
        let done = Finished::of(&child.wait_with_output().unwrap());
        assert_eq!((done.code, done.out.as_str()), (Some(0), WHOLE), "{done:?}");
    }
    assert_eq!(cached(&place).len(), 2, "{:?}", cached(&place));
    let fetched = registry.requests().into_iter().filter(|it| it.ends_with(".tgz")).count();
    assert_eq!(fetched, 1, "it was installed twice");
    assert_eq!(names(&place.path("tmp")), Vec::<String>::new());
}
