//! Random and structured system calls against the kernel, without host processes.
//!
//! A [`World`](world::World) is a kernel with some guest threads on plain memory. A round makes a
//! world from a seed and has its threads call whatever the table knows, with arguments made to
//! the table's descriptions, many of them wrong. Nothing may panic, and no call may take long.
//! The same seed gives the same calls.

#![forbid(unsafe_code)]

pub mod arguments;
pub mod memory;
pub mod round;
pub mod tally;
pub mod world;
