//! Who may use a terminal now.
//!
//! A terminal knows its session and its foreground group by number. What these are is known above,
//! where processes are: the kernel implements [`JobControl`] and gives it to
//! [`Terminals`](crate::Terminals).

use std::any::Any;
use std::rc::Rc;

use kernel_core::credentials::Credentials;
use kernel_files::OpenFile;
use linux_abi::signals::Signal;
use linux_abi::{Errno, Fd, Interrupted, Pid, Restart, SysResult, WaitResult};

use crate::Terminal;

/// What a terminal asks about the process that calls.
#[derive(Clone)]
pub struct Caller {
    /// Its session.
    pub session: Pid,
    /// Its process group.
    pub group: Pid,
    /// Whether it leads its session.
    pub is_session_leader: bool,
    /// Its controlling terminal.
    pub controlling: Option<Rc<Terminal>>,
    /// Who it is.
    pub credentials: Rc<Credentials>,
}

impl Caller {
    fn is_controlled_by(&self, terminal: &Terminal) -> bool {
        self.controlling.as_deref().is_some_and(|own| std::ptr::eq(own, terminal))
    }

    /// `ENOTTY` unless this is the caller's controlling terminal.
    pub(crate) fn require_control_by(&self, terminal: &Terminal) -> SysResult {
        if self.is_controlled_by(terminal) { Ok(()) } else { Err(Errno::ENOTTY) }
    }
}

/// What terminals need of processes. `caller` is always the `kernel_tasks::Thread` that makes the
/// call, as in [`kernel_files::Ioctl::caller`].
///
/// Signals are sent as the kernel's own, so that no permission is asked. Numbers that name no
/// group or session any more are ignored.
pub trait JobControl {
    /// What is known of the caller.
    fn caller(&self, caller: &dyn Any) -> SysResult<Caller>;

    /// Whether the calling thread blocks the signal or its process ignores it.
    fn ignores(&self, caller: &dyn Any, signal: Signal) -> bool;

    /// Whether no member of the group has a parent in another group of the same session, so that
    /// nobody would continue the group if it stopped.
    fn is_orphaned(&self, group: Pid) -> bool;

    /// The session that the group belongs to; `None` if there is no such group.
    fn session_of_group(&self, group: Pid) -> Option<Pid>;

    /// Sends a signal to every process of a group.
    fn signal_group(&self, group: Pid, signal: Signal);

    /// Sends a signal to the leader of a session.
    fn signal_session_leader(&self, session: Pid, signal: Signal);

    /// Makes this the controlling terminal of every process in the session, or takes it from them.
    fn set_controlling_terminal(&self, session: Pid, terminal: Option<Rc<Terminal>>);

    /// Takes the controlling terminal from the calling process alone (`TIOCNOTTY` of a process
    /// that does not lead its session).
    fn leave_controlling_terminal(&self, caller: &dyn Any);

    /// Gives the calling process a descriptor of the open file (`TIOCGPTPEER`).
    fn add_file(&self, caller: &dyn Any, file: Rc<OpenFile>, close_on_exec: bool) -> SysResult<Fd>;
}

/// Stops a background job that reads from, writes to or changes its controlling terminal.
///
/// Foreground jobs and those with another controlling terminal pass. A group that nobody would
/// continue, and a reader that ignores the signal, get `EIO`; a writer that ignores it passes.
pub(crate) fn check_foreground(
    jobs: &dyn JobControl,
    terminal: &Terminal,
    caller: &dyn Any,
    signal: Signal,
) -> WaitResult {
    let who = jobs.caller(caller)?;
    if !who.is_controlled_by(terminal) {
        return Ok(());
    }
    match terminal.foreground() {
        Some(foreground) if foreground != who.group => {}
        _ => return Ok(()),
    }
    if jobs.ignores(caller, signal) {
        return if signal == Signal::SIGTTIN { Err(Errno::EIO.into()) } else { Ok(()) };
    }
    if jobs.is_orphaned(who.group) {
        return Err(Errno::EIO.into());
    }
    jobs.signal_group(who.group, signal);
    Err(Interrupted::Signal(Restart::IfAsked))
}
