//! What the guest did, as far as it was recorded.
//!
//! Everything has a bound; what was beyond it is counted and never left out silently. Names that
//! are no text are shown with replacement characters.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ConnectionRecord;

/// What the guest did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// The processes, in the order in which they were started.
    pub processes: Vec<ProcessRecord>,
    /// How many more processes there were.
    pub more_processes: u64,
    /// The programs that were started, by path.
    pub programs: Vec<ProgramRecord>,
    /// How many starts of further programs there were.
    pub more_programs: u64,
    /// The files that were used, by path.
    pub files: Vec<FileRecord>,
    /// How many uses of further files there were.
    pub more_files: u64,
    /// What it asked about (`access(2)`), by path.
    pub asked: Vec<AskRecord>,
    /// How many more questions there were.
    pub more_asked: u64,
    /// Those questions, by kind.
    #[serde(default)]
    pub more_asked_by_kind: Vec<MoreOfKind>,
    /// What wanted to leave the sandbox.
    pub connections: Vec<ConnectionRecord>,
    /// How many further attempts to leave the sandbox there were.
    pub more_connections: u64,
    /// How many of those were denied.
    #[serde(default)]
    pub more_connections_denied: u64,
    /// What the policy denied.
    pub denied: Vec<Denial>,
    /// How many more denials there were.
    pub more_denied: u64,
    /// Those denials, by kind.
    #[serde(default)]
    pub more_denied_by_kind: Vec<MoreOfKind>,
    /// What it looked for and did not find, or was not let to, places of secrets first.
    #[serde(default)]
    pub looked_for: Vec<LookedFor>,
    /// How often it looked in vain for further paths.
    #[serde(default)]
    pub more_looked_for: u64,
    /// The same, by what such paths hold.
    #[serde(default)]
    pub more_looked_for_by_kind: Vec<MoreOfKind>,
}

impl Activity {
    /// How many things it was kept from: uses of files and programs, and destinations.
    pub fn n_denied(&self) -> u64 {
        let blocked = self.connections.iter().filter(|record| record.is_blocked()).count();
        let known = u64::try_from(self.denied.len().saturating_add(blocked)).unwrap_or(u64::MAX);
        known.saturating_add(self.more_denied).saturating_add(self.more_connections_denied)
    }
}

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// Its id inside.
    pub pid: u32,
    /// Its parent's id when it was started; 1 for the first process.
    pub parent: u32,
    /// When it was started, counted from the start of the sandbox.
    pub started: Duration,
    /// When it ended.
    pub ended: Option<Duration>,
    /// The programs that it ran, one after the other. None for a process that only goes on with
    /// its parent's program.
    pub commands: Vec<Command>,
    /// How many more programs it ran.
    pub more_commands: u64,
    /// How it ended.
    pub end: Option<ProcessEnd>,
    /// CPU time as user.
    pub user_time: Duration,
    /// CPU time in the host's kernel.
    pub system_time: Duration,
}

/// A program with its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The executable, without links in its path.
    pub program: String,
    /// The arguments, the name by which it was called first.
    pub arguments: Vec<String>,
    /// Arguments were left out or cut, for there were too many bytes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessEnd {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(u32),
    /// With the sandbox, whose first process had ended.
    WithSandbox,
}

/// A program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramRecord {
    /// The executable, without links in its path.
    pub path: String,
    /// How often it was started.
    pub times: u64,
}

/// A file or folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Its path, without links in it.
    pub path: String,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Whether it was opened to be read, or listed.
    pub is_read: bool,
    /// What became of it.
    pub fate: FileFate,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileFate {
    /// Nothing.
    Unchanged,
    /// It was not there before.
    Created,
    /// It was opened to be written, or its metadata were changed.
    Changed,
    /// It is gone.
    Removed,
    /// It was made and is gone again.
    Temporary,
}

/// What somebody wanted to do with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathUse {
    /// Read it.
    Read,
    /// Make, change, rename or remove it.
    Write,
    /// Run it.
    Run,
}

impl PathUse {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Run => "run",
        }
    }
}

/// Something that the guest asked about and did not do, or not yet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AskRecord {
    /// What it asked about.
    pub wanted: PathUse,
    /// The path, without links in it.
    pub path: String,
    /// Whether the policy would have let it.
    pub is_allowed: bool,
}

/// A path that the guest looked for in vain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookedFor {
    /// The path as the guest gave it, from the top.
    pub path: String,
    /// What such a path holds, if it is one at which secrets are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// How often.
    pub times: u64,
}

/// What was beyond the bound of a list, of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoreOfKind {
    /// The kind, in words.
    pub kind: String,
    /// How often.
    pub times: u64,
}

/// Something that the policy denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// What was wanted.
    pub wanted: PathUse,
    /// The path, without links in it.
    pub path: String,
    /// How often.
    pub times: u64,
}
