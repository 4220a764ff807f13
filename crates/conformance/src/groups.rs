//! What a test program is about, by its name.

use serde::{Deserialize, Serialize};

/// A part of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Processes, threads, credentials, limits.
    Processes,
    /// Files, folders, mounts.
    Files,
    /// Address spaces.
    Memory,
    /// Signals.
    Signals,
    /// `poll`, `epoll`, `select`, event descriptors.
    Polling,
    /// Sockets.
    Sockets,
    /// Terminals.
    Terminals,
    /// Clocks and timers.
    Time,
    /// Pipes, System V, message queues, futexes.
    Ipc,
    /// `/proc` and `/sys`.
    Proc,
    /// Everything else.
    Other,
}

impl Group {
    /// Every group, in the order of reports.
    pub const ALL: [Self; 11] = [
        Self::Processes,
        Self::Files,
        Self::Memory,
        Self::Signals,
        Self::Polling,
        Self::Sockets,
        Self::Terminals,
        Self::Time,
        Self::Ipc,
        Self::Proc,
        Self::Other,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Processes => "processes",
            Self::Files => "files",
            Self::Memory => "memory",
            Self::Signals => "signals",
            Self::Polling => "polling",
            Self::Sockets => "sockets",
            Self::Terminals => "terminals",
            Self::Time => "time",
            Self::Ipc => "IPC",
            Self::Proc => "proc",
            Self::Other => "other",
        }
    }

    /// The group of a program. The words are looked for in this order, since a name such as
    /// `socket_unix_poll` is about sockets before it is about polling.
    pub fn of_program(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let found = WORDS.iter().find(|(_, words)| words.iter().any(|word| name.contains(word)));
        found.map_or(Self::Other, |(group, _)| *group)
    }
}

const WORDS: &[(Group, &[&str])] = &[
    (
        Group::Sockets,
        &[
            "socket", "accept", "network", "tcp_", "udp", "netlink", "packet", "raw_", "tun",
            "iptables", "ip6", "ping", "connect_",
        ],
    ),
    (Group::Terminals, &["pty", "tty", "terminal"]),
    // Before the file system of that name.
    (Group::Memory, &["process_vm"]),
    (Group::Processes, &["processes"]),
    (Group::Proc, &["proc", "sysfs"]),
    (Group::Polling, &["poll", "select", "eventfd", "signalfd", "timerfd", "inotify", "events"]),
    (Group::Signals, &["sig", "kill", "alarm", "pause", "fault"]),
    (Group::Time, &["time", "clock", "sleep"]),
    (
        Group::Ipc,
        &[
            "pipe",
            "fifo",
            "semaphore",
            "sem",
            "msgqueue",
            "mq",
            "shm",
            "futex",
            "ipc",
            "splice",
            "tee",
            "vmsplice",
        ],
    ),
    (
        Group::Memory,
        &[
            "mmap",
            "mremap",
            "munmap",
            "mprotect",
            "madvise",
            "mincore",
            "mlock",
            "msync",
            "brk",
            "memory",
            "memfd",
            "membarrier",
            "vm",
            "mempolicy",
        ],
    ),
    (
        Group::Processes,
        &[
            "task",
            "capabilities",
            "keys",
            "setns",
            "fork",
            "clone",
            "exec",
            "wait",
            "exit",
            "thread",
            "prctl",
            "priority",
            "rlimit",
            "uidgid",
            "cred",
            "caps",
            "chroot",
            "getcpu",
            "affinity",
            "sched",
            "rseq",
            "robust",
            "concurrency",
            "ptrace",
            "pid",
            "session",
            "setgid",
            "rusage",
            "vfork",
            "cgroup",
            "personality",
            "limits",
            "groups",
            "unshare",
            "seccomp",
        ],
    ),
    (
        Group::Files,
        &[
            "file",
            "acl",
            "aio",
            "landlock",
            "pivot_root",
            "uring",
            "open",
            "read",
            "write",
            "stat",
            "dir",
            "link",
            "mount",
            "access",
            "chdir",
            "chmod",
            "chown",
            "creat",
            "dup",
            "fcntl",
            "flock",
            "fsync",
            "getdents",
            "ioctl",
            "lseek",
            "mknod",
            "rename",
            "symlink",
            "sync",
            "truncate",
            "umask",
            "unlink",
            "utimes",
            "xattr",
            "dev",
            "sendfile",
            "copy_range",
            "fallocate",
            "fadvise",
            "tmpfs",
            "overlay",
            "fd",
            "path",
            "verity",
            "fuse",
            "bad",
            "partial",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_that_fits_decides() {
        assert_eq!(Group::of_program("socket_unix_poll_test"), Group::Sockets);
        assert_eq!(Group::of_program("sigaltstack_test"), Group::Signals);
        assert_eq!(Group::of_program("memory-mmap"), Group::Memory);
        assert_eq!(Group::of_program("tasks-fork"), Group::Processes);
        assert_eq!(Group::of_program("getrandom_test"), Group::Other);
    }
}
