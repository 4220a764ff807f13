//! What the threads of a process share.

use linux_abi::Pid;

/// A guest process (a thread group, in Linux's words).
pub struct Process {
    /// The process id, which is also the id of its first thread.
    pub pid: Pid,
}
