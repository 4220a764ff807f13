//! The one way in which a test says that it was skipped.
//!
//! A test that lacks something of the machine calls [`skip`] and returns. It says so, and where
//! [`FILE_VARIABLE`] names a file, as `cargo xtask ci` has it, a line is added there. CI lists them
//! all at its end and fails if one is not in `tests/allowed-skips.txt`. A house rule looks for tests
//! that say it in another way.

#![forbid(unsafe_code)]

use std::fs::OpenOptions;
use std::io::Write;

/// The environment variable that names the file.
pub const FILE_VARIABLE: &str = "BELLJAR_TEST_SKIPS";

/// What was skipped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skip {
    /// By this name it is allowed.
    pub name: String,
    /// What the machine lacks.
    pub reason: String,
}

impl Skip {
    /// The line of a skip, without its end.
    pub fn line(&self) -> String {
        format!("skipped: {}: {}", self.name, self.reason)
    }

    /// Reads such a line.
    pub fn read(line: &str) -> Option<Self> {
        let (name, reason) = line.strip_prefix("skipped: ")?.split_once(": ")?;
        Some(Self { name: name.to_owned(), reason: reason.to_owned() })
    }
}

/// Says that what has this name is skipped, and what the machine lacks for it. The name has neither
/// a colon nor a line end.
///
/// # Panics
///
/// If the file that CI has named cannot be written: a skip that is lost would be a test that passed.
#[track_caller]
pub fn skip(name: &str, reason: &str) {
    let reason = reason.lines().collect::<Vec<_>>().join("; ");
    let line = Skip { name: name.to_owned(), reason }.line();
    assert!(Skip::read(&line).is_some_and(|it| it.name == name), "no name for a skip: {name:?}");
    eprintln!("{line}");
    let Some(path) = std::env::var_os(FILE_VARIABLE) else { return };
    let written = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)
        // One call, so that lines of tests that run at one time are whole.
        .and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    assert!(written.is_ok(), "cannot note a skip in {}: {written:?}", path.display());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let skip = Skip { name: "a b".into(), reason: "c: d".into() };
        assert_eq!(skip.line(), "skipped: a b: c: d");
        assert_eq!(Skip::read(&skip.line()), Some(skip));
        assert_eq!(Skip::read("skipped nothing"), None);
    }

    #[test]
    #[should_panic(expected = "no name for a skip")]
    fn a_name_without_colons() {
        skip("a: b", "c");
    }
}
