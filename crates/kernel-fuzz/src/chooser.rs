//! Which call comes next.
//!
//! Every kernel first sees a prologue, after which there are objects of every kind. Then calls come
//! alone, or as a sequence of calls about one descriptor or one path, in an order in which
//! programs make them; sometimes one of it is left out, or another one comes between.

use std::collections::VecDeque;

use fastrand::Rng;
use kernel_syscalls::{Body, SYSCALLS, Status, Syscall};

use crate::arguments::Focus;

/// Calls after which there is something to call others on.
const PROLOGUE: [&str; 30] = [
    "openat",
    "socket",
    "socketpair",
    "pipe2",
    "eventfd2",
    "epoll_create1",
    "timerfd_create",
    "signalfd4",
    "memfd_create",
    "inotify_init1",
    "mkdir",
    "open",
    "socket",
    "openat",
    "mq_open",
    "fsopen",
    "landlock_create_ruleset",
    "pidfd_open",
    "msgget",
    "semget",
    "shmget",
    "timer_create",
    "socket",
    "socket",
    "mknod",
    "symlink",
    "link",
    "dup",
    "clone",
    "socketpair",
];

/// Calls that are often made one after the other.
const SEQUENCES: [&[&str]; 24] = [
    &["socket", "setsockopt", "bind", "listen", "accept4", "getsockname", "shutdown", "close"],
    &["socket", "connect", "sendto", "recvfrom", "getpeername", "getsockopt", "close"],
    &["socketpair", "sendmsg", "recvmsg", "sendmmsg", "recvmmsg", "shutdown", "ioctl"],
    &["openat", "write", "lseek", "read", "fstat", "ftruncate", "fallocate", "fsync", "close"],
    &["openat", "pwritev2", "preadv2", "copy_file_range", "sendfile", "splice", "tee", "vmsplice"],
    &["mkdir", "chmod", "rename", "openat", "getdents64", "renameat2", "rmdir"],
    &["symlink", "readlink", "lstat", "linkat", "unlinkat", "statx", "utimensat"],
    &["epoll_create1", "epoll_ctl", "epoll_ctl", "epoll_wait", "epoll_pwait2", "close"],
    &["inotify_init1", "inotify_add_watch", "creat", "unlink", "read", "inotify_rm_watch"],
    &["timerfd_create", "timerfd_settime", "timerfd_gettime", "read", "poll", "close"],
    &["timer_create", "timer_settime", "timer_gettime", "timer_getoverrun", "timer_delete"],
    &["setxattr", "getxattr", "listxattr", "removexattr", "fsetxattr", "fgetxattr"],
    &["mq_open", "mq_timedsend", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_unlink"],
    &["msgget", "msgsnd", "msgsnd", "msgrcv", "msgctl"],
    &["semget", "semctl", "semop", "semtimedop", "semctl"],
    &["shmget", "shmat", "shmctl", "shmdt"],
    &["memfd_create", "ftruncate", "fcntl", "write", "mmap", "fcntl"],
    &[
        "mount",
        "umount2",
        "fsopen",
        "fsconfig",
        "fsmount",
        "move_mount",
        "open_tree",
        "mount_setattr",
    ],
    &["unshare", "setns", "clone", "sethostname", "pivot_root", "chroot", "chdir"],
    &["rt_sigprocmask", "rt_sigqueueinfo", "signalfd4", "read", "rt_sigtimedwait"],
    &["clone", "wait4", "waitid", "ptrace", "ptrace", "pidfd_open", "pidfd_send_signal"],
    &["setresuid", "setgroups", "capset", "prctl", "openat", "setresgid", "seccomp"],
    &["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "openat"],
    &["open", "flock", "fcntl", "fcntl", "dup2", "close", "close_range"],
];

/// What sequences are about.
const PATHS: [&str; 12] = [
    "/tmp/a",
    "/tmp/b",
    "/tmp/d",
    "/tmp/link",
    "/tmp/socket",
    "/dir/file",
    "/dir",
    "/tmp/fifo",
    "/dev/ptmx",
    "/proc/self/fd/3",
    "/script",
    "d",
];

/// Calls after which there is less to call others on: only now and then.
const ENDERS: [&str; 7] =
    ["exit", "exit_group", "kill", "close_range", "tkill", "rt_sigsuspend", "pause"];

/// Whose calls are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// What the kernel's handlers answer.
    Kernel,
    /// Every row of the table: the shim, the host and the dispatcher answer too.
    Guest,
}

/// A call to be made.
#[derive(Clone, Copy)]
pub struct Choice {
    /// Which.
    pub call: &'static Syscall,
    /// What it is about.
    pub focus: Focus,
}

/// Chooses calls.
pub struct Chooser {
    callables: Vec<&'static Syscall>,
    planned: VecDeque<(&'static Syscall, Focus)>,
}

/// The code behind a call.
pub fn body(call: &Syscall) -> Option<Body> {
    match call.status {
        Status::Full(body) | Status::Partial(body, _) | Status::Stub(body, _) => Some(body),
        Status::Shim(_) | Status::Refused(..) | Status::Missing => None,
    }
}

impl Chooser {
    /// Chooses among those within reach, from the prologue on.
    pub fn new(reach: Reach) -> Self {
        let is_within = |call: &&Syscall| reach == Reach::Guest || body(call).is_some();
        let callables = SYSCALLS.iter().filter(is_within).collect();
        let mut chooser = Self { callables, planned: VecDeque::new() };
        chooser.begin();
        chooser
    }

    /// A kernel is new.
    pub fn begin(&mut self) {
        self.planned.clear();
        self.plan(&PROLOGUE, Focus::default());
    }

    fn plan(&mut self, names: &[&str], focus: Focus) {
        for name in names {
            let found = self.callables.iter().find(|call| call.name == *name);
            self.planned.extend(found.map(|call| (*call, focus)));
        }
    }

    /// The next call; `None` if this one is to be left out.
    pub fn next(&mut self, rng: &mut Rng) -> Option<Choice> {
        if self.planned.is_empty() && rng.u8(..6) == 0 {
            let names = rng.choice(&SEQUENCES).copied().unwrap_or_default();
            let focus = Focus {
                descriptor: Some(rng.u64(..28)).filter(|_| rng.u8(..8) != 0),
                path: rng.choice(&PATHS).copied().filter(|_| rng.u8(..8) != 0),
            };
            self.plan(names, focus);
        }
        let comes_between = rng.u8(..12) == 0;
        let planned = if comes_between { None } else { self.planned.pop_front() };
        let (call, focus) = match planned {
            Some(planned) => planned,
            None => (*rng.choice(&self.callables)?, Focus::default()),
        };
        let is_wanted = !ENDERS.contains(&call.name) || rng.u8(..40) == 0;
        is_wanted.then_some(Choice { call, focus })
    }
}
