//! Saying something on standard error. That nobody listens any more is no reason to end: the
//! macros of the standard library would panic. That somebody listens who does not take anything
//! is no reason to stay for ever.

use std::io::Write;
use std::os::fd::AsFd;

use host_sys::rustix::event::{PollFd, PollFlags, Timespec, poll};
use sandbox_spec::printable_lines;

use crate::user_terminal;

/// Whether standard error takes words, after some waiting if need be.
pub fn is_heard() -> bool {
    const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };
    let errors = std::io::stderr();
    let mut wanted = [PollFd::new(&errors, PollFlags::OUT)];
    // An error is found out by writing.
    poll(&mut wanted, Some(&PATIENCE)) != Ok(0)
}

/// Says something on standard error, after a guest on a terminal that is reset first. Whatever name of
/// a stranger's is in the words has been made one line where it was put in; here nothing is left that
/// acts on the terminal.
pub fn write(words: String) {
    if is_heard() {
        let mut errors = std::io::stderr().lock();
        user_terminal::take_back(errors.as_fd());
        let _ = errors.write_all(printable_lines(&words).as_bytes());
    }
}

/// Goes back to the beginning of the line on standard error, a terminal, and empties it.
pub fn clear_line() {
    if is_heard() {
        let _ = std::io::stderr().write_all(b"\r\x1b[K");
    }
}

/// Prints a line on standard error.
macro_rules! eprintln {
    ($($words:tt)*) => {{
        $crate::speak::write(format!($($words)*) + "\n");
    }};
}

/// Prints on standard error.
macro_rules! eprint {
    ($($words:tt)*) => {{
        $crate::speak::write(format!($($words)*));
    }};
}
