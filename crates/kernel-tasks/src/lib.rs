//! Processes, threads, signals, credentials, sessions, and the timers of a process.
//!
//! Start with [`Thread`]: every system call is made for one. [`Process`] is what the threads of a
//! process share, [`Kernel`] is what all processes share. [`machine`] is the border to the host:
//! what the kernel can ask of the host process behind a guest process. [`signals`] sends, queues
//! and delivers.
//!
//! Who owns whom: the table of ids owns every process until it is reaped, a process owns its
//! threads until they end, and threads and processes own the kernel. These cycles end with the
//! guest processes.

#![forbid(unsafe_code)]

pub mod bpf;
pub mod call_filter;
pub mod cgroup;
mod clock_timer;
pub mod clocks;
pub mod exec;
pub mod group;
pub mod identity;
pub mod ids;
pub mod kernel;
pub mod limits;
pub mod machine;
pub mod mapped_paths;
pub mod namespaces;
pub mod pidfd;
pub mod posix_timer;
pub mod process;
pub mod process_timers;
pub mod ptrace;
pub mod signals;
mod terminal_jobs;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod thread;

pub use group::{ProcessGroup, Session};
pub use kernel::{Kernel, KernelOptions};
pub use machine::{HostFile, Machine};
pub use process::Process;
pub use thread::Thread;
