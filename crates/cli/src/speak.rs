//! Saying something on standard error. That nobody listens any more is no reason to end: the
//! macros of the standard library would panic. That somebody listens who does not take anything
//! is no reason to stay for ever.

use host_sys::rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Whether standard error takes words, after some waiting if need be.
pub fn is_heard() -> bool {
    const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };
    let errors = std::io::stderr();
    let mut wanted = [PollFd::new(&errors, PollFlags::OUT)];
    // An error is found out by writing.
    poll(&mut wanted, Some(&PATIENCE)) != Ok(0)
}

/// Words as they are printed. Whatever name of a stranger's is in them has been made one line where
/// it was put in; here nothing is left that acts on the terminal.
pub fn fit(words: &str) -> String {
    sandbox_spec::printable_lines(words)
}

/// Goes back to the beginning of the line on standard error, a terminal, and empties it.
pub fn clear_line() {
    use std::io::Write as _;
    if is_heard() {
        let _ = std::io::stderr().write_all(b"\r\x1b[K");
    }
}

/// Prints a line on standard error.
macro_rules! eprintln {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        if $crate::speak::is_heard() {
            let _ = writeln!(std::io::stderr(), "{}", $crate::speak::fit(&format!($($words)*)));
        }
    }};
}

/// Prints on standard error.
macro_rules! eprint {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        if $crate::speak::is_heard() {
            let _ = write!(std::io::stderr(), "{}", $crate::speak::fit(&format!($($words)*)));
        }
    }};
}
