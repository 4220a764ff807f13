//! Processes and threads: one file per call or small family.

mod bpf;
mod capabilities;
mod clone;
mod exec;
mod exit;
mod group;
mod identity;
mod kcmp;
mod limits;
mod namespaces;
mod personality;
mod pidfd;
mod prctl;
mod priority;
mod ptrace;
mod robust_list;
mod scheduling;
mod seccomp;
mod usage;
mod wait;

pub(crate) use bpf::bpf;
pub(crate) use capabilities::{capget, capset};
pub(crate) use clone::{clone, clone3, fork, vfork};
pub(crate) use exec::{execve, execveat};
pub(crate) use exit::{exit, exit_group};
pub(crate) use group::{getpgid, getpgrp, getpid, getppid, getsid, gettid, setpgid, setsid};
pub(crate) use identity::{
    getegid, geteuid, getgid, getgroups, getresgid, getresuid, getuid, setfsgid, setfsuid, setgid,
    setgroups, setregid, setresgid, setresuid, setreuid, setuid,
};
pub(crate) use kcmp::kcmp;
pub(crate) use limits::{getrlimit, prlimit64, setrlimit};
pub(crate) use namespaces::{setns, unshare};
pub(crate) use personality::personality;
pub(crate) use pidfd::{pidfd_getfd, pidfd_open, pidfd_send_signal};
pub(crate) use prctl::prctl;
pub(crate) use priority::{getpriority, ioprio_get, ioprio_set, setpriority};
pub(crate) use ptrace::ptrace;
pub(crate) use robust_list::get_robust_list;
pub(crate) use scheduling::{
    sched_get_priority_max, sched_get_priority_min, sched_getaffinity, sched_getattr,
    sched_getparam, sched_getscheduler, sched_rr_get_interval, sched_setaffinity, sched_setattr,
    sched_setparam, sched_setscheduler,
};
pub(crate) use seccomp::seccomp;
pub(crate) use usage::{getrusage, times};
pub(crate) use wait::{wait4, waitid};

#[cfg(test)]
mod tests;
