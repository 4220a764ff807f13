//! The commands of an installation.
//!
//! Those that *fetch* are given the keys and the network, and run nothing that a package brings.
//! Those that *build* run what packages bring, and are given neither.

use super::{ENVIRONMENT_FOLDER, PYTHON_FOLDER, Requirements};

/// Where a fetching step puts what it has fetched, and where a building step finds it.
pub const FETCHED_FOLDER: &str = "/install/fetched";
/// Where the wheels are that were built here.
pub const BUILT_FOLDER: &str = "/install/built";
/// Where source archives are.
pub const SOURCE_FOLDER: &str = "/install/source";
/// Where a step has its temporary files.
pub const TEMPORARY_FOLDER: &str = "/install/tmp";

/// Fetches source archives, and runs nothing of them.
const FETCH_SOURCE: &str = include_str!("inside/fetch_source.py");
/// Reads what they need to be built.
const BUILD_REQUIREMENTS: &str = include_str!("inside/build_requirements.py");

/// Options of pip for every step.
const PIP: [&str; 4] =
    // The bar moves by a thread, and whoever fetches may have but one.
    ["--no-input", "--no-cache-dir", "--disable-pip-version-check", "--progress-bar=off"];

impl Requirements {
    /// Makes the virtual environment. Needs no network.
    pub fn venv_command(&self) -> Vec<String> {
        let mut command = words(&["python3", "-m", "venv"]);
        if self.sees_system {
            command.push("--system-site-packages".to_owned());
        }
        command.push(format!("{ENVIRONMENT_FOLDER}/{PYTHON_FOLDER}"));
        command
    }

    /// Installs what was fetched and built. Wheels are only unpacked, but nothing else is needed
    /// for that than the files.
    pub fn pip_install_command(&self) -> Vec<String> {
        let mut command = pip("install");
        command.extend(words(&["--no-index", "--only-binary=:all:"]));
        command.push(format!("--find-links={FETCHED_FOLDER}"));
        command.push("--".to_owned());
        command.extend(self.python.iter().cloned());
        command
    }

    /// The `package.json` of the packages of Node.
    pub fn package_json(&self) -> String {
        let package = serde_json::json!({ "private": true, "dependencies": self.node });
        format!("{package:#}\n")
    }

    /// Fetches the packages of Node for the `package.json` in the working folder. What packages
    /// bring to be run then is left to [`Requirements::npm_scripts_command`].
    pub fn npm_fetch_command(&self) -> Vec<String> {
        words(&[
            "npm",
            "install",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--no-update-notifier",
            "--no-package-lock",
            // The list of what was installed need not say where from: that may hold a password.
            "--omit-lockfile-registry-resolved",
        ])
    }

    /// Runs what the packages of Node bring to be run when they are installed. Some packages do not
    /// work without. Without packages it runs those of all, and ends with the first that fails.
    pub fn npm_scripts_command(&self, packages: &[&str]) -> Vec<String> {
        let mut command = words(&[
            "npm",
            "rebuild",
            "--foreground-scripts",
            "--no-update-notifier",
            // Some versions of npm run only what a list of theirs names. The sandbox holds all.
            "--dangerously-allow-all-scripts=true",
            "--",
        ]);
        command.extend(packages.iter().map(|name| (*name).to_owned()));
        command
    }
}

/// Fetches wheels for requirements, and for what those require. A package that has no wheel makes it
/// fail: pip would run its code to learn what it requires.
pub fn fetch_wheels_command(requirements: &[String]) -> Vec<String> {
    let mut command = pip("download");
    command.push("--only-binary=:all:".to_owned());
    command.push(format!("--find-links={BUILT_FOLDER}"));
    command.push(format!("--dest={FETCHED_FOLDER}"));
    command.push("--".to_owned());
    command.extend(requirements.iter().cloned());
    command
}

/// Fetches the source archive of a requirement, and runs nothing of it.
pub fn fetch_source_command(requirement: &str) -> Vec<String> {
    let mut command = python(&["-I", "-c", FETCH_SOURCE]);
    command.extend([SOURCE_FOLDER, requirement].map(str::to_owned));
    command
}

/// Says what a source archive needs to be built. It runs nothing of it, but reads it.
pub fn build_requirements_command(archive: &str) -> Vec<String> {
    let mut command = python(&["-I", "-c", BUILD_REQUIREMENTS]);
    command.push(format!("{SOURCE_FOLDER}/{archive}"));
    command
}

/// Builds a wheel of a source archive, with what was fetched for that.
pub fn build_wheel_command(archive: &str) -> Vec<String> {
    let mut command = pip("wheel");
    // In an environment of its own for every package, also for those that know of no such thing.
    command.extend(words(&["--no-deps", "--no-index", "--use-pep517"]));
    command.push(format!("--find-links={FETCHED_FOLDER}"));
    command.push(format!("--wheel-dir={BUILT_FOLDER}"));
    command.push("--".to_owned());
    command.push(format!("{SOURCE_FOLDER}/{archive}"));
    command
}

/// Runs the environment's own Python.
pub fn python(arguments: &[&str]) -> Vec<String> {
    let mut command = vec![format!("{ENVIRONMENT_FOLDER}/{PYTHON_FOLDER}/bin/python")];
    command.extend(words(arguments));
    command
}

fn pip(what: &str) -> Vec<String> {
    let mut command = python(&["-I", "-m", "pip", what]);
    command.extend(words(&PIP));
    command
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
