//! Shows how an installation goes on, without showing everything.

use std::io::{BufRead, BufReader, IsTerminal, PipeReader, Read};

use sandbox_spec::printable_within;
use skills::install::{Installer, Source};

use crate::speak;

/// How much of the output is kept to explain a failure.
const MAX_KEPT_BYTES: usize = 256 * 1024;
/// How long a line may be.
const MAX_LINE_BYTES: u64 = 64 * 1024;
/// How much of a line is shown.
const MAX_SHOWN_CHARS: usize = 76;
/// The lines of installers that say how far they are.
const TELLING: [&str; 6] =
    ["Collecting ", "Downloading ", "Building ", "Installing ", "added ", "Looking in links"];

/// Follows one installer.
pub struct Progress<'s> {
    source: &'s Source,
    is_told: bool,
    is_terminal: bool,
}

impl<'s> Progress<'s> {
    /// For one installer. Making an empty environment is too short to tell of.
    pub fn new(installer: Installer, source: &'s Source) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self { source, is_told: installer != Installer::Venv, is_terminal }
    }

    /// Reads to the end, shows what tells something, and returns the end of what was read, without
    /// the keys of the source.
    pub fn follow(&self, from: PipeReader) -> String {
        let mut from = BufReader::new(from);
        let mut kept = String::new();
        loop {
            let mut line = Vec::new();
            // An error is the end, as for any reader of a pipe.
            match from.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let line = self.source.redacted(&String::from_utf8_lossy(&line));
            self.show(line.trim());
            kept.push_str(&line);
            if kept.len() > 2 * MAX_KEPT_BYTES {
                let cut = kept.ceil_char_boundary(kept.len() - MAX_KEPT_BYTES);
                kept.drain(..cut);
            }
        }
        if self.is_told && self.is_terminal {
            speak::clear_line();
        }
        kept
    }

    fn show(&self, line: &str) {
        if !self.is_told || !TELLING.iter().any(|start| line.starts_with(start)) {
            return;
        }
        let shown = printable_within(line, MAX_SHOWN_CHARS);
        if self.is_terminal {
            speak::clear_line();
            eprint!("  {shown}");
        } else {
            eprintln!("  {shown}");
        }
    }
}
