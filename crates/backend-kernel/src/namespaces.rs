//! The namespaces of a kernel process.

use std::io;

use host_sys::{Forked, Namespace, fork_into};

/// What is tried, in this order: hosts differ in what they permit.
pub const SETS: [&[Namespace]; 3] = [
    &[Namespace::User, Namespace::Pid, Namespace::Ipc, Namespace::Mount, Namespace::Network],
    &[Namespace::User, Namespace::Pid],
    &[],
];

/// Forks the kernel process into as many new namespaces as the host permits. Returns which.
pub fn fork() -> io::Result<(Forked, &'static [Namespace])> {
    let mut result = Err(io::ErrorKind::Unsupported.into());
    for set in SETS {
        match fork_into(set) {
            Ok(forked) => return Ok((forked, set)),
            Err(error) => result = Err(error),
        }
    }
    result
}
