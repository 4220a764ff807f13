//! Test cases of a skill: `tests/*.yaml`.
//!
//! A case names a script, its arguments and inputs, and what should come out. [`read_all`] reads
//! the cases, [`run_case`] runs one with any [`Runner`] and compares. The native runner is in
//! this crate; the sandbox brings its own.

mod compare;
mod native;
mod read;
mod run;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

pub use compare::{Mismatch, compare};
pub use native::{NativeRunner, find_program};
pub use read::{read, read_all};
pub use run::{
    CaseResult, Exit, RunOutcome, RunRequest, Runner, RunnerError, Verdict, run_case,
    run_case_with, table,
};

/// One test case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Case {
    /// The file that holds the case.
    pub file: String,
    /// The line on which it begins.
    pub line: usize,
    /// What it shows, as a short statement.
    pub name: String,
    /// The script to run; nothing if the skill has only one.
    pub script: Option<String>,
    /// The script's arguments.
    pub args: Vec<String>,
    /// What the script reads from standard input.
    pub stdin: Option<String>,
    /// Environment variables.
    pub env: BTreeMap<String, String>,
    /// The longest time that the case may take.
    pub timeout: Option<Duration>,
    /// Files in the work folder before the run, by their path there.
    pub inputs: BTreeMap<String, Input>,
    /// What should come out.
    pub expect: Expect,
}

/// The content of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    /// A copy of a file or folder of the skill, by its path in the skill.
    File(String),
    /// This text.
    Text(String),
}

/// What should come out of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Expect {
    /// The exit code; zero unless said otherwise.
    pub exit: i32,
    /// Standard output.
    pub stdout: TextRule,
    /// Standard error.
    pub stderr: TextRule,
    /// Files in the work folder after the run, by their path there.
    pub files: BTreeMap<String, FileRule>,
}

/// What a text should be. Everything that is said must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TextRule {
    /// The whole text, apart from white space at its end.
    pub equals: Option<String>,
    /// Parts that must be there.
    pub contains: Vec<String>,
    /// Parts that must not be there.
    pub excludes: Vec<String>,
    /// Patterns that must be found. `^` and `$` stand for the ends of lines.
    pub matches: Vec<String>,
}

impl TextRule {
    /// Whether anything is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a file should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileRule {
    /// Whether it should be there at all.
    pub exists: bool,
    /// The fewest bytes.
    pub min_bytes: Option<u64>,
    /// The most bytes.
    pub max_bytes: Option<u64>,
    /// The first bytes, written in hexadecimal.
    pub magic: Option<String>,
    /// Its text.
    pub text: TextRule,
}

impl Default for FileRule {
    fn default() -> Self {
        Self {
            exists: true,
            min_bytes: None,
            max_bytes: None,
            magic: None,
            text: TextRule::default(),
        }
    }
}
