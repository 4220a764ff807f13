//! What was measured, as it is kept.

use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::exercise::Exercises;
use crate::groups::Group;
use crate::protocol::{Protocol, Verdict};
use crate::usage::Usage;

/// The shape of the file; raised when it changes.
pub const VERSION: u32 = 1;

/// One measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    /// [`VERSION`].
    pub version: u32,
    /// Day of the measurement, as 2026-01-31.
    pub date: String,
    /// The host's kernel.
    pub host_kernel: String,
    /// How many CPUs it has.
    pub cpus: usize,
    /// Every program, by name.
    pub programs: Vec<ProgramResult>,
    /// What interpreters and skills use, where they were run too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usages: Vec<Usage>,
}

/// One test program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramResult {
    /// The file's name.
    pub name: String,
    /// What it tests.
    pub group: Group,
    /// How it speaks.
    pub protocol: Protocol,
    /// The system calls that it exercises, where it was traced.
    #[serde(default, skip_serializing_if = "Exercises::is_empty")]
    pub exercises: Exercises,
    /// Its cases.
    pub cases: Vec<CaseResult>,
}

/// One case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseResult {
    /// Its name, empty for a program that is one case.
    pub name: String,
    /// How it went natively.
    pub native: Verdict,
    /// How it went inside.
    pub inside: Verdict,
    /// It passes natively at times, and at times it does not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub flaky_natively: bool,
    /// It passes inside only when it runs alone.
    #[serde(default, skip_serializing_if = "is_false")]
    pub passes_only_alone: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl CaseResult {
    /// Whether Linux passes it reliably, which is what makes it count.
    pub fn counts(&self) -> bool {
        self.native == Verdict::Passed && !self.flaky_natively
    }

    /// Whether it counts and passes inside.
    pub fn passes(&self) -> bool {
        self.counts() && self.inside == Verdict::Passed
    }
}

/// A file of results that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The file.
    #[error("cannot read or write the results: {0}")]
    Io(#[from] std::io::Error),
    /// Its contents.
    #[error("these are no results: {0}")]
    Json(#[from] serde_json::Error),
    /// Another version of us.
    #[error("these results have version {0}, and this program reads version {VERSION}")]
    Version(u32),
}

impl Results {
    /// The program of this name.
    pub fn program(&self, name: &str) -> Option<&ProgramResult> {
        self.programs.iter().find(|program| program.name == name)
    }

    /// Reads results.
    pub fn load(path: &Path) -> Result<Self, ResultsError> {
        let results: Self = serde_json::from_slice(&std::fs::read(path)?)?;
        if results.version != VERSION {
            return Err(ResultsError::Version(results.version));
        }
        Ok(results)
    }

    /// Writes results.
    pub fn save(&self, path: &Path) -> Result<(), ResultsError> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(std::fs::write(path, text)?)
    }
}

/// Today, in UTC.
pub fn today() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    date_of_day(i64::try_from(since.as_secs() / 86_400).unwrap_or(0))
}

/// The date of a day counted from 1970-01-01 in the Gregorian calendar. The year starts in March
/// here, so that the leap day is its last.
fn date_of_day(day: i64) -> String {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// One program, all of whose cases pass natively and go like this inside.
    pub(crate) fn results(date: &str, inside: &[Verdict]) -> Results {
        let case = |(n, inside): (usize, &Verdict)| CaseResult {
            name: n.to_string(),
            native: Verdict::Passed,
            inside: *inside,
            flaky_natively: false,
            passes_only_alone: false,
        };
        let program = ProgramResult {
            name: "pipe_test".into(),
            group: Group::Ipc,
            protocol: Protocol::Tap,
            exercises: Exercises::from([("pipe2".to_owned(), 1000)]),
            cases: inside.iter().enumerate().map(case).collect(),
        };
        Results {
            version: VERSION,
            date: date.into(),
            host_kernel: "6.1".into(),
            cpus: 2,
            programs: vec![program],
            usages: Vec::new(),
        }
    }

    #[test]
    fn knows_the_calendar() {
        assert_eq!(date_of_day(0), "1970-01-01");
        assert_eq!(date_of_day(19_782), "2024-02-29");
        assert_eq!(date_of_day(20_454), "2026-01-01");
    }

    #[test]
    fn a_case_that_linux_fails_does_not_count() {
        let case = |native, inside| CaseResult {
            name: String::new(),
            native,
            inside,
            flaky_natively: false,
            passes_only_alone: false,
        };
        assert!(!case(Verdict::Failed, Verdict::Passed).counts());
        assert!(!case(Verdict::Skipped, Verdict::Passed).counts());
        assert!(case(Verdict::Passed, Verdict::Passed).passes());
        assert!(!case(Verdict::Passed, Verdict::Skipped).passes());
    }
}
