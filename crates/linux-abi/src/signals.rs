//! Signals: numbers, sets, siginfo, actions.

mod action;
mod fd;
mod info;
mod number;

pub use action::{SIG_DFL, SIG_ERR, SIG_IGN, SigAction, SigActionFlags, Sigevent, notify};
pub use fd::SignalFdInfo;
pub use info::{SigInfo, code};
pub use number::{SigSet, Signal};

/// How `rt_sigprocmask` changes the mask.
#[expect(missing_docs, reason = "the names are those of sigprocmask(2)")]
pub mod how {
    pub const BLOCK: u32 = 0;
    pub const UNBLOCK: u32 = 1;
    pub const SETMASK: u32 = 2;
}
