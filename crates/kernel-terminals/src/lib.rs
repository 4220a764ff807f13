//! Terminals, pseudo terminals and the line discipline.
//!
//! Start with [`discipline`]: the pure part, from keys to lines. [`Terminal`] puts it between a
//! program and a [`Driver`]: the master of a pseudo terminal ([`pty`]) or the terminal that the
//! sandbox itself was started on ([`host`]). [`Terminals`] is the set of all of them, which
//! `/dev/ptmx`, `/dev/pts` and `/dev/tty` show.
//!
//! This crate knows no process: [`JobControl`] is what it asks of the crate above.

#![forbid(unsafe_code)]

pub mod devpts;
pub mod discipline;
mod driver;
pub mod host;
mod job_control;
pub mod keyboard;
pub mod pty;
mod terminal;
mod terminals;

pub use driver::Driver;
pub use job_control::{Caller, JobControl};
pub use terminal::{Terminal, TerminalFile};
pub use terminals::Terminals;

#[cfg(test)]
mod tests;
