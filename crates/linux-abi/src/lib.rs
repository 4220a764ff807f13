//! The Linux interface as a guest sees it: error numbers, flag words, structures.
//!
//! This crate holds vocabulary and no behaviour. It does no I/O, allocates nothing and has no
//! `unsafe`. Everything above it speaks in these types instead of bare integers. One module per
//! subject, named as the header or man page names it.

#![no_std]
#![forbid(unsafe_code)]

mod errno;
pub mod events;
pub mod files;
pub mod memory;
mod result;
pub mod signals;
pub mod sockets;
pub mod system;
pub mod tasks;
pub mod terminals;
pub mod time;

pub use errno::Errno;
pub use result::{Interrupted, Restart, SysResult, WaitResult};

/// A file descriptor number that a guest has named. It may or may not be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fd(pub i32);

/// A process or thread id in the sandbox's own numbering. It has nothing to do with host ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pid(pub u32);
