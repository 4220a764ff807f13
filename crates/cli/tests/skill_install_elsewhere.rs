//! `--install` with packages that name other places than the registry: paths, repositories, names
//! that lead upwards. None of them reaches the host, and none brings a key into the environment.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod place;
mod registry;

use std::path::Path;
use std::process::Command;

use place::{Finished, Place, names};
use registry::{Npm, PASSWORD, Registry, Wheel, npm_key};
use serde_json::json;

const SECRET: &str = "the host's own";

/// Prints what can be read, and nothing of what cannot.
fn reads(paths: &[&str]) -> String {
    let lines = paths.iter().map(|path| format!("cat {path} 2>/dev/null\n"));
    format!("#!/bin/sh\n{}echo done\n", lines.collect::<String>())
}

/// A place with a skill that needs a package of Node, and a folder of the host that nobody named.
fn place(script: &str) -> Place {
    let place = Place::with_script(script);
    place.file("probe/package.json", r#"{"dependencies": {"small-thing": "1"}}"#);
    place.file("secret/key", SECRET);
    place.file("secret/package.json", r#"{"name": "other-thing", "version": "1.0.0"}"#);
    place
}

fn run(place: &Place, registry: &Registry) -> Finished {
    let mut command = place.skill(&["run", "--install", "../probe"]);
    command.env("XDG_CACHE_HOME", place.path("cache")).env("PIP_NO_INPUT", "1");
    registry.configure(&mut command, &place.path("home"));
    let done = Finished::of(&command.output().unwrap());
    assert_eq!(names(&place.path("tmp")), Vec::<String>::new(), "something was left behind");
    for hidden in [SECRET, PASSWORD, &npm_key()] {
        assert!(!done.out.contains(hidden) && !done.err.contains(hidden), "{done:?}");
        assert_eq!(files_with(hidden, &place.path("cache")), "", "{done:?}");
    }
    assert_eq!(names(&place.path("secret")).len(), 2, "something was made on the host");
    done
}

/// The files in a folder that have a text in them.
fn files_with(text: &str, folder: &Path) -> String {
    let found =
        Command::new("grep").args(["-r", "-l", "-a", "-F", "-e", text]).arg(folder).output();
    String::from_utf8_lossy(&found.unwrap().stdout).into_owned()
}

/// A package that depends on another one by such a text.
fn depending(on: &str) -> Npm {
    let fields = json!({ "dependencies": { "other-thing": on } });
    Npm { fields, ..Npm::new("small-thing", "") }
}

#[test]
fn a_package_that_depends_on_a_folder_of_the_host_brings_nothing_of_it() {
    let shown = ["/node_modules/other-thing/key", "/node_modules/other-thing/npmrc"];
    for folder in ["secret", "home"] {
        let place = place(&reads(&shown));
        let on = format!("file:{}", place.path(folder).display());
        let registry = Registry::start().lock().npm(&depending(&on));
        run(&place, &registry);
    }
}

#[test]
fn a_package_that_depends_on_a_repository_of_the_host_is_told_of() {
    let place = place(&reads(&["/node_modules/other-thing/key"]));
    let made = Command::new("git").args(["init", "-q"]).arg(place.path("repository")).status();
    assert!(made.unwrap().success());
    let hook = format!("#!/bin/sh\ntouch {}\n", place.path("secret/hook").display());
    place.script("repository/.git/hooks/post-checkout", &hook);
    let on = format!("git+file://{}", place.path("repository").display());
    let registry = Registry::start().npm(&depending(&on));
    let done = run(&place, &registry);
    assert_eq!((done.code, done.out.as_str()), (Some(125), ""), "{done:?}");
    assert!(done.err.contains("error: ") && done.err.contains("hint: "), "{done:?}");
    let left = names(&place.path("cache/belljar/environments"));
    assert!(left.iter().all(|name| name.ends_with(".lock")), "{left:?}");
}

#[test]
fn programs_of_packages_stand_behind_those_of_the_system() {
    let script = "#!/bin/sh\ncommand -v python3\nls /node_modules/.bin | tr '\\n' ' '\n\
                  cat /node_modules/.bin/link /up /environment/up 2>/dev/null\n";
    let place = place(script);
    let bin = json!({ "python3": "index.js", "../../../up": "index.js", "sh": "index.js" });
    let attack = format!(
        "ln -sf {}/key ../.bin/link; ln -sf {}/key ../.bin/python3",
        place.path("secret").display(),
        place.path("secret").display()
    );
    let fields = json!({ "bin": bin, "workspaces": ["../../.."] });
    let registry = Registry::start().npm(&Npm { fields, ..Npm::new("small-thing", attack) });
    let done = run(&place, &registry);
    let first = done.out.lines().next().unwrap_or_default();
    assert!(first.starts_with("/usr/") && first.ends_with("/python3"), "{done:?}");
}

#[test]
fn a_wheel_with_names_that_lead_upwards_makes_nothing_outside() {
    let place = Place::new();
    place.file("probe/scripts/go.py", "import small_thing\nprint(small_thing.name)\n");
    place.file("secret/key", SECRET);
    place.file("secret/other", "");
    let mut wheel = Wheel::new("small_thing", "name = 'here'\n");
    let up = "../".repeat(12);
    let secret = place.path("secret");
    let upwards = format!("{up}{}/made.py", secret.display().to_string().trim_start_matches('/'));
    wheel.files.push((upwards, "made = True\n".to_owned()));
    wheel.files.push(("../../../../../key".to_owned(), "made = True\n".to_owned()));
    let start = format!("{}\nimport os; os.system('touch {0}/made')\n", secret.display());
    wheel.files.push(("start.pth".to_owned(), start));
    let registry = Registry::start().lock().wheel(&wheel);
    run(&place, &registry);
    let top = place.path("cache/belljar/environments");
    for entry in names(&top).iter().filter(|name| !name.ends_with(".lock")) {
        let mut inside = names(&top.join(entry));
        inside.sort();
        assert_eq!(inside, ["content", "key", "manifest", "stamp"]);
        assert_eq!(names(&top.join(entry).join("content")), ["python"]);
    }
}
