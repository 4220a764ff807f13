//! What every backend does.

use sandbox_spec::{Change, ConnectionRecord, SandboxSpec};

use crate::{CapabilityReport, ControlError, ExitReport, StartError, Streams, WaitError};

/// Something that can run sandboxes.
pub trait Backend {
    /// The name in `--backend`.
    fn name(&self) -> &'static str;

    /// What this backend can promise on this host, found out by trying.
    fn capabilities(&self) -> CapabilityReport;

    /// Starts a sandbox. Returns once the program is loaded and about to run, or has been refused:
    /// a program that cannot be executed is a [`StartError::Program`], never a running sandbox.
    ///
    /// What the specification asks for and this host or backend cannot do is an error, never left
    /// out silently.
    fn start(&self, spec: &SandboxSpec, streams: Streams) -> Result<Box<dyn Sandbox>, StartError>;

    /// What earlier runs left in the folder that the specification keeps writes in, compared with
    /// its root. Nothing is started.
    fn kept_changes(&self, spec: &SandboxSpec) -> Result<Vec<Change>, StartError>;
}

/// A running sandbox. Dropping it ends it, with everything inside.
pub trait Sandbox {
    /// Waits for the end of the guest's first process, and with it of everything inside. The host may
    /// still be taking its processes apart, which is waited for when the sandbox is dropped.
    fn wait(&mut self) -> Result<ExitReport, WaitError>;

    /// What went over the border of the sandbox, and what was kept from it, in the order in which
    /// it was first seen. Complete once [`wait`](Self::wait) has returned, and empty before.
    fn connections(&self) -> &[ConnectionRecord];

    /// A handle for another thread to use while this one waits.
    fn control(&self) -> Box<dyn Control>;
}

/// Acts on a running sandbox from beside it. On one that has ended nothing happens.
pub trait Control: Send {
    /// Sends a signal to the guest. What a terminal makes (`SIGINT`, `SIGQUIT`, `SIGTSTP`,
    /// `SIGWINCH`) goes to the foreground processes of the guest's terminal if standard input is
    /// one; everything else goes to the first process.
    fn signal(&self, signal: u8) -> Result<(), ControlError>;

    /// Ends the sandbox at once, with everything inside.
    fn kill(&self) -> Result<(), ControlError>;

    /// Another handle of the same sandbox.
    fn clone_box(&self) -> Box<dyn Control>;
}
