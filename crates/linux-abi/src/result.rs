//! What a system call body returns.

use crate::Errno;

/// What every system call body that cannot wait returns.
pub type SysResult<T = ()> = Result<T, Errno>;

/// What a system call body that may wait returns.
pub type WaitResult<T = ()> = Result<T, Interrupted>;

/// Why an interrupted call is, or is not, run again. Never seen by a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// `ERESTARTSYS`: again if the handler was installed with `SA_RESTART`, else `EINTR`.
    IfAsked,
    /// `ERESTARTNOINTR`: always again.
    Always,
    /// `ERESTARTNOHAND`: again only if no handler ran, else `EINTR`.
    IfNoHandler,
    /// `ERESTART_RESTARTBLOCK`: through `restart_syscall` if no handler ran, else `EINTR`.
    /// The call has left its continuation with the thread.
    Continuation,
}

/// The unsuccessful end of a call that may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupted {
    /// An error for the guest.
    Errno(Errno),
    /// A signal came first.
    Signal(Restart),
}

impl From<Errno> for Interrupted {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}
