//! The backend `kernel`: starts and drives a kernel process.
//!
//! [`KernelBackend`] forks a kernel process per sandbox ([`sandbox_handle`]). That process sets
//! itself up ([`kernel_process`]), builds the tree of files ([`tree`]), starts the first program
//! ([`first_program`]), and then does nothing but answer guests: [`engine`].

#![forbid(unsafe_code)]

mod ahead;
mod border;
mod capabilities;
pub mod control;
mod control_group;
mod engine;
mod first_program;
mod held_places;
pub mod kernel_filter;
mod kernel_process;
mod limits;
mod lockdown;
mod machine;
mod namespaces;
mod porter;
mod results;
mod sandbox_handle;
mod signals;
mod staging;
mod supervision;
mod terminal_jobs;
mod trace;
mod tree;

use sandbox::{Backend, CapabilityReport, Sandbox, StartError, Streams};
use sandbox_spec::{Change, SandboxSpec};

/// The backend with a user-space kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelBackend;

impl KernelBackend {
    /// The backend.
    pub fn new() -> Self {
        Self
    }
}

/// Its name in `--backend`.
const NAME: &str = "kernel";

impl Backend for KernelBackend {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> CapabilityReport {
        capabilities::report()
    }

    fn start(&self, spec: &SandboxSpec, streams: Streams) -> Result<Box<dyn Sandbox>, StartError> {
        sandbox_handle::start(spec, streams)
    }

    fn kept_changes(&self, spec: &SandboxSpec) -> Result<Vec<Change>, StartError> {
        sandbox_handle::kept_changes(spec)
    }
}
