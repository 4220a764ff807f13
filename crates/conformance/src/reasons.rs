//! Known failures with their reasons, in a file that may only shrink.
//!
//! A line is `program case: reason`. A case may end in `*` for several. Empty lines and lines
//! that start with `#` say nothing.

use std::io;
use std::path::Path;

use serde::Serialize;

use crate::results::{CaseResult, Results};

/// The file, read.
#[derive(Clone, Debug, Default)]
pub struct Reasons {
    lines: Vec<Line>,
}

#[derive(Clone, Debug)]
struct Line {
    /// `program case`.
    pattern: String,
    reason: String,
}

impl Line {
    fn fits(&self, name: &str) -> bool {
        match self.pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => self.pattern == name,
        }
    }
}

/// A file of reasons that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReasonsError {
    /// cannot be read
    #[error("cannot read the list of known failures: {0}")]
    Io(#[from] io::Error),
    /// a line without a reason
    #[error("there is no reason in the line `{0}`")]
    NoReason(String),
}

/// What results are against the list.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verdicts {
    /// Cases that pass and should.
    pub passed: usize,
    /// Cases that do not count, since Linux does not pass them.
    pub not_counted: usize,
    /// Cases that fail, with their reason.
    pub known: usize,
    /// Cases that fail, and are not in the list.
    pub unexpected: Vec<String>,
    /// Lines of the list that no failing case needs: they have to go.
    pub stale: Vec<String>,
}

impl Verdicts {
    /// Whether nothing has to be done.
    pub fn is_good(&self) -> bool {
        self.unexpected.is_empty() && self.stale.is_empty()
    }
}

/// `program case`.
fn name(program: &str, case: &CaseResult) -> String {
    format!("{program} {}", case.name).trim_end().to_owned()
}

impl Reasons {
    /// Reads the file.
    pub fn load(path: &Path) -> Result<Self, ReasonsError> {
        Self::parse(&std::fs::read_to_string(path)?)
    }

    fn parse(text: &str) -> Result<Self, ReasonsError> {
        let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        let line = |line: &str| match line.split_once(": ") {
            Some((pattern, reason)) if !reason.trim().is_empty() => {
                Ok(Line { pattern: pattern.to_owned(), reason: reason.to_owned() })
            }
            _ => Err(ReasonsError::NoReason(line.to_owned())),
        };
        Ok(Self { lines: lines.map(line).collect::<Result<_, _>>()? })
    }

    /// Why a case fails. The first line that fits says it.
    pub fn of(&self, program: &str, case: &CaseResult) -> Option<&str> {
        let name = name(program, case);
        let line = self.lines.iter().find(|line| line.fits(&name));
        line.map(|line| line.reason.as_str())
    }

    /// Holds results against the list. Lines about programs that were not run say nothing.
    pub fn judge(&self, results: &Results) -> Verdicts {
        let mut verdicts = Verdicts::default();
        let mut failing = Vec::new();
        let mut not_counted = Vec::new();
        for program in &results.programs {
            for case in &program.cases {
                if !case.counts() {
                    verdicts.not_counted += 1;
                    not_counted.push(name(&program.name, case));
                } else if case.passes() {
                    verdicts.passed += 1;
                } else {
                    failing.push(name(&program.name, case));
                    match self.of(&program.name, case) {
                        Some(_) => verdicts.known += 1,
                        None => verdicts.unexpected.push(format!(
                            "{}: {}",
                            name(&program.name, case),
                            case.inside.name()
                        )),
                    }
                }
            }
        }
        for line in &self.lines {
            let program = line.pattern.split(' ').next().unwrap_or_default();
            let was_run = results.programs.iter().any(|it| it.name == program);
            let is_needed = failing.iter().chain(&not_counted).any(|name| line.fits(name));
            if was_run && !is_needed {
                verdicts.stale.push(line.pattern.clone());
            }
        }
        verdicts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Verdict::{Failed, Passed};
    use crate::results::tests::results;

    #[test]
    fn an_entry_that_is_not_needed_has_to_go() {
        let results = results("2026-01-01", &[Passed, Failed, Failed]);
        let text = "# why\n\npipe_test 0: was hard\npipe_test 1: is hard\nother 9: not run\n";
        let verdicts = Reasons::parse(text).unwrap().judge(&results);
        assert_eq!((verdicts.passed, verdicts.known), (1, 1));
        assert_eq!(verdicts.unexpected, ["pipe_test 2: failed"]);
        assert_eq!(verdicts.stale, ["pipe_test 0"]);
        assert!(!verdicts.is_good());
    }

    #[test]
    fn a_pattern_fits_several() {
        let results = results("2026-01-01", &[Passed, Failed]);
        assert!(Reasons::parse("pipe_test *: all of it").unwrap().judge(&results).is_good());
    }

    #[test]
    fn a_line_needs_a_reason() {
        assert!(Reasons::parse("pipe_test 0").is_err());
        assert!(Reasons::parse("pipe_test 0: ").is_err());
    }
}
