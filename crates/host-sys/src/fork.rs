//! A copy of this process, in namespaces of its own where the host permits.

#![expect(unsafe_code, reason = "clone")]

use std::io;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::Namespace;

/// Which of the two processes returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forked {
    /// The one that called, with the id of the other.
    Parent(Pid),
    /// The copy.
    Child,
}

fn clone_flag(kind: Namespace) -> libc::c_int {
    match kind {
        Namespace::User => libc::CLONE_NEWUSER,
        Namespace::Pid => libc::CLONE_NEWPID,
        Namespace::Mount => libc::CLONE_NEWNS,
        Namespace::Network => libc::CLONE_NEWNET,
        Namespace::Ipc => libc::CLONE_NEWIPC,
    }
}

/// Copies this process, which must have one thread only: other threads may hold locks that nobody
/// in the copy would ever release. The copy is in new namespaces of these kinds, and the first
/// process of a new pid namespace.
pub fn fork_into(namespaces: &[Namespace]) -> io::Result<Forked> {
    if !is_alone() {
        return Err(io::Error::other("a process with several threads cannot be copied"));
    }
    let flags = namespaces.iter().fold(libc::SIGCHLD, |flags, kind| flags | clone_flag(*kind));
    // SAFETY: without CLONE_VM and with no stack of its own this is a fork; there is one thread, as
    // just seen, so that the child may do anything.
    let pid = unsafe { libc::syscall(libc::SYS_clone, i64::from(flags), 0, 0, 0, 0) };
    match i32::try_from(pid) {
        Ok(0) => Ok(Forked::Child),
        Ok(pid) if pid > 0 => {
            Pid::from_raw(pid).map(Forked::Parent).ok_or_else(io::Error::last_os_error)
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether this is the first process of a pid namespace, with which all others of it end.
pub fn is_first_process() -> bool {
    rustix::process::getpid().as_raw_nonzero().get() == 1
}

/// Ends this process without taking apart what it has: the host does that at once.
pub fn exit_at_once(code: i32) -> ! {
    // SAFETY: no handler and no destructor runs, and none of ours has to.
    unsafe { libc::_exit(code) }
}

/// Whether this is the only thread, now or soon: a thread that has been joined may take the host a
/// moment more to end.
fn is_alone() -> bool {
    const PATIENCE: Duration = Duration::from_millis(200);
    let deadline = Instant::now() + PATIENCE;
    loop {
        if std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count) == 1 {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Tells the host who the users of a child's new user namespace are: themselves, all of them if
/// this process may say so, else the one that this process runs as.
pub fn map_users(child: Pid) -> io::Result<()> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let folder = format!("/proc/{}", child.as_raw_nonzero());
    let write = |file: &str, text: &str| std::fs::write(format!("{folder}/{file}"), text);
    let everyone = "0 0 4294967295";
    if uid == 0 && write("uid_map", everyone).is_ok() {
        return write("gid_map", everyone);
    }
    write("setgroups", "deny")?;
    write("uid_map", &format!("{uid} {uid} 1"))?;
    write("gid_map", &format!("{gid} {gid} 1"))
}
