#![expect(unsafe_code, reason = "unshare can split a thread from its process")]
//! Leaving the host's namespaces.

use std::io;

use rustix::thread::UnshareFlags;

/// A kind of namespace that a process can leave without affecting how its own threads share
/// memory and descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// Users and capabilities.
    User,
    /// Process ids, of the children to come.
    Pid,
    /// Mounts.
    Mount,
    /// Network interfaces.
    Network,
    /// System V IPC and POSIX message queues.
    Ipc,
}

/// Moves the calling thread into new namespaces of these kinds, all at once.
pub fn enter_new_namespaces(kinds: &[Namespace]) -> io::Result<()> {
    let flags = kinds.iter().map(|kind| match kind {
        Namespace::User => UnshareFlags::NEWUSER,
        Namespace::Pid => UnshareFlags::NEWPID,
        Namespace::Mount => UnshareFlags::NEWNS,
        Namespace::Network => UnshareFlags::NEWNET,
        Namespace::Ipc => UnshareFlags::NEWIPC,
    });
    // SAFETY: none of these flags is `CLONE_FILES`, the one that would give threads of one process
    // different descriptors behind the same numbers.
    unsafe { rustix::thread::unshare_unsafe(flags.collect()) }.map_err(Into::into)
}
