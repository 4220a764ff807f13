//! Processes and threads: clone flags, wait options, prctl, limits, capabilities, usage.

mod limits;
mod status;

pub use limits::{RLIM_INFINITY, Rlimit, rlimit};
pub use status::ExitStatus;
