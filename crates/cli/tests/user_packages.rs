//! What a user installs for all projects, inside: it works, and nothing of it lands in the project.

mod place;

use std::fs;
use std::process::Command;

use place::{Finished, Place, names};

/// A package with a program, as npm would get it from a registry.
fn package(place: &Place, folder: &str) {
    let manifest = r#"{"name": "greeter", "version": "1.0.0", "bin": {"greet": "greet.js"}}"#;
    place.file(&format!("{folder}/greeter/package.json"), manifest);
    let program = "#!/usr/bin/env node\nconsole.log('hello from', __dirname)\n";
    place.script(&format!("{folder}/greeter/greet.js"), program);
}

const INSTALL: &str = "npm install --global --offline --no-audit --no-fund $(npm pack --silent \
                       --pack-destination /tmp ./greeter | sed 's,^,/tmp/,') > /dev/null && greet";
const GREETING: &str = "hello from /home/user/.local/lib/node_modules/greeter\n";

#[test]
fn a_package_is_installed_for_all_projects_and_its_program_found() {
    let place = Place::new();
    package(&place, "work");
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    command.args(["run", "--mount", ".:/work:rw", "--cwd", "/work", "--", "sh", "-c", INSTALL]);
    let done = Finished::of(&command.current_dir(place.path("work")).output().unwrap());
    assert_eq!((done.code, done.out.as_str()), (Some(0), GREETING), "{done:?}");
    assert_eq!(names(&place.path("work")), ["greeter"]);
    // A skill, too.
    place.script("probe/scripts/go.sh", &format!("#!/bin/sh\n{INSTALL}\n"));
    let done = place.run(&[]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), GREETING), "{done:?}");
    assert!(!done.err.contains("created"), "{done:?}");
}

#[test]
fn no_package_comes_before_a_program_of_the_system() {
    let place = Place::with_script(
        "#!/bin/sh\nmkdir -p ~/.local/bin; cp /bin/false ~/.local/bin/ls\n\
         cp /bin/echo ~/.local/bin/mine; command -v ls; command -v mine\n",
    );
    let done = place.run(&[]);
    assert_eq!(done.out, "/usr/bin/ls\n/home/user/.local/bin/mine\n", "{done:?}");
}

#[test]
fn stores_of_package_managers_are_in_the_home_folder() {
    // pnpm and npm are told by their own variables. Root installs where the system does.
    let show = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
        command.arg("run").args(options).args(["--", "env"]);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let user = show(&[]);
    for name in ["NPM_CONFIG_STORE_DIR", "PNPM_CONFIG_STORE_DIR"] {
        assert!(user.contains(&format!("{name}=/home/user/.local/share/pnpm/store\n")), "{user}");
    }
    assert!(!show(&["--user", "root"]).contains("NPM_CONFIG_PREFIX"));
    assert!(show(&["--env", "NPM_CONFIG_PREFIX=/x"]).contains("NPM_CONFIG_PREFIX=/x\n"));
    assert!(fs::exists("/usr/bin/node").unwrap(), "these tests need Node");
}
