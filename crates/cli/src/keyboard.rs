//! The terminal that `belljar` was started on, while a guest shares it.
//!
//! It stays as it is until a guest wants its keys. Until then Ctrl-C is a signal to us, which we
//! pass on, and what is typed ahead is for the shell. From then on it is raw, and every key goes to
//! the guest's own terminal and is a signal, or not, there. When the guest is stopped we stop as
//! well, with the terminal as it was, and when the shell continues us the guest goes on.

use std::io::IsTerminal;
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use host_sys::rustix::io::{Errno, ioctl_fionread};
use host_sys::rustix::process::{Signal, getpgrp, kill_current_process_group};
use host_sys::rustix::stdio::{stderr, stdin, stdout};
use host_sys::rustix::termios::{
    OptionalActions, OutputModes, Termios, isatty, tcgetattr, tcgetpgrp, tcsetattr,
};
use sandbox::{Control, TerminalEvent};

const SIGCONT: u8 = 18;
const SIGTSTP: u8 = 20;
const SIGTTIN: u8 = 21;

/// Who has the keys of the terminal. Put back to what it was when dropped.
pub struct Keyboard {
    /// The first of the standard streams that is a terminal, as in the sandbox.
    terminal: Option<BorrowedFd<'static>>,
    state: Mutex<State>,
}

#[derive(Default)]
pub struct State {
    /// A guest wants the keys.
    is_wanted: bool,
    /// What the terminal was before it became raw.
    saved: Option<Termios>,
}

impl Keyboard {
    /// The keyboard of the standard streams.
    pub fn of_standard_streams() -> Self {
        let terminal = [stdin(), stdout(), stderr()].into_iter().find(|stream| isatty(stream));
        Self { terminal, state: Mutex::default() }
    }

    /// None, for a guest whose streams are no terminal.
    pub fn none() -> Self {
        Self { terminal: None, state: Mutex::default() }
    }

    /// Held while a signal is read and passed on, so that none is read while we stop.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked has left it as it should be: each step is one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The guest did something that a shell has to know of its job.
    pub fn hear(&self, event: TerminalEvent, control: &dyn Control) {
        let mut state = self.lock();
        match event {
            TerminalEvent::KeysWanted => {
                state.is_wanted = true;
                self.share(&mut state, control);
                if state.saved.is_none() && self.terminal.is_some() {
                    // As a program that reads in the background.
                    stop(SIGTTIN, false);
                    self.share(&mut state, control);
                }
            }
            TerminalEvent::Stopped => {
                let had_keys = state.saved.is_some();
                self.put_back(&mut state);
                // Fails only if the sandbox has ended, here and below.
                let _ = control.give_keys(None);
                if self.terminal.is_some() {
                    // Where the terminal is raw it has not told the rest of the pipeline.
                    stop(SIGTSTP, had_keys);
                }
                self.share(&mut state, control);
                let _ = control.signal(SIGCONT);
            }
        }
    }

    /// We were stopped and go on: the shell may have changed the terminal, and who has it.
    pub fn go_on(&self, state: &mut State, control: &dyn Control) {
        self.share(state, control);
        let _ = control.signal(SIGCONT);
    }

    /// Gives the guest the keys if it wants them and the terminal is ours to give.
    fn share(&self, state: &mut State, control: &dyn Control) {
        let Some(terminal) = self.terminal.filter(|_| state.is_wanted) else { return };
        let n_shown = is_ours(terminal).then(|| make_raw(terminal, state)).flatten();
        if n_shown.is_none() {
            state.saved = None;
        }
        let _ = control.give_keys(n_shown);
    }

    /// Makes the terminal what it was.
    pub fn restore(&self) {
        self.put_back(&mut self.lock());
    }

    fn put_back(&self, state: &mut State) {
        if let (Some(terminal), Some(saved)) = (self.terminal, state.saved.take())
            && is_ours(terminal)
        {
            // Fails only if the terminal is gone.
            let _ = tcsetattr(terminal, OptionalActions::Now, &saved);
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.restore();
    }
}

/// Whether the terminal may be changed: we are in its foreground, or it is not the one that
/// controls us, where there is no such thing.
fn is_ours(terminal: BorrowedFd<'_>) -> bool {
    match tcgetpgrp(terminal) {
        Ok(group) => group == getpgrp(),
        Err(errno) => errno == Errno::NOTTY,
    }
}

/// Makes the terminal raw. Returns how much of what waits was shown as it was typed.
fn make_raw(terminal: BorrowedFd<'_>, state: &mut State) -> Option<usize> {
    let now = tcgetattr(terminal).ok()?;
    let mut raw = now.clone();
    raw.make_raw();
    if !std::io::stdout().is_terminal() {
        // Somebody else in the pipeline writes to it.
        raw.output_modes |= now.output_modes & (OutputModes::OPOST | OutputModes::ONLCR);
    }
    tcsetattr(terminal, OptionalActions::Now, &raw).ok()?;
    state.saved.get_or_insert(now);
    let n_waiting = ioctl_fionread(terminal).unwrap_or(0);
    Some(usize::try_from(n_waiting).unwrap_or(0))
}

/// Stops as a program does that has not asked for anything else; with the rest of the job, if it
/// has to be told.
fn stop(signal: u8, with_others: bool) {
    let tell_others = || {
        if with_others {
            // Ourselves included, which is meant.
            let _ = kill_current_process_group(Signal::TSTP);
        }
    };
    // Cannot fail: the numbers are signals.
    let _ = host_sys::stop_by(signal, tell_others);
}
