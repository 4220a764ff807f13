//! Echo: what the typist sees of the typing.

use linux_abi::terminals::LocalModes;

use super::{Discipline, ECHO_LIMIT, is_control};

const BACKSPACE: u8 = 8;

impl Discipline {
    /// Echoes a byte as the typist should see it: control characters as `^X` with `ECHOCTL`.
    pub(super) fn echo_visibly(&mut self, byte: u8) {
        if self.has_local(LocalModes::ECHOCTL) && is_control(byte) && byte != b'\t' {
            self.column += 2;
            self.queue_echo(&[b'^', byte ^ 0x40]);
        } else {
            self.echo_plainly(byte);
        }
    }

    /// Echoes a byte as it is, through output processing.
    pub(super) fn echo_plainly(&mut self, byte: u8) {
        let mut screen = Vec::new();
        self.process(byte, &mut screen);
        self.queue_echo(&screen);
    }

    /// Wipes one column.
    pub(super) fn echo_wipe(&mut self) {
        for byte in [BACKSPACE, b' ', BACKSPACE] {
            self.echo_plainly(byte);
        }
    }

    /// Goes back over a tab that `before` columns of other characters precede, since the last tab
    /// or since the start of the line.
    pub(super) fn echo_back_over_tab(&mut self, before: usize, after_tab: bool) {
        let start = if after_tab { 0 } else { self.line_column };
        for _ in 0..8 - (before + start) % 8 {
            self.column = self.column.saturating_sub(1);
            self.queue_echo(&[BACKSPACE]);
        }
    }

    /// The current line is about to begin with an echoed byte: its column is where tabs count from.
    pub(super) fn note_line_start(&mut self) {
        if self.input.is_line_empty() {
            self.line_column = self.column;
        }
    }

    /// Ends a visible erasure of `ECHOPRT`.
    pub(super) fn finish_erasing(&mut self) {
        if std::mem::take(&mut self.is_erasing) {
            self.echo_plainly(b'/');
        }
    }

    /// What finds no room is not echoed: a typist ahead of a held screen loses echo, never input.
    fn queue_echo(&mut self, bytes: &[u8]) {
        if self.echo.len() + bytes.len() <= ECHO_LIMIT {
            self.echo.extend(bytes);
        }
    }
}
