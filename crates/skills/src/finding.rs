//! Findings: what is wrong with a skill, where, why it matters and how to mend it.
//!
//! Every check of this crate speaks in [`Finding`]s and collects them in a [`Report`]. A report
//! serialises with serde for `--json` and renders as text for people.

use std::fmt::Write as _;

use sandbox_spec::printable;
use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The skill breaks a rule.
    Error,
    /// The skill is valid, but somebody will be surprised.
    Warning,
}

impl Severity {
    /// The word that reports use.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// A place in a file of the skill. Lines and columns count from one, in characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    /// Path relative to the skill's folder.
    pub file: String,
    /// Line, from one.
    pub line: usize,
    /// Column, from one.
    pub column: usize,
}

impl Place {
    /// Makes a place from its three parts.
    pub fn new(file: impl Into<String>, line: usize, column: usize) -> Self {
        Self { file: file.into(), line, column }
    }

    /// The beginning of a file.
    pub fn start_of(file: impl Into<String>) -> Self {
        Self::new(file, 1, 1)
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// One thing that is wrong, or that may surprise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Short permanent name of the rule, such as `name-format`.
    pub rule: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// Where it is.
    #[serde(flatten)]
    pub place: Place,
    /// What is wrong.
    pub what: String,
    /// Why it matters.
    pub why: String,
    /// How to mend it.
    pub mend: String,
}

impl Finding {
    /// Starts an error; [`Finding::why`] and [`Finding::mend`] complete it.
    pub fn error(rule: &'static str, place: Place, what: impl Into<String>) -> Self {
        let (why, mend) = (String::new(), String::new());
        Self { rule, severity: Severity::Error, place, what: what.into(), why, mend }
    }

    /// Starts a warning; [`Finding::why`] and [`Finding::mend`] complete it.
    pub fn warning(rule: &'static str, place: Place, what: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(rule, place, what) }
    }

    /// Says why it matters.
    #[must_use]
    pub fn why(mut self, why: impl Into<String>) -> Self {
        self.why = why.into();
        self
    }

    /// Says how to mend it.
    #[must_use]
    pub fn mend(mut self, mend: impl Into<String>) -> Self {
        self.mend = mend.into();
        self
    }
}

/// All findings about one skill, errors first, each group in the order of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// How many of the findings are errors.
    pub errors: usize,
    /// How many of the findings are warnings.
    pub warnings: usize,
    /// The findings.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Sorts and counts findings.
    pub fn new(mut findings: Vec<Finding>) -> Self {
        findings.sort_by(|a, b| (a.severity, &a.place).cmp(&(b.severity, &b.place)));
        findings.dedup();
        let errors = findings.iter().filter(|f| f.severity == Severity::Error).count();
        Self { errors, warnings: findings.len() - errors, findings }
    }

    /// Whether no rule is broken. Warnings do not count.
    pub fn is_valid(&self) -> bool {
        self.errors == 0
    }

    /// Renders the report for people: a block per finding and a closing line.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{}: {}: {} [{}]",
                printable(&finding.place.to_string()),
                finding.severity.word(),
                printable(&finding.what),
                finding.rule
            );
            if !finding.why.is_empty() {
                let _ = writeln!(text, "  why:  {}", printable(&finding.why));
            }
            if !finding.mend.is_empty() {
                let _ = writeln!(text, "  mend: {}", printable(&finding.mend));
            }
        }
        let _ = writeln!(text, "{}", self.summary());
        text
    }

    /// The closing line: `valid`, or how many errors and warnings there are.
    pub fn summary(&self) -> String {
        match (self.errors, self.warnings) {
            (0, 0) => "valid".to_owned(),
            (0, w) => format!("valid, {}", counted(w, "warning")),
            (e, 0) => format!("not valid: {}", counted(e, "error")),
            (e, w) => format!("not valid: {}, {}", counted(e, "error"), counted(w, "warning")),
        }
    }
}

fn counted(n: usize, word: &str) -> String {
    if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Report {
        let place = |line| Place::new("SKILL.md", line, 1);
        Report::new(vec![
            Finding::warning("b", place(1), "odd\u{1b}[2J").why("because").mend("change it"),
            Finding::error("a", place(9), "wrong"),
            Finding::error("c", Place::new("odd\u{1b}[2J\nname", 1, 1), "wrong"),
        ])
    }

    #[test]
    fn errors_come_before_warnings() {
        let report = sample();
        assert_eq!(report.findings[0].rule, "a");
        assert_eq!((report.errors, report.warnings), (2, 1));
        assert!(!report.is_valid());
    }

    #[test]
    fn text_has_the_place_and_no_control_characters() {
        let text = sample().to_text();
        assert!(text.contains("SKILL.md:9:1: error: wrong [a]"), "{text}");
        assert!(text.ends_with("not valid: 2 errors, 1 warning\n"), "{text}");
        assert_eq!(text.lines().count(), 6, "{text}");
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn json_is_flat() {
        let json = serde_json::to_value(sample()).unwrap();
        assert_eq!(json["findings"][0]["line"], 9);
        assert_eq!(json["findings"][0]["severity"], "error");
    }
}
