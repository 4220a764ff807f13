//! The namespaces of a kernel process.

use std::io;

use host_sys::{Forked, Namespace, fork_into};
use sandbox_spec::{NetworkPolicy, SandboxSpec};

/// What is tried, in this order: hosts differ in what they permit.
pub const SETS: [&[Namespace]; 3] = [
    &[Namespace::User, Namespace::Pid, Namespace::Ipc, Namespace::Mount, Namespace::Network],
    &[Namespace::User, Namespace::Pid],
    &[],
];

/// Forks the kernel process into as many new namespaces as the host permits. Returns which.
pub fn fork(spec: &SandboxSpec) -> io::Result<(Forked, Vec<Namespace>)> {
    let leaves = matches!(spec.network, NetworkPolicy::Allow(_) | NetworkPolicy::Open);
    let mut result = Err(io::ErrorKind::Unsupported.into());
    for set in SETS {
        let kinds: Vec<Namespace> = set
            .iter()
            .copied()
            // Connections that leave are made by the kernel process, so it stays in the network.
            .filter(|kind| !(leaves && *kind == Namespace::Network))
            .collect();
        match fork_into(&kinds) {
            Ok(forked) => return Ok((forked, kinds)),
            Err(error) => result = Err(error),
        }
    }
    result
}
