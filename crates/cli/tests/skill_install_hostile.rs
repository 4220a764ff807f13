//! `--install` with packages that shape what they are installed into.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod place;
mod registry;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use place::{Finished, Place, names};
use registry::{Npm, Registry, Source, Wheel};

const NODE_SCRIPT: &str = "const fs = require('fs');\n\
    try { require('small-thing'); } catch (e) { console.log('no package'); }\n\
    for (const path of ['/node_modules/key', '/environment/node/node_modules/key']) {\n\
    \x20 try { console.log(fs.readFileSync(path, 'utf8')); } catch (e) { console.log(e.code); }\n}\n";

fn command(place: &Place, registry: &Registry, arguments: &[&str]) -> Command {
    let mut command = place.skill(arguments);
    command.env("XDG_CACHE_HOME", place.path("cache"));
    registry.configure(&mut command, &place.path("home"));
    command
}

fn run(place: &Place, registry: &Registry, arguments: &[&str]) -> Finished {
    let done = Finished::of(&command(place, registry, arguments).output().unwrap());
    assert_eq!(names(&place.path("tmp")), Vec::<String>::new(), "something was left behind");
    done
}

/// The environments in the cache, finished or not.
fn environments(place: &Place) -> Vec<PathBuf> {
    let top = place.path("cache/belljar/environments");
    let all = names(&top).into_iter().filter(|name| !name.ends_with(".lock"));
    all.map(|name| top.join(name)).collect()
}

/// A folder of the host that nobody named, with a file in it.
fn secret(place: &Place) -> PathBuf {
    place.file("secret/key", "the host's own");
    place.path("secret")
}

#[test]
fn a_folder_that_becomes_a_link_is_not_followed() {
    let place = Place::new();
    place.file("probe/scripts/go.cjs", NODE_SCRIPT);
    let secret = secret(&place);
    let attack = format!(
        "rm -rf /environment/node/node_modules; ln -s {} /environment/node/node_modules",
        secret.display()
    );
    let registry = Registry::start().npm(&Npm::new("small-thing", attack));
    for arguments in [&["run", "--install", "../probe"][..], &["run", "../probe"]] {
        let done = run(&place, &registry, arguments);
        assert!(!done.out.contains("the host's own"), "{done:?}");
        assert_eq!(done.out, "no package\nENOENT\nENOENT\n", "{done:?}");
    }
    let deps = run(&place, &registry, &["deps", "../probe"]);
    assert!(deps.out.contains("MISSING"), "{deps:?}");
}

#[test]
fn a_file_that_becomes_a_link_is_not_written_through() {
    let place = Place::new();
    place.file("probe/scripts/go.py", "import small_thing\nprint(small_thing.answer())\n");
    place.file("probe/package.json", r#"{"dependencies": {"other-thing": "1"}}"#);
    let file = secret(&place).join("key");
    let attack = format!(
        "import os\nfor folder in ['/environment/node', '/environment/python', '/environment']:\n\
         \x20   try:\n        os.makedirs(folder, exist_ok=True)\n\
         \x20       if os.path.lexists(folder + '/package.json'): os.unlink(folder + '/package.json')\n\
         \x20       os.symlink('{}', folder + '/package.json')\n\
         \x20   except OSError: pass\n",
        file.display()
    );
    let registry = Registry::start()
        .source(&Source::new("small_thing", attack))
        .npm(&Npm::new("other-thing", ""));
    let done = run(&place, &registry, &["run", "--install", "../probe"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "the host's own", "{done:?}");
    assert_eq!(done.out, "42\n", "{done:?}");
}

#[test]
fn a_link_does_not_have_the_modes_of_the_hosts_folders_changed() {
    let place = Place::new();
    place.file("probe/scripts/go.cjs", NODE_SCRIPT);
    let secret = secret(&place);
    fs::create_dir(secret.join("inner")).unwrap();
    let attack = format!(
        "mkfifo ../../pipe; for top in /environment /environment/node; do \
         rm -rf $top/tmp; ln -s {} $top/tmp; chmod 0555 $top; done; exit 0",
        secret.display()
    );
    let registry = Registry::start().npm(&Npm::new("small-thing", attack));
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let mut command = command(&place, &registry, &["run", "--install", "../probe"]);
    if rustix::process::geteuid().is_root() {
        // Only an ordinary user is kept out of a folder by its mode, and unlocks it.
        let top = place.path("tmp").parent().unwrap().to_path_buf();
        let own = Command::new("chown").args(["-R", "64321:64321"]).arg(&top).status().unwrap();
        assert!(own.success());
        use std::os::unix::process::CommandExt as _;
        command.uid(64321).gid(64321);
    }
    set(&secret.join("inner"), 0o555);
    set(&secret, 0o555);
    let done = Finished::of(&command.output().unwrap());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(&secret), mode(&secret.join("inner"))), (0o555, 0o555), "{done:?}");
    set(&secret, 0o755);
    assert_eq!(fs::read_to_string(secret.join("key")).unwrap(), "the host's own");
    done.is_failure(125, "a FIFO", "do not trust");
    assert_eq!(environments(&place), Vec::<PathBuf>::new());
}

#[test]
fn what_is_no_file_is_an_error_and_no_wait() {
    let place = Place::new();
    place.file("probe/scripts/go.cjs", NODE_SCRIPT);
    let registry = Registry::start().npm(&Npm::new("small-thing", "mkfifo index.fifo"));
    let done = run(&place, &registry, &["run", "--install", "../probe"]);
    done.is_failure(125, "index.fifo: it is a FIFO", "do not trust");
    assert!(done.out.is_empty() && environments(&place).is_empty(), "{done:?}");
}

#[test]
fn packages_do_not_reach_the_key_and_the_seal() {
    let place = Place::new();
    place.file("probe/scripts/go.cjs", "console.log(require('small-thing'));\n");
    let attack = "for f in key manifest stamp; do echo x > /environment/$f; echo x > ../../../$f; done; exit 0";
    let registry = Registry::start().npm(&Npm::new("small-thing", attack));
    let first = run(&place, &registry, &["run", "--install", "../probe"]);
    assert_eq!(first.out, "small-thing\n", "{first:?}");
    let entries = environments(&place);
    let name = entries[0].file_name().unwrap().to_str().unwrap();
    assert!(name.len() == 64 && name.chars().all(|c| c.is_ascii_hexdigit()), "{name}");
    let before = registry.requests().len();
    let again = run(&place, &registry, &["run", "--install", "../probe"]);
    assert_eq!((again.out.as_str(), again.err.as_str()), ("small-thing\n", ""));
    assert_eq!(registry.requests().len(), before, "it was installed twice");
}

#[test]
fn what_was_changed_in_the_cache_is_told_and_made_anew() {
    let place = Place::new();
    place.file("probe/scripts/go.py", "import small_thing\nprint(small_thing.answer())\n");
    let module = "def answer():\n    return 42\n";
    let registry = Registry::start().wheel(&Wheel::new("small_thing", module));
    let first = run(&place, &registry, &["run", "--install", "../probe"]);
    assert_eq!(first.out, "42\n", "{first:?}");
    let found =
        Command::new("find").arg(place.path("cache")).args(["-name", "small_thing.py"]).output();
    let module = String::from_utf8(found.unwrap().stdout).unwrap();
    fs::write(module.trim(), "def answer():\n    return 'stolen'\n").unwrap();
    let changed = run(&place, &registry, &["run", "../probe"]);
    assert_eq!((changed.code, changed.out.as_str()), (Some(1), ""), "{changed:?}");
    assert!(changed.err.contains("were changed after they were installed"), "{changed:?}");
    assert!(changed.err.contains("small_thing.py") && changed.err.contains("--install"));
    let anew = run(&place, &registry, &["run", "--install", "../probe"]);
    assert_eq!(anew.out, "42\n", "{anew:?}");
    assert!(anew.err.contains("warning: ") && anew.err.contains("installing"), "{anew:?}");
    let last = run(&place, &registry, &["run", "../probe"]);
    assert_eq!((last.out.as_str(), last.err.as_str()), ("42\n", ""));
    assert_eq!(environments(&place).len(), 1);
}

/// What runs when Python starts, with the environment's own interpreter, runs inside only.
#[test]
fn an_environment_is_asked_inside() {
    let place = Place::new();
    place.file("probe/scripts/go.py", "import sys, small_thing\nsys.exit(1)\n");
    place.file("probe/requirements.txt", "small_thing\n");
    let mut wheel = Wheel::new("small_thing", "");
    let mark = place.path("secret/mark");
    secret(&place);
    let code = format!("import os; open({:?}, 'w')\n", mark.display().to_string());
    wheel.files.push(("start.pth".to_owned(), code));
    let registry = Registry::start().wheel(&wheel);
    let deps = run(&place, &registry, &["deps", "--install", "../probe"]);
    assert!(deps.out.contains("here     python   small"), "{deps:?}");
    let failing = run(&place, &registry, &["run", "../probe"]);
    assert_eq!(failing.code, Some(1), "{failing:?}");
    assert!(!mark.exists(), "code of a package ran on the host");
}

/// It takes nothing on the disk. To read it would take hours, in which no limit of a sandbox holds.
#[test]
fn a_file_of_holes_is_not_read_through() {
    let place = Place::new();
    place.file("probe/scripts/go.cjs", NODE_SCRIPT);
    let attack = "truncate -s 8T /environment/node/node_modules/huge".to_owned();
    let registry = Registry::start().npm(&Npm::new("small-thing", attack));
    let done = run(&place, &registry, &["run", "--install", "../probe"]);
    done.is_failure(125, "bytes in all files", "do not trust");
    assert!(environments(&place).is_empty(), "{:?}", environments(&place));
}
