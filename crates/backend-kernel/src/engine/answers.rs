//! Which answers guests may keep, and which calls end that.
//!
//! See [`kernel_core::facts`]. A call counts as a change unless it is listed here; so a call that
//! nobody thought of costs speed, never truth.

use std::cell::Cell;
use std::sync::atomic::Ordering::Release;

use channel_abi::staging::CALLS;
use kernel_core::{facts, kept_events};
use linux_abi::{Errno, SysResult};

/// Questions about files whose answers the shim can keep.
const QUESTIONS: &[&str] = &[
    "access",
    "faccessat",
    "faccessat2",
    "fstat",
    "lstat",
    "newfstatat",
    "readlink",
    "readlinkat",
    "stat",
    "statx",
];

/// Calls after which a descriptor may stand for something else.
const DESCRIPTOR_CALLS: &[&str] = &["close", "close_range", "dup2", "dup3"];

/// Calls that change names or attributes of files, or make directories, and leave all directories that
/// are there where they are, for the same people. Where one of them does more, it says so itself.
#[rustfmt::skip]
const CHANGES_FILES: &[&str] = &[
    "fallocate", "ftruncate", "futimesat", "link", "linkat", "mkdir", "mkdirat", "mknod",
    "mknodat", "symlink", "symlinkat", "truncate", "unlink", "utime", "utimensat", "utimes",
];

/// Calls that take nothing away from what is ready, besides the questions.
const LEAVES_READY: &[&str] = &[
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "poll",
    "ppoll",
    "pselect6",
    "sched_yield",
    "select",
];

/// Calls that change neither names nor attributes nor who sees them, but for what the file
/// systems themselves report: those that read and write files, wait, or concern other things.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "accept", "accept4", "alarm", "bind", "brk", "clock_getres", "clock_gettime",
    "clock_nanosleep", "clone", "clone3", "connect", "copy_file_range", "creat", "dup",
    "epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait",
    "eventfd", "eventfd2", "execve", "execveat", "exit", "exit_group", "fadvise64", "fcntl",
    "fdatasync", "fgetxattr", "flistxattr", "flock", "fork", "fstatfs", "fsync", "futex",
    "getcwd", "getdents", "getdents64", "getegid", "geteuid", "getgid", "getgroups",
    "getitimer", "getpeername", "getpgid", "getpgrp", "getpid", "getppid", "getpriority",
    "getrandom", "getresgid", "getresuid", "getrlimit", "getrusage", "getsid", "getsockname",
    "getsockopt", "gettid", "gettimeofday", "getuid", "getxattr", "inotify_add_watch",
    "inotify_init", "inotify_init1", "inotify_rm_watch", "ioctl", "kill", "lgetxattr", "listen",
    "listxattr", "llistxattr", "lseek", "madvise", "memfd_create", "mincore", "mlock", "mmap",
    "mprotect", "mremap", "msync", "munmap", "nanosleep", "open", "openat", "openat2", "pause",
    "pidfd_open", "pidfd_send_signal", "pipe", "pipe2", "poll", "ppoll", "pread64", "preadv",
    "preadv2", "prlimit64", "pselect6", "pwrite64", "pwritev", "pwritev2", "read", "readahead",
    "readv", "recvfrom", "recvmmsg", "recvmsg", "restart_syscall", "rt_sigaction",
    "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigsuspend", "rt_sigtimedwait",
    "rt_tgsigqueueinfo", "sched_get_priority_max", "sched_get_priority_min",
    "sched_getaffinity", "sched_getparam", "sched_getscheduler", "sched_yield", "select",
    "sendfile", "sendmmsg", "sendmsg", "sendto", "set_robust_list", "set_tid_address",
    "setitimer", "setsockopt", "shutdown", "signalfd", "signalfd4", "socket", "socketpair",
    "splice", "statfs", "sync_file_range", "sysinfo", "tee", "tgkill", "time", "timer_create",
    "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime", "timerfd_create",
    "timerfd_gettime", "timerfd_settime", "times", "tkill", "umask", "uname", "vfork",
    "vmsplice", "wait4", "waitid", "write", "writev",
];

#[derive(Clone, Copy, Default)]
struct Effect {
    is_question: bool,
    is_harmless: bool,
    changes_files: bool,
    changes_descriptors: bool,
    leaves_ready: bool,
}

/// What each call does to what guests have kept.
pub struct Answers {
    effects: Box<[Effect; CALLS]>,
    published: Cell<Option<facts::Facts>>,
}

impl Answers {
    /// From the lists above.
    pub fn new() -> Self {
        let mut effects = Box::new([Effect::default(); CALLS]);
        for (number, effect) in effects.iter_mut().enumerate() {
            let Some(call) = kernel_syscalls::find(number as u64) else { continue };
            effect.is_question = QUESTIONS.contains(&call.name);
            effect.changes_descriptors = DESCRIPTOR_CALLS.contains(&call.name);
            effect.changes_files = CHANGES_FILES.contains(&call.name);
            effect.leaves_ready = effect.is_question || LEAVES_READY.contains(&call.name);
            effect.is_harmless =
                effect.is_question || effect.changes_descriptors || HARMLESS.contains(&call.name);
        }
        Self { effects, published: Cell::new(None) }
    }

    fn effect(&self, number: u32) -> Option<Effect> {
        self.effects.get(number as usize).copied()
    }

    /// A call has run, or a part of it.
    pub fn note_change(&self, number: u32) {
        let effect = self.effect(number);
        if !effect.is_some_and(|effect| effect.leaves_ready) {
            kept_events::may_be_taken();
        }
        // Requests of the shim itself have no entry, and change no names.
        let Some(effect) = effect else { return };
        if effect.changes_descriptors {
            facts::descriptors_changed();
        }
        if effect.changes_files {
            facts::files_changed();
            facts::descriptors_changed();
        } else if !effect.is_harmless {
            facts::changed();
            facts::descriptors_changed();
        }
    }

    /// Whether the answer to this call, which has just been given, can be kept.
    pub fn may_be_kept(&self, number: u32, result: &SysResult<u64>) -> bool {
        facts::is_steady()
            && matches!(result, Ok(_) | Err(Errno::ENOENT))
            && self.effect(number).is_some_and(|effect| effect.is_question)
    }

    /// Tells guests, before anybody gets to know of the change in another way.
    pub fn publish(&self, shared: &channel_abi::Facts) {
        let now = facts::now();
        if self.published.replace(Some(now)) != Some(now) {
            shared.names.store(now.names, Release);
            shared.descriptors.store(now.descriptors, Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_a_call() {
        let mut known = std::collections::HashSet::new();
        for number in 0..CALLS as u64 {
            known.extend(kernel_syscalls::find(number).map(|call| call.name));
        }
        for list in [QUESTIONS, DESCRIPTOR_CALLS, LEAVES_READY, HARMLESS, CHANGES_FILES] {
            for name in list {
                assert!(known.contains(name), "{name}");
            }
        }
    }
}
