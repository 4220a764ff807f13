//! Processes, threads, signals, credentials, sessions, and the timers of a process.
//!
//! Start with [`Thread`]: every system call is made for one. [`Process`] is what the threads of a
//! process share, [`Kernel`] is what all processes share. [`machine`] is the border to the host:
//! what the kernel can ask of the host process behind a guest process.

#![forbid(unsafe_code)]

pub mod kernel;
pub mod machine;
pub mod process;
pub mod thread;

pub use kernel::Kernel;
pub use machine::Machine;
pub use process::Process;
pub use thread::Thread;
