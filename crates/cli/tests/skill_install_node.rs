//! `--install` for packages of Node, from a registry that this test plays.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod place;
mod registry;

use std::path::Path;

use place::{Finished, Place, names};
use registry::{Npm, Registry};

/// Runs `belljar skill`, with a registry as what npm is configured for.
fn run(place: &Place, registry: &Registry, arguments: &[&str]) -> Finished {
    let mut command = place.skill(arguments);
    command.env("XDG_CACHE_HOME", place.path("cache"));
    registry.configure(&mut command, &place.path("home"));
    let done = Finished::of(&command.output().unwrap());
    assert_eq!(names(&place.path("tmp")), Vec::<String>::new(), "something was left behind");
    done
}

fn has_npm() -> bool {
    let is_here = Path::new("/usr/bin/node").exists() && Path::new("/usr/bin/npm").exists();
    if !is_here {
        test_skips::skip("npm", "there is no /usr/bin/npm");
    }
    is_here
}

#[test]
fn packages_are_installed_once_and_used_read_only() {
    if !has_npm() {
        return;
    }
    let place = Place::new();
    let script = "console.log(require('small-thing'));\n\
                  try { require('fs').writeFileSync(require.resolve('small-thing'), ''); }\n\
                  catch (e) { console.log(e.code); }\n";
    place.file("probe/scripts/go.cjs", script);
    place.file("probe/scripts/two.mjs", "import thing from 'small-thing';\nconsole.log(thing);\n");
    let registry = Registry::start().npm(&Npm::new("small-thing", ""));
    let before = run(&place, &registry, &["run", "../probe", "go"]);
    assert_eq!(before.code, Some(1), "{before:?}");
    assert!(before.err.contains("--install"), "{before:?}");

    let first = run(&place, &registry, &["run", "--install", "../probe", "go"]);
    assert_eq!(first.out, "small-thing\nEROFS\n", "{first:?}");
    assert!(first.err.contains("small-thing  for scripts/go.cjs:1"), "{first:?}");

    // Without the package it can only be the one from the cache.
    let empty = Registry::start();
    for arguments in [&["run", "--install", "../probe", "go"][..], &["run", "../probe", "go"]] {
        let again = run(&place, &empty, arguments);
        assert_eq!((again.code, again.out.as_str()), (Some(0), first.out.as_str()), "{again:?}");
        assert!(!again.err.contains("installing"), "{again:?}");
    }
    assert_eq!(run(&place, &empty, &["run", "../probe", "two"]).out, "small-thing\n");
    assert_eq!(run(&place, &empty, &["deps", "../probe"]).code, Some(0));
    assert_eq!(empty.requests(), Vec::<String>::new());
}

#[test]
fn a_script_that_fails_keeps_no_other_from_running() {
    if !has_npm() {
        return;
    }
    let place = Place::new();
    place.file(
        "probe/scripts/go.cjs",
        "for (const name of ['a-bad', 'b-good', 'c-bad', 'd-good']) {\n\
         \x20   const folder = require('path').dirname(require.resolve(name));\n\
         \x20   console.log(require(name), require('fs').existsSync(folder + '/made'));\n}\n",
    );
    place.file(
        "probe/package.json",
        r#"{"dependencies": {"a-bad": "1", "b-good": "1", "c-bad": "1", "d-good": "1"}}"#,
    );
    let registry = Registry::start()
        .npm(&Npm::new("a-bad", "exit 3"))
        .npm(&Npm::new("b-good", "echo 1 > made"))
        .npm(&Npm::new("c-bad", "exit 4"))
        .npm(&Npm::new("d-good", "echo 1 > made"));
    let done = run(&place, &registry, &["run", "--install", "../probe"]);
    assert_eq!(done.out, "a-bad false\nb-good true\nc-bad false\nd-good true\n", "{done:?}");
    for package in ["a-bad", "c-bad"] {
        let words = format!("warning: the install script of {package} failed");
        assert_eq!(done.err.matches(&words).count(), 1, "{done:?}");
    }
}

#[test]
fn what_the_registry_does_not_have_is_an_error_that_leaves_nothing() {
    if !has_npm() {
        return;
    }
    let place = Place::new();
    place.file("probe/scripts/go.cjs", "console.log(require('nowhere-at-all'));\n");
    let done = run(&place, &Registry::start(), &["run", "--install", "../probe"]);
    assert_eq!(done.code, Some(125), "{done:?}");
    assert!(done.err.contains("error: the registry has no package `nowhere-at-all"), "{done:?}");
    assert!(done.err.contains("hint: "), "{done:?}");
    assert_eq!(done.out, "", "the script ran without its packages: {done:?}");
    let left = names(&place.path("cache/belljar/environments"));
    assert!(left.iter().all(|name| name.ends_with(".lock")), "{left:?}");
}
