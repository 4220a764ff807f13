//! `cargo xtask check`: what CI checks about the code itself. The house rules, and whether the
//! generated pages are up to date, are among the tests.

use anyhow::Result;

use crate::command::{cargo, succeed};

const STEPS: &[(&str, &[&str])] = &[
    ("format", &["fmt", "--all", "--check"]),
    ("lints", &["clippy", "--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"]),
    ("tests and house rules", &["test", "--quiet", "--workspace"]),
];

/// Runs the steps; the first that fails ends it.
pub fn run() -> Result<()> {
    for (name, arguments) in STEPS {
        eprintln!("check: {name}");
        succeed(&mut cargo(arguments))?;
    }
    Ok(())
}
