//! A sandbox as its user holds it, whatever runs it.
//!
//! A [`Backend`] turns a specification into a running [`Sandbox`]; an [`ExitReport`] says how it
//! ended; a [`CapabilityReport`] says what holds it together on this host. This crate has traits
//! and data only: the backends are crates of their own and are chosen at run time.

#![forbid(unsafe_code)]

mod backend;
mod capabilities;
mod errors;
mod exit;
mod quit;
mod streams;

pub use backend::{Backend, Control, Sandbox, TerminalEvent};
pub use capabilities::{CapabilityReport, LayerReport, LayerState};
pub use errors::{ControlError, ProgramError, StartError, WaitError};
pub use exit::{End, ExitReport, MemoryKill, NotCopied, Usage};
pub use quit::QuitPresses;
pub use sandbox_spec as spec;
pub use streams::Streams;
