//! Measures a sandbox against Linux: the same program natively and inside, and what differs.
//!
//! [`suite::run`] runs a folder of test programs, case by case where a program can list its cases,
//! and yields [`results::Results`]; [`report`] makes pages of them; [`needs`] says which system
//! calls a program uses and how well they are supported. A case counts only if it passes natively.
//!
//! This crate runs programs and compares; it knows of the sandbox only the command that starts
//! one, so that any launcher can be measured by it.

#![forbid(unsafe_code)]

pub mod groups;
pub mod launcher;
pub mod needs;
pub mod process;
pub mod protocol;
pub mod report;
pub mod results;
mod side;
pub mod suite;
