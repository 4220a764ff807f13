//! A copy of this process.

#![expect(unsafe_code, reason = "fork")]

use std::io;

use rustix::process::Pid;

/// Which of the two processes returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forked {
    /// The one that called, with the id of the other.
    Parent(Pid),
    /// The copy.
    Child,
}

/// Copies this process, which must have one thread only: other threads may hold locks that nobody
/// in the copy would ever release.
pub fn fork() -> io::Result<Forked> {
    let n_threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if n_threads != 1 {
        return Err(io::Error::other("a process with several threads cannot be copied"));
    }
    // SAFETY: there is one thread, as just seen, so that the child may do anything.
    match unsafe { libc::fork() } {
        0 => Ok(Forked::Child),
        pid => Pid::from_raw(pid)
            .filter(|_| pid > 0)
            .map(Forked::Parent)
            .ok_or_else(io::Error::last_os_error),
    }
}
