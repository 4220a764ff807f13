//! How a sandbox ended.

use std::path::PathBuf;
use std::time::Duration;

use sandbox_spec::{Activity, Change, MoreConnections, os_text};
use serde::{Deserialize, Serialize};

use crate::LayerReport;
/// How the guest's first process ended, and with it the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "end")]
pub enum End {
    /// It exited with this code.
    Exited {
        /// The code.
        code: u8,
    },
    /// A signal killed it.
    Signaled {
        /// The signal's number.
        signal: u8,
        /// Whether Linux would have written a core file for this signal.
        core: bool,
    },
    /// The time of the specification was over.
    TimedOut,
    /// It used more CPU time than the specification allows.
    CpuTimeExceeded,
    /// It used more memory than the specification allows.
    MemoryExceeded,
    /// It wrote more than the specification allows.
    OutputExceeded,
    /// [`crate::Control::kill`] ended it.
    Killed,
}

impl End {
    /// The exit code of `belljar run`: the guest's own, 128 + n for a signal, 124 for a time-out
    /// as `timeout(1)` has it, 137 for what was killed because of another limit.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Exited { code } => *code,
            Self::Signaled { signal, .. } => signal.saturating_add(128),
            Self::TimedOut => 124,
            Self::CpuTimeExceeded | Self::MemoryExceeded | Self::OutputExceeded | Self::Killed => {
                137
            }
        }
    }
}

/// What a sandbox used. Zero where a backend cannot know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// From the start of the first process to its end.
    pub wall_time: Duration,
    /// CPU time of all guest processes, in user mode.
    pub user_time: Duration,
    /// CPU time of all guest processes, in the host's kernel.
    pub system_time: Duration,
    /// CPU time of Belljar's own kernel process.
    pub kernel_time: Duration,
    /// The most memory in use at one time, in bytes.
    pub peak_memory: u64,
    /// System calls that reached the kernel process.
    pub system_calls: u64,
    /// Processes started, the first included.
    pub processes: u64,
    /// Whether the guest wanted to write more than the limit of the disk leaves, and was refused.
    pub is_disk_full: bool,
}

/// How a sandbox ended and what it used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExitReport {
    /// How it ended.
    #[serde(flatten)]
    pub end: End,
    /// What it used.
    pub usage: Usage,
    /// What it created, changed and removed, if the specification asked for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<Change>>,
    /// What should have been copied to the host and was not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_copied: Vec<NotCopied>,
    /// What it did, if that was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<Box<Activity>>,
    /// Processes, the first not among them, that were killed because there was too little memory.
    /// The first few of them if there were many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_kills: Vec<MemoryKill>,
    /// How many processes the host killed because their control group had no memory left.
    #[serde(skip_serializing_if = "is_zero")]
    pub memory_kills_by_host: u64,
    /// How many lines the audit log should have and has not: it was full, or its disk was.
    #[serde(skip_serializing_if = "is_zero")]
    pub audit_lost: u64,
    /// How often something wanted to leave that there was no room to record.
    #[serde(skip_serializing_if = "is_nothing")]
    pub more_connections: MoreConnections,
    /// What held it: every layer, each once.
    pub containment: Vec<LayerReport>,
}

fn is_nothing(more: &MoreConnections) -> bool {
    *more == MoreConnections::default()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the serializer wants it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A process that was killed because there was too little memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryKill {
    /// Its id inside.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// What it held, in bytes.
    pub bytes: u64,
}

/// Something that should have been copied to the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotCopied {
    /// The path inside.
    #[serde(with = "os_text::path")]
    pub path: PathBuf,
    /// Why it was not.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        assert_eq!(End::Exited { code: 3 }.exit_code(), 3);
        assert_eq!(End::Signaled { signal: 11, core: true }.exit_code(), 139);
        assert_eq!(End::TimedOut.exit_code(), 124);
    }
}
