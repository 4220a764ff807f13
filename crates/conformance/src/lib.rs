//! Measures a sandbox against Linux: the same program natively and inside, and what differs.
//!
//! This crate runs programs and compares; it knows of the sandbox only the command that starts
//! one, so that any launcher can be measured by it.

#![forbid(unsafe_code)]

pub mod process;
