//! Compares what came out with what should have.

use std::io::Read as _;
use std::path::Path;

use host_sys::beneath::{Folder, Kind};
use regex::RegexBuilder;
use serde::Serialize;

use super::run::{Exit, RunOutcome};
use super::{Case, FileRule, TextRule};

/// The most bytes of a produced file that are compared.
const MAX_COMPARED_BYTES: u64 = 16 * 1024 * 1024;
/// The most characters of a text that a mismatch shows.
const SHOWN_CHARACTERS: usize = 400;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// What differs: `exit`, `stdout`, `stderr` or a file.
    pub what: String,
    /// What should have been.
    pub expected: String,
    /// What was.
    pub actual: String,
}

/// Compares a run with its case. `work` is the host's folder with what the run left behind.
pub fn compare(case: &Case, outcome: &RunOutcome, work: &Path) -> Vec<Mismatch> {
    let mut found = Vec::new();
    if outcome.exit != Exit::Code(case.expect.exit) {
        let errors = shown(&String::from_utf8_lossy(&outcome.stderr));
        let actual = format!("{}; stderr: {errors}", outcome.exit);
        found.push(Mismatch {
            what: "exit".into(),
            expected: format!("exit code {}", case.expect.exit),
            actual,
        });
    }
    compare_text("stdout", &case.expect.stdout, &outcome.stdout, &mut found);
    compare_text("stderr", &case.expect.stderr, &outcome.stderr, &mut found);
    for (path, rule) in &case.expect.files {
        compare_file(path, rule, work, &mut found);
    }
    found
}

fn compare_text(what: &str, rule: &TextRule, actual: &[u8], found: &mut Vec<Mismatch>) {
    if rule.is_empty() {
        return;
    }
    let text = String::from_utf8_lossy(actual);
    let mut differs = |expected: String| {
        found.push(Mismatch { what: what.to_owned(), expected, actual: shown(&text) });
    };
    if let Some(wanted) = &rule.equals
        && wanted.trim_end() != text.trim_end()
    {
        differs(format!("exactly {}", shown(wanted)));
    }
    for part in rule.contains.iter().filter(|part| !text.contains(part.as_str())) {
        differs(format!("contains {}", shown(part)));
    }
    for part in rule.excludes.iter().filter(|part| text.contains(part.as_str())) {
        differs(format!("does not contain {}", shown(part)));
    }
    for pattern in &rule.matches {
        let matcher = RegexBuilder::new(pattern).multi_line(true).build();
        if !matcher.is_ok_and(|matcher| matcher.is_match(&text)) {
            differs(format!("matches {}", shown(pattern)));
        }
    }
}

fn compare_file(path: &str, rule: &FileRule, work: &Path, found: &mut Vec<Mismatch>) {
    let mut differs = |expected: &str, actual: String| {
        found.push(Mismatch { what: path.to_owned(), expected: expected.to_owned(), actual });
    };
    // The run made this folder: a link in it may lead anywhere and is not followed.
    let held = Folder::at(work)
        .and_then(|work| work.parent_of(Path::new(path)).and_then(|(it, name)| it.hold(name)));
    let held = match held {
        Ok(_) if !rule.exists => return differs("not there", "there".into()),
        Err(_) if !rule.exists => return,
        Err(error) => return differs("there", error.to_string()),
        Ok(held) => held,
    };
    let has_content_rule = rule.magic.is_some() || !rule.text.is_empty();
    if held.status.kind != Kind::File {
        if has_content_rule || rule.min_bytes.is_some() || rule.max_bytes.is_some() {
            differs("a regular file", "something else".into());
        }
        return;
    }
    let size = held.status.size;
    if rule.min_bytes.is_some_and(|least| size < least) {
        differs(
            &format!("at least {} bytes", rule.min_bytes.unwrap_or_default()),
            format!("{size} bytes"),
        );
    }
    if rule.max_bytes.is_some_and(|most| size > most) {
        differs(
            &format!("at most {} bytes", rule.max_bytes.unwrap_or_default()),
            format!("{size} bytes"),
        );
    }
    if !has_content_rule {
        return;
    }
    let mut bytes = Vec::new();
    let read = held.open().and_then(|file| file.take(MAX_COMPARED_BYTES).read_to_end(&mut bytes));
    if let Err(error) = read {
        return differs("can be read", error.to_string());
    }
    if let Some(magic) = &rule.magic {
        let start: String =
            bytes.iter().take(magic.len() / 2).map(|byte| format!("{byte:02x}")).collect();
        if !start.eq_ignore_ascii_case(magic) {
            differs(&format!("begins with {magic}"), format!("begins with {start}"));
        }
    }
    compare_text(path, &rule.text, &bytes, found);
}

fn shown(text: &str) -> String {
    let start: String = text.chars().take(SHOWN_CHARACTERS).collect();
    let dots = if start.len() < text.len() { "..." } else { "" };
    format!("{:?}{dots}", start)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    fn differences(expect: &str, exit: Exit, stdout: &str) -> Vec<String> {
        let text = format!("cases:\n  - name: t\n    expect: {expect}\n");
        let (cases, findings) = read("t", &text);
        assert!(findings.is_empty(), "{findings:?}");
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("f"), b"\x89PNG and text\n").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("l")).unwrap();
        std::os::unix::fs::symlink("/etc", dir.path().join("d")).unwrap();
        let outcome = RunOutcome { exit, stdout: stdout.into(), ..RunOutcome::default() };
        compare(&cases[0], &outcome, dir.path()).into_iter().map(|found| found.what).collect()
    }

    #[test]
    fn exit_codes_and_signals() {
        assert!(differences("{}", Exit::Code(0), "").is_empty());
        assert_eq!(differences("{}", Exit::Code(1), ""), ["exit"]);
        assert_eq!(differences("{exit: 9}", Exit::Signal(9), ""), ["exit"]);
        assert_eq!(differences("{}", Exit::TimedOut, ""), ["exit"]);
    }

    #[test]
    fn texts() {
        let ok = |expect: &str| differences(expect, Exit::Code(0), "one\ntwo\n").is_empty();
        assert!(ok(r#"{stdout: {equals: "one\ntwo"}}"#));
        assert!(ok("{stdout: {contains: [one, two], excludes: three, matches: '^two$'}}"));
        assert!(!ok("{stdout: {equals: one}}"));
        assert!(!ok("{stdout: {contains: three}}"));
        assert!(!ok("{stdout: {excludes: two}}"));
        assert!(!ok("{stdout: {matches: '^wo'}}"));
        assert!(ok("{stderr: {equals: ''}}"));
    }

    #[test]
    fn files() {
        let ok = |expect: &str| {
            differences(&format!("{{files: {expect}}}"), Exit::Code(0), "").is_empty()
        };
        assert!(ok("{f: {magic: 89504E47, min-bytes: 5, max-bytes: 50, contains: text}}"));
        assert!(ok("{g: {exists: false}}"));
        assert!(!ok("{f: {exists: false}}"));
        assert!(!ok("{g: {}}"));
        assert!(!ok("{f: {magic: ffff}}"));
        assert!(!ok("{f: {min-bytes: 50}}"));
        assert!(!ok("{f: {max-bytes: 5}}"));
        assert!(!ok("{f: {contains: nothing}}"));
        // A link is there, but what it leads to is not read.
        assert!(ok("{l: {}}"));
        assert!(!ok("{l: {contains: root}}"));
        // Nor what is in a folder that is a link.
        assert!(!ok("{d/passwd: {contains: root}}"));
    }
}
