//! The terminal that `belljar` was started on, while a guest has it.

use std::os::fd::BorrowedFd;

use host_sys::rustix::process::getpgrp;
use host_sys::rustix::stdio::stdin;
use host_sys::rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// Keeps the terminal raw, so that every key reaches the guest's own terminal and is a signal, or
/// not, there. Put back when dropped.
pub struct RawTerminal {
    terminal: BorrowedFd<'static>,
    saved: Termios,
}

impl RawTerminal {
    /// Makes standard input raw; `None` if it is no terminal, or if somebody else has the
    /// foreground, in which case changing it would stop us.
    pub fn enter() -> Option<Self> {
        let terminal = stdin();
        let saved = tcgetattr(terminal).ok()?;
        if tcgetpgrp(terminal).ok()? != getpgrp() {
            return None;
        }
        let mut raw = saved.clone();
        raw.make_raw();
        tcsetattr(terminal, OptionalActions::Drain, &raw).ok()?;
        Some(Self { terminal, saved })
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // Fails only if the terminal is gone.
        let _ = tcsetattr(self.terminal, OptionalActions::Drain, &self.saved);
    }
}
