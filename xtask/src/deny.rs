//! `cargo xtask deny`: what we depend on. Licences, duplicates, sources, and known vulnerabilities,
//! by cargo-deny with `deny.toml`.

use std::process::{Command, Stdio};

use anyhow::Result;

use crate::command::{cargo, succeed};

/// The version of cargo-deny. Another one may judge differently.
const VERSION: &str = "0.20.2";

/// Installs cargo-deny unless it is there, and checks everything that can be checked here.
pub fn run() -> Result<()> {
    if !is_installed() {
        eprintln!("deny: installing cargo-deny {VERSION}");
        succeed(&mut cargo(&[
            "install",
            "--quiet",
            "cargo-deny",
            "--locked",
            "--version",
            VERSION,
        ]))?;
    }
    succeed(&mut deny(&["check", "bans", "licenses", "sources"]))?;
    // It lies on GitHub and in no package registry, and some machines reach only those.
    if succeed(deny(&["fetch", "db"]).stdout(Stdio::null()).stderr(Stdio::null())).is_err() {
        test_skips::skip("advisories", "the RustSec database cannot be fetched");
        return Ok(());
    }
    succeed(&mut deny(&["check", "--disable-fetch", "advisories"]))
}

fn deny(arguments: &[&str]) -> Command {
    let mut command = cargo(&["deny", "--log-level", "error"]);
    command.args(arguments);
    command
}

fn is_installed() -> bool {
    let asked = cargo(&["deny", "--version"]).stderr(Stdio::null()).output();
    asked.is_ok_and(|output| is_wanted(&String::from_utf8_lossy(&output.stdout)))
}

fn is_wanted(words: &str) -> bool {
    words.split_whitespace().last() == Some(VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_version_that_was_tried_will_do() {
        assert!(is_wanted(&format!("cargo-deny {VERSION}\n")));
        assert!(!is_wanted("cargo-deny 0.14.2\n") && !is_wanted(""));
    }
}
