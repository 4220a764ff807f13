//! Tests of the tools that are found.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn home(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().canonicalize().unwrap();
    for file in files {
        let file = path.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
    }
    (top, path)
}

fn find(home: &Path, path: &[&str], project: Option<&Path>) -> Toolchains {
    let path = std::env::join_paths(path.iter().map(|it| home.join(it))).unwrap();
    let variable = |_: &str| None;
    let surroundings = Surroundings { home: Some(home), path: &path, variable: &variable, project };
    Toolchains::find(&surroundings)
}

fn all_shown(found: &Toolchains, home: &Path) -> Vec<String> {
    let shown = found.found.iter().flat_map(|tool| &tool.shown);
    shown.map(|it| it.path.strip_prefix(home).unwrap().display().to_string()).collect()
}

#[test]
fn programs_are_shown_and_settings_are_not() {
    let (_top, home) = home(&[
        ".cargo/bin/cargo",
        ".cargo/credentials.toml",
        ".cargo/config.toml",
        ".rustup/toolchains/stable/bin/rustc",
        ".ssh/id",
    ]);
    let found = find(&home, &[".cargo/bin", ".ssh", "/usr/bin"], None);
    assert_eq!(all_shown(&found, &home), [".cargo/bin", ".rustup"]);
    assert_eq!(found.path, [home.join(".cargo/bin"), "/usr/bin".into()]);
    let told: Vec<_> = found.variables.iter().map(|(name, _)| *name).collect();
    assert_eq!(told, ["CARGO_HOME", "RUSTUP_HOME"]);
}

#[test]
fn tokens_among_programs_are_masked() {
    let (_top, home) = home(&[
        ".nvm/versions/node/v20.0.0/bin/node",
        ".nvm/versions/node/v20.0.0/etc/npmrc",
        ".pyenv/versions/3.12.1/bin/python3",
        ".pyenv/versions/3.12.1/pip.conf",
        ".pyenv/shims/python3",
    ]);
    let found = find(&home, &[".nvm/versions/node/v20.0.0/bin", ".pyenv/shims"], None);
    let masked: Vec<PathBuf> =
        found.found.iter().flat_map(|tool| &tool.shown).flat_map(|it| it.masked.clone()).collect();
    assert_eq!(
        masked,
        [Path::new("versions/node/v20.0.0/etc/npmrc"), Path::new("versions/3.12.1/pip.conf")]
    );
}

#[test]
fn links_are_followed_to_the_end() {
    let (_top, home) = home(&[".sdkman/candidates/java/17/bin/java"]);
    symlink("17", home.join(".sdkman/candidates/java/current")).unwrap();
    symlink(home.join(".sdkman/candidates/java/17"), home.join("jdk")).unwrap();
    let found = find(&home, &[".sdkman/candidates/java/current/bin", "jdk/bin"], None);
    assert_eq!(all_shown(&found, &home), [".sdkman/candidates"]);
    let current = home.join(".sdkman/candidates/java/current/bin");
    assert_eq!(found.path, [current, home.join(".sdkman/candidates/java/17/bin")]);
}

#[test]
fn an_entry_that_leads_to_keys_shows_nothing() {
    let (_top, home) = home(&[".ssh/id", "bin/tool", ".aws/x"]);
    symlink(home.join(".ssh"), home.join("tools")).unwrap();
    fs::create_dir(home.join(".cargo")).unwrap();
    symlink(home.join(".aws"), home.join(".cargo/bin")).unwrap();
    let found = find(&home, &["tools", "bin", ".", "", ".cargo/bin"], None);
    assert!(found.found.is_empty() && found.path.is_empty(), "{found:?}");
}

#[test]
fn the_interpreter_of_an_environment_is_shown_only_if_it_is_one() {
    let (_top, home) = home(&[
        "py/bin/python3.12",
        "py/lib/python3.12/os.py",
        "project/.venv/pyvenv.cfg",
        "project/venv/pyvenv.cfg",
        "keys/bin/python3.12",
    ]);
    for (environment, target) in [(".venv", "py"), ("venv", "keys")] {
        fs::create_dir(home.join("project").join(environment).join("bin")).unwrap();
        let link = home.join("project").join(environment).join("bin/python");
        symlink(home.join(target).join("bin/python3.12"), link).unwrap();
    }
    let project = home.join("project");
    let found = find(&home, &["project/.venv/bin"], Some(&project));
    assert_eq!(all_shown(&found, &home), ["py"]);
    assert_eq!(found.path, [home.join("project/.venv/bin")]);
}
