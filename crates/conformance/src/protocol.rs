//! How a test program speaks of its cases.

use std::process::Command;

use serde::{Deserialize, Serialize};

/// How one case went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// It said that it does not apply here.
    Skipped,
    /// The program ended in the middle of it.
    Crashed,
    /// It took too long.
    TimedOut,
    /// The program never spoke of it.
    Missing,
}

impl Verdict {
    /// The words in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Crashed => "crashed",
            Self::TimedOut => "timed out",
            Self::Missing => "did not run",
        }
    }
}

/// A way of speaking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Lists and filters its cases (`--gtest_list_tests`, `--gtest_filter`).
    GoogleTest,
    /// Our own guest tests: `--list`, names as arguments, TAP.
    GuestTest,
    /// TAP without a list.
    Tap,
    /// The Linux Test Project's `TPASS`, `TFAIL`, `TBROK`, `TCONF` lines.
    Ltp,
    /// Only an exit code.
    Plain,
}

/// A case and how it went.
pub type CaseVerdict = (String, Verdict);

impl Protocol {
    /// Finds out by what is in the program. Nothing is run: a program of a way that is not known
    /// might do anything when it is called with an option.
    pub fn detect(program: &[u8]) -> Self {
        let has = |needle: &str| contains(program, needle.as_bytes());
        if has("gtest_list_tests") {
            Self::GoogleTest
        } else if has("--in-process") && has("--list") {
            Self::GuestTest
        } else if has("TPASS") && has("TCONF") {
            Self::Ltp
        } else if has("not ok ") && has("1..") {
            Self::Tap
        } else {
            Self::Plain
        }
    }

    /// The argument that makes the program list its cases.
    pub fn list_argument(self) -> Option<&'static str> {
        match self {
            Self::GoogleTest => Some("--gtest_list_tests"),
            Self::GuestTest => Some("--list"),
            Self::Tap | Self::Ltp | Self::Plain => None,
        }
    }

    /// The cases in the output of [`Self::list_argument`].
    pub fn parse_list(self, output: &str) -> Vec<String> {
        match self {
            Self::GoogleTest => google_list(output),
            _ => {
                output.lines().map(str::trim).filter(|it| !it.is_empty()).map(Into::into).collect()
            }
        }
    }

    /// Restricts a program to these cases, where it can.
    pub fn select(self, command: &mut Command, cases: &[String]) {
        match self {
            Self::GoogleTest => {
                command.arg(format!("--gtest_filter={}", cases.join(":")));
            }
            Self::GuestTest => {
                command.args(cases);
            }
            Self::Tap | Self::Ltp | Self::Plain => {}
        }
    }

    /// The verdicts in a program's output, each case once, in order.
    pub fn parse(self, output: &str) -> Vec<CaseVerdict> {
        match self {
            Self::GoogleTest => output.lines().filter_map(google_line).collect(),
            Self::GuestTest | Self::Tap => output.lines().filter_map(tap_line).collect(),
            Self::Ltp => ltp(output),
            Self::Plain => Vec::new(),
        }
    }
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

/// Suites stand at the left with a dot at their end, cases are indented; both may have a comment.
fn google_list(output: &str) -> Vec<String> {
    let mut suite = "";
    let mut cases = Vec::new();
    for line in output.lines() {
        let name = line.split('#').next().unwrap_or_default().trim();
        if line.starts_with("  ") && !suite.is_empty() && !name.is_empty() {
            cases.push(format!("{suite}{name}"));
        } else if name.ends_with('.') && !line.starts_with(' ') {
            suite = name;
        }
    }
    cases.retain(|case| !case.contains("DISABLED_"));
    cases
}

/// `[       OK ] Suite.Case (3 ms)`; the summary at the end repeats failures without a time.
fn google_line(line: &str) -> Option<CaseVerdict> {
    let (word, rest) = line.strip_prefix('[')?.split_once(']')?;
    let verdict = match word.trim() {
        "OK" => Verdict::Passed,
        "FAILED" => Verdict::Failed,
        "SKIPPED" => Verdict::Skipped,
        _ => return None,
    };
    let (name, _) = rest.trim().rsplit_once(" (")?;
    let name = name.split(',').next()?.trim();
    name.contains('.').then(|| (name.to_owned(), verdict))
}

/// `ok 1 - name`, `not ok 2 name # TODO`, `ok 3 name # SKIP why`.
fn tap_line(line: &str) -> Option<CaseVerdict> {
    let (passed, rest) = match (line.strip_prefix("ok "), line.strip_prefix("not ok ")) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        _ => return None,
    };
    let (text, directive) = rest.split_once('#').unwrap_or((rest, ""));
    let (number, name) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    number.parse::<u32>().ok()?;
    let name = name.trim_start_matches("- ").trim();
    // What a failing case says after its name is for people.
    let name = name.split(": ").next().unwrap_or(name);
    let name = if name.is_empty() { number } else { name };
    let directive = directive.trim_start().to_ascii_uppercase();
    let verdict = match (passed, directive.starts_with("SKIP"), directive.starts_with("TODO")) {
        (true, true, _) => Verdict::Skipped,
        (true, ..) | (false, _, true) => Verdict::Passed,
        (false, ..) => Verdict::Failed,
    };
    Some((name.to_owned(), verdict))
}

/// The lines have no names, so that the cases are numbered.
fn ltp(output: &str) -> Vec<CaseVerdict> {
    let verdict = |line: &str| {
        let words = [
            ("TPASS", Verdict::Passed),
            ("TFAIL", Verdict::Failed),
            ("TBROK", Verdict::Failed),
            ("TCONF", Verdict::Skipped),
        ];
        words.into_iter().find(|(word, _)| line.contains(&format!(" {word}"))).map(|it| it.1)
    };
    let verdicts = output.lines().filter_map(verdict).enumerate();
    verdicts.map(|(index, verdict)| ((index + 1).to_string(), verdict)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_list_of_googletest() {
        let output = "Running main() from x.cc\nPipeTest.\n  Basic\n  DISABLED_Slow\nAll/Sizes.  # T\n  Case/0  # GetParam() = 4\n";
        assert_eq!(Protocol::GoogleTest.parse_list(output), ["PipeTest.Basic", "All/Sizes.Case/0"]);
    }

    #[test]
    fn reads_the_verdicts_of_googletest() {
        let output = "[ RUN      ] A.B\n[       OK ] A.B (0 ms)\n[  FAILED  ] A/S.C/1, where GetParam() = 3 (2 ms)\n[  SKIPPED ] A.D (0 ms)\n[----------] 2 tests from A (0 ms total)\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A/S.C/1, where GetParam() = 3\n";
        let verdicts = [
            ("A.B".to_owned(), Verdict::Passed),
            ("A/S.C/1".to_owned(), Verdict::Failed),
            ("A.D".to_owned(), Verdict::Skipped),
        ];
        assert_eq!(Protocol::GoogleTest.parse(output), verdicts);
    }

    #[test]
    fn reads_tap() {
        let output = "1..4\nok 1 - first\nnot ok 2 second: x.c:3: 1 is not 2\n# note\nok 3 third # SKIP no device\nok 4\n";
        let verdicts = [
            ("first".to_owned(), Verdict::Passed),
            ("second".to_owned(), Verdict::Failed),
            ("third".to_owned(), Verdict::Skipped),
            ("4".to_owned(), Verdict::Passed),
        ];
        assert_eq!(Protocol::Tap.parse(output), verdicts);
    }

    #[test]
    fn reads_ltp() {
        let output =
            "open01.c:59: TPASS: it works\nopen01.c:60: TFAIL: it does not\nSummary:\npassed 1\n";
        let verdicts = [("1".to_owned(), Verdict::Passed), ("2".to_owned(), Verdict::Failed)];
        assert_eq!(Protocol::Ltp.parse(output), verdicts);
    }
}
