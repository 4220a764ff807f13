//! Processes and threads: clone flags, wait options, prctl, limits, capabilities, usage.

pub mod bpf;
mod capabilities;
mod clone;
mod limits;
pub mod prctl;
pub mod ptrace;
mod scheduling;
pub mod seccomp;
mod status;
mod usage;

pub use capabilities::{CapData, CapHeader, cap_version};
pub use clone::{CLONE_ARGS_SIZE_VER0, CLONE_ARGS_SIZE_VER2, CloneArgs, CloneFlags};
pub use limits::{RLIM_INFINITY, Rlimit, rlimit};
pub use scheduling::{
    SCHED_ATTR_SIZE_VER0, SchedAttr, SchedParam, priority_target, sched, sched_flag,
};
pub use status::{ExitStatus, WaitOptions, id_type};
pub use usage::{Rusage, Tms, usage_of};
