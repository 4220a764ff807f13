//! `--install`: environments that are made inside, kept in the cache and used read-only.
//!
//! The packages come from a folder of wheels, so that no network is needed.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod place;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use place::{Finished, Place, names};

/// Writes a wheel with one module. Python has the tools for it, and the tests need Python anyway.
const MAKE_WHEEL: &str = r#"
import sys, zipfile
folder, name, code = sys.argv[1:]
info = f"{name}-1.0.dist-info"
files = {
    f"{name}.py": code,
    f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in files) + f"{info}/RECORD,,\n"
with zipfile.ZipFile(f"{folder}/{name}-1.0-py3-none-any.whl", "w") as wheel:
    for path, text in files.items():
        wheel.writestr(path, text)
"#;

const SCRIPT: &str = "import os, small_thing\nprint(small_thing.answer())\n\
                      try:\n    open(small_thing.__file__, 'a')\nexcept OSError as e:\n    print(e.strerror)\n";

/// A skill that needs the package `small_thing`, which a folder of wheels has.
fn place_with_wheel() -> Place {
    let place = Place::new();
    place.file("probe/scripts/go.py", SCRIPT);
    fs::create_dir(place.path("wheels")).unwrap();
    let code = "def answer():\n    return 42\n";
    let status = Command::new("/usr/bin/python3")
        .args(["-c", MAKE_WHEEL])
        .arg(place.path("wheels"))
        .args(["small_thing", code])
        .status()
        .unwrap();
    assert!(status.success());
    place
}

fn command(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.skill(arguments);
    command
        .env("XDG_CACHE_HOME", place.path("cache"))
        .env("PIP_NO_INDEX", "1")
        .env("PIP_FIND_LINKS", place.path("wheels"));
    command
}

fn run(place: &Place, arguments: &[&str]) -> Finished {
    let done = Finished::of(&command(place, arguments).output().unwrap());
    assert_eq!(names(&place.path("tmp")), Vec::<String>::new(), "something was left behind");
    done
}

/// The environments in the cache, finished or not.
fn environments(place: &Place) -> Vec<String> {
    let all = names(&place.path("cache/belljar/environments"));
    all.into_iter().filter(|name| !name.ends_with(".lock")).collect()
}

#[test]
fn packages_are_installed_once_and_used_read_only() {
    let place = place_with_wheel();
    let before = run(&place, &["run", "../probe"]);
    assert_eq!(before.code, Some(1), "{before:?}");
    assert!(before.err.contains("--install"), "{before:?}");
    assert!(environments(&place).is_empty());

    let first = run(&place, &["run", "--install", "../probe"]);
    assert_eq!(first.out, "42\nRead-only file system\n", "{first:?}");
    assert!(first.err.contains("small_thing  for scripts/go.py:1"), "{first:?}");
    assert_eq!(environments(&place).len(), 1);

    // Without its source it can only be the one from the cache.
    fs::remove_dir_all(place.path("wheels")).unwrap();
    for arguments in [&["run", "--install", "../probe"][..], &["run", "../probe"]] {
        let again = run(&place, arguments);
        assert_eq!((again.code, again.out.as_str()), (Some(0), first.out.as_str()), "{again:?}");
        assert!(!again.err.contains("installing"), "{again:?}");
    }
    let deps = run(&place, &["deps", "../probe"]);
    assert_eq!(deps.code, Some(0), "{deps:?}");

    // Another requirement is another environment.
    place.file("probe/requirements.txt", "small_thing>=0.5\n");
    assert_eq!(run(&place, &["run", "../probe"]).code, Some(1));
}

#[test]
fn what_is_not_there_is_an_error_that_leaves_nothing() {
    let place = place_with_wheel();
    place.file("probe/requirements.txt", "no-such-package-anywhere\n");
    let done = run(&place, &["run", "--install", "../probe"]);
    assert_eq!(done.code, Some(125), "{done:?}");
    assert!(done.err.contains("error: the registry has no package `no-such-package-anywhere`"));
    assert!(done.err.contains("hint: "), "{done:?}");
    assert!(done.out.is_empty(), "the script ran without its packages: {done:?}");
    assert!(environments(&place).is_empty());

    place.file("probe/requirements.txt", "x @ https://example.org/x.whl\n");
    let done = run(&place, &["deps", "--install", "../probe"]);
    assert!(done.err.contains("not a package of the registry"), "{done:?}");
}

#[test]
fn two_at_a_time_make_one_environment() {
    let place = place_with_wheel();
    let start = || {
        let mut command = command(&place, &["run", "--install", "../probe"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let (one, two) = (start(), start());
    for child in [one, two] {
        let done = Finished::of(&child.wait_with_output().unwrap());
        assert_eq!(done.code, Some(0), "{done:?}");
        assert!(done.out.starts_with("42\n"), "{done:?}");
    }
    assert_eq!(environments(&place).len(), 1);
}

#[test]
fn an_installation_that_was_killed_is_made_again() {
    let place = place_with_wheel();
    let mut child = command(&place, &["run", "--install", "../probe"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let has_begun = |name: &str| {
        let top = place.path("cache/belljar/environments").join(name);
        top.join("content/python/bin").is_dir()
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while !environments(&place).iter().any(|name| has_begun(name)) {
        assert!(Instant::now() < deadline, "nothing was begun");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // A killed process could not clean up after itself.
    fs::remove_dir_all(place.path("tmp")).unwrap();
    fs::create_dir(place.path("tmp")).unwrap();
    assert!(environments(&place).iter().all(|name| name.ends_with(".making")));
    assert_eq!(run(&place, &["run", "../probe"]).code, Some(1), "a half environment was used");
    let done = run(&place, &["run", "--install", "../probe"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(environments(&place).iter().all(|name| !name.contains('.')));
}

#[test]
fn an_environment_of_the_users_own_is_used() {
    let place = place_with_wheel();
    let venv = place.path("venv");
    let make = Command::new("/usr/bin/python3").args(["-m", "venv"]).arg(&venv).status().unwrap();
    assert!(make.success());
    let pip = Command::new(venv.join("bin/pip"))
        .args(["install", "--quiet", "--no-index", "--find-links"])
        .arg(place.path("wheels"))
        .arg("small_thing")
        .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
        .status()
        .unwrap();
    assert!(pip.success());
    let done = run(&place, &["run", "--venv", "../venv", "../probe"]);
    assert_eq!(done.out, "42\nRead-only file system\n", "{done:?}");
    let deps = run(&place, &["deps", "--venv", "../venv", "../probe"]);
    assert_eq!(deps.code, Some(0), "{deps:?}");
    let wrong = run(&place, &["run", "--venv", ".", "../probe"]);
    assert!(wrong.err.contains("is no virtual environment"), "{wrong:?}");
    assert_eq!(wrong.code, Some(125));
}

#[test]
fn a_node_modules_folder_of_the_users_own_is_used() {
    if !Path::new("/usr/bin/node").exists() {
        test_skips::skip("node-modules", "there is no /usr/bin/node");
        return;
    }
    let place = Place::new();
    place.file("probe/scripts/one.cjs", "console.log(require('small-thing'));\n");
    place.file("probe/scripts/two.mjs", "import thing from 'small-thing';\nconsole.log(thing);\n");
    place.file("js/node_modules/small-thing/package.json", "{\"main\": \"index.js\"}");
    place.file("js/node_modules/small-thing/index.js", "module.exports = 43;\n");
    for script in ["one", "two"] {
        // The folder itself, and the project that it is in.
        for folder in ["../js/node_modules", "../js"] {
            let done = run(&place, &["run", "--node-modules", folder, "../probe", script]);
            assert_eq!(done.out, "43\n", "{script}: {done:?}");
        }
        let without = run(&place, &["run", "../probe", script]);
        assert_eq!(without.code, Some(1));
        assert!(without.err.contains("not here: small-thing"), "{without:?}");
    }
    let wrong = run(&place, &["run", "--node-modules", "../none", "../probe", "one"]);
    assert!(wrong.err.contains("is no folder"), "{wrong:?}");
}

/// What a tool writes into scripts that it is to make an environment for.
const FOR_UV: &str = "#!/usr/bin/env -S uv run --script\n# /// script\n\
                      # dependencies = [\"small_thing\"]\n# ///\n\
                      import sys, small_thing\nprint(small_thing.answer(), sys.argv[1:])\n";

#[test]
fn a_script_for_another_installer_runs_with_what_was_made() {
    for line in ["uv run --script", "uv run --quiet -s", "pipx run", "uv run python3 -u"] {
        let place = place_with_wheel();
        fs::remove_file(place.path("probe/scripts/go.py")).unwrap();
        place.script("probe/scripts/go", &FOR_UV.replace("uv run --script", line));
        let lacking = run(&place, &["deps", "../probe"]);
        assert_eq!(lacking.code, Some(1), "{lacking:?}");
        assert!(!lacking.out.contains(" uv ") && !lacking.out.contains("pipx"), "{lacking:?}");
        let done = run(&place, &["run", "--install", "../probe", "--", "a", "b"]);
        assert_eq!(done.out, "42 ['a', 'b']\n", "{line}: {done:?}");
        let again = run(&place, &["run", "../probe"]);
        assert_eq!(again.out, "42 []\n", "{line}: {again:?}");
    }
    // Packages that the line itself names.
    let place = place_with_wheel();
    fs::remove_file(place.path("probe/scripts/go.py")).unwrap();
    let script = "#!/usr/bin/env -S uv run --with small_thing==1.0\n\
                  import small_thing\nprint(small_thing.answer())\n";
    place.script("probe/scripts/go", script);
    let done = run(&place, &["run", "--install", "../probe"]);
    assert_eq!(done.out, "42\n", "{done:?}");
    assert!(done.err.contains("small_thing==1.0"), "{done:?}");
}

#[test]
fn options_of_the_first_line_do_not_pass_the_environment_by() {
    let place = place_with_wheel();
    fs::remove_file(place.path("probe/scripts/go.py")).unwrap();
    let script = "#!/usr/bin/python3 -u\nimport small_thing\nprint(small_thing.answer())\n";
    place.script("probe/scripts/go", script);
    let done = run(&place, &["run", "--install", "../probe"]);
    assert_eq!(done.out, "42\n", "{done:?}");
}

#[test]
fn a_program_of_another_system_is_told_and_not_missed() {
    let place = Place::with_script(
        "#!/bin/bash -e\nif [ $(uname) = Darwin ]; then pbcopy < x; osascript -e y; fi\necho done\n",
    );
    let deps = run(&place, &["deps", "../probe"]);
    assert_eq!(deps.code, Some(0), "{deps:?}");
    for program in ["pbcopy", "osascript"] {
        let line = deps.out.lines().find(|line| line.contains(program)).unwrap();
        assert!(line.starts_with("missing") && line.contains("macOS"), "{line}");
    }
}

#[test]
fn what_is_here_is_not_fetched() {
    // pip is a package like any other, which the folder of wheels does not have.
    let place = place_with_wheel();
    let script = "import pip, small_thing\nprint(pip.__name__, small_thing.answer())\n";
    place.file("probe/scripts/go.py", script);
    let deps = run(&place, &["deps", "../probe"]);
    let line = deps.out.lines().find(|line| line.contains(" pip ") || line.ends_with(" pip"));
    assert!(line.unwrap().starts_with("here"), "{deps:?}");
    let done = run(&place, &["run", "--install", "../probe"]);
    assert_eq!(done.out, "pip 42\n", "{done:?}");
    assert!(done.err.contains("small_thing") && !done.err.contains("  pip"), "{done:?}");
    let again = run(&place, &["run", "../probe"]);
    assert_eq!(again.out, "pip 42\n", "{again:?}");
    assert_eq!(run(&place, &["deps", "../probe"]).code, Some(0));
    // Another version than the one that is here is missing, for both.
    place.file("probe/requirements.txt", "pip>=9999\n");
    let deps = run(&place, &["deps", "../probe"]);
    assert_eq!(deps.code, Some(1), "{deps:?}");
    let done = run(&place, &["run", "--install", "../probe"]);
    assert!(done.err.contains("no package") || done.err.contains("pip>=9999"), "{done:?}");
    assert_ne!(done.code, Some(0), "{done:?}");
    // With nothing lacking, nothing is made.
    let place = place_with_wheel();
    place.file("probe/scripts/go.py", "import pip\nprint(pip.__name__)\n");
    let done = run(&place, &["run", "--install", "../probe"]);
    assert_eq!(done.out, "pip\n", "{done:?}");
    assert!(done.err.contains("nothing to install"), "{done:?}");
    assert!(environments(&place).is_empty());
}

#[test]
fn browsers_of_packages_are_found_and_named() {
    let place = Place::new();
    let script = "#!/usr/bin/env python3\nimport os\nif 0: import playwright\n\
                  path = os.environ.get('PLAYWRIGHT_BROWSERS_PATH', '/none')\n\
                  print(open(path + '/chromium-1234/chrome').read())\n";
    place.script("probe/scripts/go.py", script);
    let deps = run(&place, &["deps", "../probe"]);
    let line = deps.out.lines().find(|line| line.contains("browser")).unwrap();
    assert!(line.starts_with("MISSING") && line.contains("playwright install"), "{deps:?}");
    let before = run(&place, &["run", "../probe"]);
    assert_ne!(before.code, Some(0), "{before:?}");
    place.file("cache/ms-playwright/chromium-1234/chrome", "a browser");
    let deps = run(&place, &["deps", "../probe"]);
    let line = deps.out.lines().find(|line| line.contains("browser")).unwrap();
    assert!(line.starts_with("here"), "{deps:?}");
    let done = run(&place, &["run", "../probe"]);
    assert_eq!(done.out, "a browser\n", "{done:?}");
    // Where the variable of the package says.
    let run_with_mine = || {
        let mut command = command(&place, &["run", "../probe"]);
        command.env("PLAYWRIGHT_BROWSERS_PATH", place.path("mine")).output().unwrap()
    };
    fs::rename(place.path("cache/ms-playwright"), place.path("mine")).unwrap();
    let output = run_with_mine();
    assert_eq!(output.stdout, b"a browser\n", "{output:?}");
    // A skill that needs none sees none.
    place.script(
        "probe/scripts/go.py",
        "#!/usr/bin/env python3\nimport os\nprint(os.listdir('/'))\n",
    );
    let output = run_with_mine();
    assert!(!String::from_utf8_lossy(&output.stdout).contains("browsers"), "{output:?}");
}
