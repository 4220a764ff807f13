//! What every part of the kernel shares: waiting, time, guest memory, credentials.
//!
//! The kernel process has one thread that answers guests. A system call that must wait is a
//! future; [`wait::WaitQueue`] is what it waits on, [`executor::Executor`] is what runs it
//! again, [`timers::Timers`] is the clock it may give up by. Guest memory is reached only through
//! [`memory::UserMemory`], and bulk data moves through [`io::Sink`] and [`io::Source`].
//!
//! This crate knows no file, no process and no system call.

#![forbid(unsafe_code)]

pub mod clock_steps;
pub mod credentials;
pub mod disk;
pub mod executor;
pub mod facts;
pub mod host_events;
pub mod io;
pub mod kept_events;
pub mod landlock;
pub mod ledger;
pub mod memory;
pub mod moment;
pub mod supervisor;
pub mod timers;
pub mod user_buffers;
pub mod user_namespace;
pub mod wait;
