//! Echo: what the typist sees of the typing.
//!
//! Echo is kept as what shall be shown and processed when it is put out, so that a screen that was
//! held shows it with the settings and at the column of that time.

use linux_abi::terminals::LocalModes;

use super::{Discipline, ECHO_LIMIT, is_control};

const BACKSPACE: u8 = 8;

/// The most bytes that one piece of echo becomes.
const LARGEST_PIECE: usize = 8;

/// A piece of echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Echo {
    /// A byte, through output processing.
    Plain(u8),
    /// A control character as `^X`.
    Control(u8),
    /// Goes back over a tab that this many columns of other characters precede: since the last
    /// tab, or since the start of the line.
    BackOverTab { before: usize, after_tab: bool },
    /// The current line begins here: its column is where tabs count from.
    LineStart,
}

impl Discipline {
    /// Echoes a byte as the typist should see it: control characters as `^X` with `ECHOCTL`.
    pub(super) fn echo_visibly(&mut self, byte: u8) {
        let is_shown = self.has_local(LocalModes::ECHOCTL) && is_control(byte) && byte != b'\t';
        self.queue_echo(if is_shown { Echo::Control(byte) } else { Echo::Plain(byte) });
    }

    /// Echoes a byte as it is, through output processing.
    pub(super) fn echo_plainly(&mut self, byte: u8) {
        self.queue_echo(Echo::Plain(byte));
    }

    /// Wipes one column.
    pub(super) fn echo_wipe(&mut self) {
        for byte in [BACKSPACE, b' ', BACKSPACE] {
            self.echo_plainly(byte);
        }
    }

    /// Goes back over a tab; see [`Echo::BackOverTab`].
    pub(super) fn echo_back_over_tab(&mut self, before: usize, after_tab: bool) {
        self.queue_echo(Echo::BackOverTab { before, after_tab });
    }

    /// An echoed byte is about to be added to the current line.
    pub(super) fn note_line_start(&mut self) {
        if self.input.is_line_empty() {
            self.queue_echo(Echo::LineStart);
        }
    }

    /// Ends a visible erasure of `ECHOPRT`.
    pub(super) fn finish_erasing(&mut self) {
        if std::mem::take(&mut self.is_erasing) {
            self.echo_plainly(b'/');
        }
    }

    /// What finds no room is not echoed: a typist ahead of a held screen loses echo, never input.
    fn queue_echo(&mut self, echo: Echo) {
        if self.echo.len() < ECHO_LIMIT && !self.is_muted {
            self.echo.push_back(echo);
        }
    }

    /// Takes echo of up to `max` bytes, to be put out before any other output.
    pub fn take_echo(&mut self, max: usize) -> Vec<u8> {
        let mut screen = Vec::new();
        while screen.len() + LARGEST_PIECE <= max {
            match self.echo.pop_front() {
                // The byte that begins a special piece in Linux's own queue is not processed.
                Some(Echo::Plain(0xff)) => {
                    self.column += 1;
                    screen.push(0xff);
                }
                Some(Echo::Plain(byte)) => self.process(byte, &mut screen),
                Some(Echo::Control(byte)) => {
                    self.column += 2;
                    screen.extend([b'^', byte ^ 0x40]);
                }
                Some(Echo::BackOverTab { before, after_tab }) => {
                    let start = if after_tab { 0 } else { self.line_column };
                    let n = 8 - (before + start) % 8;
                    self.column = self.column.saturating_sub(n);
                    screen.extend(std::iter::repeat_n(BACKSPACE, n));
                }
                Some(Echo::LineStart) => self.line_column = self.column,
                None => break,
            }
        }
        screen
    }

    /// Whether echo waits.
    pub fn has_echo(&self) -> bool {
        !self.echo.is_empty()
    }
}
