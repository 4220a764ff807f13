//! The user's own terminal, taken back from a guest before anything is said on it.
//!
//! A guest that has the terminal can leave it in any state: text concealed, in the colour of the
//! ground, in a corner of the screen, on the other screen, or a sequence unfinished that swallows
//! what follows. It can also leave in the queue what somebody typed for it. So whoever speaks after a
//! guest resets the terminal first, and whoever asks throws away what was typed before the question
//! was there to be read.

mod reset;

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Read, Write, stderr, stdin, stdout};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Mutex;

use host_sys::rustix::fs::{OFlags, fcntl_getfl, fstat};
use host_sys::rustix::process::getpgrp;
use host_sys::rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, QueueSelector, Termios, Winsize, isatty,
    tcdrain, tcflush, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
};
use sandbox_spec::printable_lines;

use crate::failure::Failure;
use crate::signals::Signals;

/// How long an answer may be.
const MAX_ANSWER_BYTES: usize = 1024;

/// The terminals that a guest could write to since we spoke on them last. The words on standard error
/// come from everywhere, and none of them may be forgotten: so this is known to the process and not
/// passed along.
static WITH_A_GUEST: Mutex<Vec<HandedOver>> = Mutex::new(Vec::new());

/// A terminal that a guest has.
#[derive(Clone, Copy)]
struct HandedOver {
    /// Its device number.
    device: u64,
    /// How large it was.
    size: Option<Winsize>,
}

/// A guest starts that has our standard streams.
pub fn hand_over() {
    let streams = (stdin(), stdout(), stderr());
    let streams = [streams.0.as_fd(), streams.1.as_fd(), streams.2.as_fd()];
    if let Ok(mut known) = WITH_A_GUEST.lock() {
        for stream in streams {
            let Some(device) = device(stream) else { continue };
            if !known.iter().any(|it| it.device == device) {
                known.push(HandedOver { device, size: tcgetwinsize(stream).ok() });
            }
        }
    }
}

/// Resets the terminal that `stream` is, if it is one and a guest could write to it. Whoever is about
/// to write to it calls this first.
pub fn take_back(stream: BorrowedFd<'_>) {
    let Some(terminal) = device(stream) else { return };
    let Ok(mut known) = WITH_A_GUEST.lock() else { return };
    let Some(at) = known.iter().position(|it| it.device == terminal) else { return };
    let handed_over = known.swap_remove(at);
    drop(known);
    // One that understands no sequences cannot be changed by any, and would show these.
    if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        return;
    }
    let words = reset::words(handed_over.size, tcgetwinsize(stream).ok());
    // Whoever writes after this finds out that the terminal is gone.
    let _ = stream.try_clone_to_owned().map(|copy| File::from(copy).write_all(words.as_bytes()));
}

/// Which terminal this is.
fn device(stream: BorrowedFd<'_>) -> Option<u64> {
    if isatty(stream) { Some(fstat(stream).ok()?.st_rdev) } else { None }
}

/// The terminal at which somebody can be asked.
pub struct UserTerminal {
    terminal: File,
    /// As it was before any guest had it.
    saved: Termios,
}

impl UserTerminal {
    /// The terminal that the user types at. There is none if standard input is something else, or if
    /// somebody else has the foreground: then nobody would read a question.
    pub fn open() -> Option<Self> {
        if !stdin().is_terminal() {
            return None;
        }
        let terminal = open_again()?;
        let saved = tcgetattr(&terminal).ok()?;
        match tcgetpgrp(&terminal) {
            Ok(group) if group != getpgrp() => None,
            _ => Some(Self { terminal, saved }),
        }
    }

    /// Says something on this terminal, and only there.
    pub fn say(&self, words: &str) {
        take_back(self.terminal.as_fd());
        // That it is gone is found out by who waits for an answer.
        let _ = (&self.terminal).write_all(printable_lines(words).as_bytes());
    }

    /// Asks, and waits for a line. What was typed before the question could be read is no answer.
    /// `None` is the end of the input, or a line that is too long.
    pub fn ask(&self, question: &str, signals: &Signals) -> Result<Option<String>, Failure> {
        take_back(self.terminal.as_fd());
        let gone = |error: std::io::Error| {
            Failure::new(format!("the terminal is gone: {error}")).code(Failure::CANNOT_START)
        };
        let _back = Lines::enter(self).map_err(gone)?;
        // Everything that leads to the question is on its way before anything counts as an answer.
        tcdrain(&self.terminal).map_err(|error| gone(error.into()))?;
        tcflush(&self.terminal, QueueSelector::IFlush).map_err(|error| gone(error.into()))?;
        self.say(question);
        signals.wait_for_input(self.terminal.as_fd())?;
        let mut bytes = [0; MAX_ANSWER_BYTES];
        // A terminal in line mode gives one line at a time.
        let n = (&self.terminal).read(&mut bytes).map_err(gone)?;
        let line = bytes.get(..n).unwrap_or_default();
        let line = line.strip_suffix(b"\n").map(|line| String::from_utf8_lossy(line));
        Ok(line.map(|line| line.trim().to_ascii_lowercase()))
    }
}

/// Lets the terminal give whole lines and show what is typed, as long as a question is open.
struct Lines<'t>(&'t UserTerminal);

impl<'t> Lines<'t> {
    fn enter(user: &'t UserTerminal) -> std::io::Result<Self> {
        let mut lines = user.saved.clone();
        lines.input_modes |= InputModes::ICRNL;
        lines.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
        lines.local_modes |= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        tcsetattr(&user.terminal, OptionalActions::Flush, &lines)?;
        Ok(Self(user))
    }
}

impl Drop for Lines<'_> {
    fn drop(&mut self) {
        // Fails only if the terminal is gone.
        let _ = tcsetattr(&self.0.terminal, OptionalActions::Drain, &self.0.saved);
    }
}

/// Opens the terminal of standard input once more: what a guest did to the flags of the shared one
/// does not matter. Where that is forbidden, as after `su`, the shared one has to do.
fn open_again() -> Option<File> {
    let flags = i32::try_from((OFlags::NOCTTY | OFlags::CLOEXEC).bits()).ok()?;
    let mut options = OpenOptions::new();
    let again = options.read(true).write(true).custom_flags(flags).open("/proc/self/fd/0");
    again.ok().or_else(|| {
        let shared = stdin();
        let is_both = fcntl_getfl(&shared).is_ok_and(|flags| flags.contains(OFlags::RDWR));
        is_both.then(|| shared.as_fd().try_clone_to_owned().ok().map(File::from))?
    })
}

#[cfg(test)]
mod tests;
