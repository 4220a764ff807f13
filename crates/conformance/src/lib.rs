//! Measures a sandbox against Linux: the same program natively and inside, and what differs.
//!
//! [`suite::run`] runs a folder of test programs, case by case where a program can list its cases,
//! and yields [`results::Results`]; [`report`] makes pages of them; [`trace`] and [`needs`] say
//! which system calls a program uses and how well they are supported; [`interpreters`] and
//! [`usage`] say so of interpreters and skills. A case counts only if it passes natively.
//!
//! This crate runs programs and compares; it knows of the sandbox only the command that starts
//! one, so that any launcher can be measured by it.

#![forbid(unsafe_code)]

pub mod exercise;
pub mod groups;
pub mod interpreters;
pub mod launcher;
mod logs;
pub mod matrix;
pub mod needs;
pub mod page;
pub mod process;
pub mod protocol;
pub mod reasons;
pub mod report;
pub mod results;
mod side;
pub mod suite;
pub mod trace;
pub mod usage;
