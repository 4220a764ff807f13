//! Editing the current line.

use linux_abi::terminals::{LocalModes, cc};

use super::{Discipline, is_control};

/// What one key erases.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Erase {
    Character,
    Word,
    Line,
}

impl Discipline {
    /// Handles a byte that edits or ends the current line. Returns whether it was one.
    pub(super) fn receive_editing_key(&mut self, byte: u8) -> bool {
        let extended = self.has_local(LocalModes::IEXTEN);
        if self.is_key(byte, cc::VERASE) {
            self.erase(Erase::Character);
        } else if self.is_key(byte, cc::VKILL) {
            self.kill_line();
        } else if extended && self.is_key(byte, cc::VWERASE) {
            self.erase(Erase::Word);
        } else if extended && self.is_key(byte, cc::VLNEXT) {
            self.begin_literal();
        } else if extended && self.has_local(LocalModes::ECHO) && self.is_key(byte, cc::VREPRINT) {
            self.reprint(byte);
        } else if byte == b'\n' {
            if self.termios.local().intersects(LocalModes::ECHO | LocalModes::ECHONL) {
                self.echo_plainly(b'\n');
            }
            self.input.end_line(byte);
        } else if self.is_key(byte, cc::VEOF) {
            self.input.end_file();
        } else if self.is_key(byte, cc::VEOL) || (extended && self.is_key(byte, cc::VEOL2)) {
            if self.has_local(LocalModes::ECHO) {
                self.note_line_start();
                self.echo_visibly(byte);
            }
            self.mark_if_asked(byte);
            self.input.end_line(byte);
        } else {
            return false;
        }
        true
    }

    fn begin_literal(&mut self) {
        self.is_literal_next = true;
        if self.has_local(LocalModes::ECHO) {
            self.finish_erasing();
            if self.has_local(LocalModes::ECHOCTL) {
                // Shows a `^` under the cursor until the next key.
                self.echo_plainly(b'^');
                self.echo_plainly(8);
            }
        }
    }

    fn reprint(&mut self, key: u8) {
        self.finish_erasing();
        self.echo_visibly(key);
        self.echo_plainly(b'\n');
        let line: Vec<u8> = self.input.line().collect();
        for byte in line {
            self.echo_visibly(byte);
        }
    }

    fn kill_line(&mut self) {
        if self.input.is_line_empty() {
            return;
        }
        let visibly = LocalModes::ECHOK | LocalModes::ECHOKE | LocalModes::ECHOE;
        if !self.has_local(LocalModes::ECHO) {
            self.input.clear_line();
        } else if self.has_local(visibly) {
            self.erase(Erase::Line);
        } else {
            self.input.clear_line();
            self.finish_erasing();
            self.echo_visibly(self.termios.key(cc::VKILL));
            if self.has_local(LocalModes::ECHOK) {
                self.echo_plainly(b'\n');
            }
        }
    }

    fn erase(&mut self, what: Erase) {
        if self.input.is_line_empty() {
            return;
        }
        let mut in_word = false;
        while let Some(n_bytes) = self.last_character() {
            let first = self.input.line().rev().nth(n_bytes - 1).unwrap_or(0);
            if what == Erase::Word {
                if is_word_byte(first) {
                    in_word = true;
                } else if in_word {
                    break;
                }
            }
            let mut bytes: Vec<u8> = (0..n_bytes).filter_map(|_| self.input.pop()).collect();
            bytes.reverse();
            if self.has_local(LocalModes::ECHO) {
                self.echo_erasure(what, &bytes);
            }
            if what == Erase::Character {
                break;
            }
        }
        if self.input.is_line_empty() && self.has_local(LocalModes::ECHO) {
            self.finish_erasing();
        }
    }

    /// How many bytes the last character of the line has; `None` if the line is empty or begins
    /// in the middle of a character, which is not erased in part.
    fn last_character(&self) -> Option<usize> {
        self.input.line().rev().position(|byte| !self.is_continuation(byte)).map(|index| index + 1)
    }

    fn echo_erasure(&mut self, what: Erase, bytes: &[u8]) {
        let Some((&first, rest)) = bytes.split_first() else { return };
        if self.has_local(LocalModes::ECHOPRT) {
            if !self.is_erasing {
                self.echo_plainly(b'\\');
                self.is_erasing = true;
            }
            self.echo_visibly(first);
            for &byte in rest {
                self.echo_plainly(byte);
            }
        } else if what == Erase::Character && !self.has_local(LocalModes::ECHOE) {
            self.echo_visibly(self.termios.key(cc::VERASE));
        } else if first == b'\t' {
            let (before, after_tab) = self.columns_before_tab();
            self.echo_back_over_tab(before, after_tab);
        } else {
            let shown_as_two = is_control(first) && self.has_local(LocalModes::ECHOCTL);
            if shown_as_two {
                self.echo_wipe();
            }
            if shown_as_two || !is_control(first) {
                self.echo_wipe();
            }
        }
    }

    /// How many columns the line takes since its last tab, and whether there is a tab.
    fn columns_before_tab(&self) -> (usize, bool) {
        let mut columns = 0;
        for byte in self.input.line().rev() {
            if byte == b'\t' {
                return (columns, true);
            }
            if is_control(byte) {
                columns += if self.has_local(LocalModes::ECHOCTL) { 2 } else { 0 };
            } else if !self.is_continuation(byte) {
                columns += 1;
            }
        }
        (columns, false)
    }
}

/// Whether the byte is part of a word: letters and digits of Latin-1, and `_`.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || byte == b'_'
        || matches!(byte, 0xc0..=0xd6 | 0xd8..=0xf6 | 0xf8..)
}
