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
    fn wait(&mut self) -> Result<ExitReport, WaitError> {
        self.wait_with(&mut |_| {})
    }

    /// Like [`wait`](Self::wait), for whoever shares a terminal with the guest: `tell` hears of
    /// what a shell would have to know of its job.
    fn wait_with(&mut self, tell: &mut dyn FnMut(TerminalEvent)) -> Result<ExitReport, WaitError>;

    /// What went over the border of the sandbox, and what was kept from it, in the order in which
    /// it was first seen. Complete once [`wait`](Self::wait) has returned, and empty before.
    fn connections(&self) -> &[ConnectionRecord];

    /// A handle for another thread to use while this one waits.
    fn control(&self) -> Box<dyn Control>;
}

/// What a guest does with the terminal that it was started on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalEvent {
    /// It wants what is typed, or to have it treated otherwise. [`Control::give_keys`] answers.
    KeysWanted,
    /// Its first process was stopped, as by Ctrl-Z. A `SIGCONT` continues it.
    Stopped,
}

/// Acts on a running sandbox from beside it. On one that has ended nothing happens.
pub trait Control: Send {
    /// Sends a signal to the guest. What a terminal makes (`SIGINT`, `SIGQUIT`, `SIGTSTP`,
    /// `SIGWINCH`) goes to the foreground processes of the guest's terminal if a standard stream is
    /// one, else to the group of the first process, and `SIGCONT` to that group; everything else
    /// goes to the first process.
    fn signal(&self, signal: u8) -> Result<(), ControlError>;

    /// Says who has the keys of the terminal: the guest, for which the terminal is raw, and so
    /// many bytes that wait were shown as they were typed; or (`None`) not the guest.
    fn give_keys(&self, n_shown: Option<usize>) -> Result<(), ControlError>;

    /// Ends the sandbox at once, with everything inside.
    fn kill(&self) -> Result<(), ControlError>;

    /// Another handle of the same sandbox.
    fn clone_box(&self) -> Box<dyn Control>;
}
