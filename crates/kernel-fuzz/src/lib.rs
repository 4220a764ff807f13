//! Random and structured system calls against the kernel, without host processes.
//!
//! A [`World`](world::World) is a kernel with some guest threads on plain memory. A round makes a
//! world from a seed and has its threads call whatever the table knows, with arguments made to
//! the table's descriptions, many of them wrong. Nothing may panic, and no call may take long.
//! The same seed gives the same calls. [`emit`] writes such calls down for a real guest.
//!
//! [`parsers`] has every parser of bytes of guests and users as a function, for `cargo fuzz` and
//! for the files in `fuzz/corpus`.

#![forbid(unsafe_code)]

pub mod arguments;
pub mod chooser;
pub mod corpus;
pub mod emit;
pub mod memory;
pub mod mutate;
pub mod parsers;
pub mod round;
pub mod tally;
pub mod world;
