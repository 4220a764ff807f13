//! Writing to standard output.

use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;

use serde::Serialize;

use crate::failure::Failure;
use crate::user_terminal;

/// Prints text, in which nothing acts on a terminal. A reader that went away is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    write(&sandbox_spec::printable_lines(text))
}

fn write(text: &str) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    user_terminal::take_back(output.as_fd());
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::new(format!("cannot write to standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Prints a value as JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    match serde_json::to_string_pretty(value) {
        Ok(text) => write(&(sandbox_spec::printable_json(&text) + "\n")),
        Err(error) => Err(Failure::new(format!("cannot write JSON: {error}"))),
    }
}
