//! `cargo xtask deny`: what we depend on. Licences, duplicates, sources, and known vulnerabilities,
//! by cargo-deny with `deny.toml`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::command::{cargo, project, succeed, target};

/// The version of cargo-deny. Another one may judge differently.
const VERSION: &str = "0.20.2";

/// How many seconds the database may take: some networks answer nothing at all.
const FETCH_SECONDS: &str = "60";

/// Installs cargo-deny unless it is there, and checks everything that can be checked here.
pub fn run() -> Result<()> {
    let program = program()?;
    let deny = |words: &[&str]| {
        let mut command = Command::new(&program);
        command.current_dir(project()).args(["--log-level", "error"]).args(words);
        command
    };
    succeed(&mut deny(&["check", "bans", "licenses", "sources"]))?;
    // The database of RustSec lies on GitHub and in no package registry, and some machines reach
    // only those.
    if succeed(&mut fetch(&program)).is_err() {
        test_skips::skip("advisories", "the database of RustSec cannot be fetched");
        return Ok(());
    }
    succeed(&mut deny(&["check", "advisories"]))
}

/// Fetches the database, without words and questions.
fn fetch(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.current_dir(project()).arg(FETCH_SECONDS).arg(program).args(["fetch", "db"]);
    command.env("GIT_TERMINAL_PROMPT", "0");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// The user's cargo-deny if it is the right one, or our own, which is installed by the first run.
fn program() -> Result<PathBuf> {
    let folder = target().join("tools");
    let own = folder.join("bin/cargo-deny");
    if let Some(found) = [PathBuf::from("cargo-deny"), own.clone()].into_iter().find(is_wanted) {
        return Ok(found);
    }
    eprintln!("deny: installing cargo-deny {VERSION}");
    let mut install = cargo(&["install", "--quiet", "--locked", "--force", "--version", VERSION]);
    // It looks at some hundred crates: what a faster one would save, its build takes three times.
    install.args(["--debug", "cargo-deny", "--root"]).arg(&folder);
    succeed(install.env("CARGO_PROFILE_DEV_DEBUG", "0"))?;
    Ok(own)
}

fn is_wanted(program: &PathBuf) -> bool {
    let asked = Command::new(program).arg("--version").stderr(Stdio::null()).output();
    asked.is_ok_and(|output| says_the_version(&String::from_utf8_lossy(&output.stdout)))
}

fn says_the_version(words: &str) -> bool {
    words.split_whitespace().last() == Some(VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_version_that_was_tried_will_do() {
        assert!(says_the_version(&format!("cargo-deny {VERSION}\n")));
        assert!(!says_the_version("cargo-deny 0.14.2\n") && !says_the_version(""));
        assert!(!is_wanted(&"/no/such/program".into()));
    }
}
