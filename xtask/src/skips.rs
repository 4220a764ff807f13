//! What tests have skipped, and whether they may.
//!
//! Tests note it by `test-skips`. `tests/allowed-skips.txt` has the names of those that may be
//! skipped, each with its reason. A name that is allowed and was not skipped is told and does no
//! harm: machines differ.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use test_skips::Skip;

use crate::command::{project, succeed};

/// The names that may be skipped, with the reasons.
const ALLOWED: &str = "tests/allowed-skips.txt";

/// Reads the list of names.
pub fn allowed() -> Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(project().join(ALLOWED)).context(ALLOWED)?;
    read_allowed(&text).context(ALLOWED)
}

fn read_allowed(text: &str) -> Result<BTreeMap<String, String>> {
    let mut allowed = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, reason) = line.split_once(": ").context("a line is `NAME: REASON`")?;
        ensure!(!reason.trim().is_empty(), "{name} has no reason");
        let before = allowed.insert(name.to_owned(), reason.trim().to_owned());
        ensure!(before.is_none(), "{name} is there twice");
    }
    Ok(allowed)
}

/// Runs a command whose tests note what they skip, lists that, and fails if the command does or if
/// something was skipped that is not allowed.
pub fn judge_command(command: &mut Command, allowed: &BTreeMap<String, String>) -> Result<()> {
    let noted = tempfile::NamedTempFile::new()?;
    let passed = succeed(command.env(test_skips::FILE_VARIABLE, noted.path()));
    let judged = judge(&read(noted.path())?, allowed);
    passed?;
    judged
}

/// Reads what was noted.
fn read(path: &Path) -> Result<BTreeSet<Skip>> {
    let text = std::fs::read_to_string(path)?;
    let skips = text.lines().map(|line| {
        Skip::read(line).with_context(|| format!("this is no line about a skip: {line}"))
    });
    skips.collect()
}

/// Lists everything, and fails if something was skipped that is not allowed.
fn judge(skips: &BTreeSet<Skip>, allowed: &BTreeMap<String, String>) -> Result<()> {
    eprintln!("ci: {} skips", skips.len());
    for skip in skips {
        match allowed.get(&skip.name) {
            Some(why) => eprintln!("ci: allowed: {}: {} ({why})", skip.name, skip.reason),
            None => eprintln!("ci: NOT ALLOWED: {}: {}", skip.name, skip.reason),
        }
    }
    for name in allowed.keys().filter(|name| skips.iter().all(|skip| skip.name != **name)) {
        eprintln!("ci: not skipped here, though it may be: {name}");
    }
    let refused: BTreeSet<_> =
        skips.iter().map(|skip| &*skip.name).filter(|name| !allowed.contains_key(*name)).collect();
    if refused.is_empty() {
        return Ok(());
    }
    let refused = refused.into_iter().collect::<Vec<_>>().join(", ");
    bail!(
        "skipped: {refused}\nhint: give the machine what they need, or add a line to {ALLOWED} that \
         says why not"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skips(names: &[&str]) -> BTreeSet<Skip> {
        let skip = |name: &&str| Skip { name: (*name).to_owned(), reason: "no tool".to_owned() };
        names.iter().map(skip).collect()
    }

    #[test]
    fn a_skip_that_nobody_allowed_fails() {
        let allowed = read_allowed("# Why\n\nipv6: the machine has none\n").unwrap();
        assert!(judge(&skips(&[]), &allowed).is_ok());
        assert!(judge(&skips(&["ipv6"]), &allowed).is_ok());
        let error = judge(&skips(&["ipv6", "tmux"]), &allowed).unwrap_err().to_string();
        assert!(error.starts_with("skipped: tmux\n"), "{error}");
    }

    /// Calls [`test_skips::skip`] when the test below runs this program for it.
    #[test]
    fn skips_in_another_process() {
        if let Some(name) = std::env::var_os(NAME_VARIABLE) {
            test_skips::skip(&name.to_string_lossy(), "a test said so");
        }
    }

    const NAME_VARIABLE: &str = "BELLJAR_TEST_NAME_TO_SKIP";

    #[test]
    fn a_test_program_that_passes_and_skips_is_judged() {
        let allowed = read_allowed("ipv6: the machine has none\n").unwrap();
        let run = |name: &str| {
            let mut tests = Command::new(std::env::current_exe().unwrap());
            // As cargo runs it: what a test that passes prints is thrown away.
            tests.args(["--exact", "skips::tests::skips_in_another_process", "--quiet"]);
            tests.stdout(std::process::Stdio::null());
            judge_command(tests.env(NAME_VARIABLE, name), &allowed)
        };
        run("ipv6").unwrap();
        let error = run("tmux").unwrap_err().to_string();
        assert!(error.starts_with("skipped: tmux\n"), "{error}");
    }

    #[test]
    fn a_command_that_fails_fails() {
        assert!(judge_command(&mut Command::new("false"), &BTreeMap::new()).is_err());
        assert!(judge_command(&mut Command::new("true"), &BTreeMap::new()).is_ok());
    }

    #[test]
    fn an_allowed_skip_has_one_reason() {
        assert!(read_allowed("a\n").is_err());
        assert!(read_allowed("a:  \n").is_err());
        assert!(read_allowed("a: x\na: y\n").is_err());
    }

    #[test]
    fn what_was_noted_is_read_once() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "skipped: a: b\nskipped: a: b\n").unwrap();
        assert_eq!(read(file.path()).unwrap().len(), 1);
        std::fs::write(file.path(), "half a li").unwrap();
        assert!(read(file.path()).is_err());
    }

    #[test]
    fn the_list_of_the_project_can_be_read() {
        allowed().unwrap();
    }
}
