//! The system calls.
//!
//! Start reading at [`table`]: one row per Linux system call says what its number and its
//! arguments are, how well we support it and which function does the work. The dispatcher, the
//! shim's marshalling, the names and arguments of `--trace`, `docs/syscalls.md` and
//! `belljar syscalls` are all made from those rows.
//!
//! Each call or small family has a file of its own, in the folder of the subsystem it belongs to.
//! A file here reads like the man page and leaves the work to the kernel crates.

#![forbid(unsafe_code)]

pub mod argument;
mod events;
mod files;
pub mod handler;
mod ipc;
mod listing;
mod memory;
mod signals;
mod sockets;
mod system;
pub mod table;
mod tasks;
mod time;

pub use argument::{Argument, Kind};
pub use handler::{Body, Registers};
pub use listing::{Coverage, coverage};
pub use table::{SYSCALLS, Status, Syscall, find};
