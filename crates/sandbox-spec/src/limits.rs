//! What a sandbox may use.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ByteSize;

/// Upper bounds. `None` means that only the host's own limits hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Memory of all guest processes and memory file systems together.
    pub memory: Option<ByteSize>,
    /// Processes and threads alive at one time.
    pub processes: Option<u32>,
    /// Open files of one process: the hard limit of `RLIMIT_NOFILE`. The soft limit is 1024, or
    /// this where it is less.
    pub open_files: Option<u32>,
    /// CPU time of all guest processes together.
    pub cpu_time: Option<Duration>,
    /// Time from the start to the end of the sandbox.
    pub timeout: Option<Duration>,
    /// Bytes in memory overlays and memory file systems together.
    pub disk: Option<ByteSize>,
    /// The size of one file: `RLIMIT_FSIZE`.
    pub file_size: Option<ByteSize>,
    /// Bytes written to standard output and standard error together.
    pub output: Option<ByteSize>,
}

/// The least memory with which a program starts.
pub const LEAST_MEMORY: ByteSize = ByteSize::from_mib(1);
/// The least room for writes: what the sandbox itself makes has to find room.
pub const LEAST_DISK: ByteSize = ByteSize(64 << 10);
/// The least size of one file, and of a memory file system: one page.
pub const LEAST_FILE_SIZE: ByteSize = ByteSize(4096);
/// The least output.
pub const LEAST_OUTPUT: ByteSize = ByteSize(1024);

impl Default for Limits {
    /// Wide enough for every program known to us, narrow enough that a fork bomb ends inside.
    fn default() -> Self {
        Self {
            memory: None,
            processes: Some(4096),
            open_files: Some(65_536),
            cpu_time: None,
            timeout: None,
            disk: None,
            file_size: None,
            output: None,
        }
    }
}
