//! One byte from the keyboard.

use linux_abi::signals::Signal;
use linux_abi::terminals::{InputModes, LocalModes, cc};

use super::{Discipline, INPUT_LIMIT, Reaction, SignalKey, to_lower};

impl Discipline {
    /// Processes a byte that was typed; [`has_room`](Self::has_room) must say that there is room.
    /// Tells what the terminal has to do beyond that.
    pub fn receive(&mut self, byte: u8) -> Option<Reaction> {
        if self.input.len() >= INPUT_LIMIT {
            // The last byte of a line that is too long makes room for this one, which may end it.
            self.input.pop();
        }
        let byte = self.translate(byte);
        if self.has_local(LocalModes::EXTPROC) {
            self.input.push(byte);
            return None;
        }
        if std::mem::take(&mut self.is_literal_next) {
            self.insert(byte);
            return None;
        }
        if self.is_special(byte) {
            return self.receive_special(byte);
        }
        let reaction = self.start_by_any_key();
        self.insert(byte);
        reaction
    }

    fn translate(&self, byte: u8) -> u8 {
        let stripped = if self.has_input(InputModes::ISTRIP) { byte & 0x7f } else { byte };
        let lower = self.has_input(InputModes::IUCLC) && self.has_local(LocalModes::IEXTEN);
        if lower { to_lower(stripped) } else { stripped }
    }

    /// Whether any mode gives this byte a meaning. Zero never has one.
    fn is_special(&self, byte: u8) -> bool {
        let by_mode = match byte {
            0 => return false,
            b'\r' => self.termios.input().intersects(InputModes::IGNCR | InputModes::ICRNL),
            b'\n' => self.has_input(InputModes::INLCR) || self.is_canonical(),
            _ => false,
        };
        by_mode
            || (self.has_input(InputModes::IXON) && self.is_any_key(byte, &[cc::VSTART, cc::VSTOP]))
            || (self.has_local(LocalModes::ISIG)
                && self.is_any_key(byte, &[cc::VINTR, cc::VQUIT, cc::VSUSP]))
            || (self.is_canonical() && self.is_editing_key(byte))
    }

    fn is_editing_key(&self, byte: u8) -> bool {
        self.is_any_key(byte, &[cc::VERASE, cc::VKILL, cc::VEOF, cc::VEOL])
            || (self.has_local(LocalModes::IEXTEN)
                && (self.is_any_key(byte, &[cc::VWERASE, cc::VLNEXT, cc::VEOL2])
                    || (self.has_local(LocalModes::ECHO) && self.is_key(byte, cc::VREPRINT))))
    }

    fn is_any_key(&self, byte: u8, places: &[usize]) -> bool {
        places.iter().any(|&place| self.is_key(byte, place))
    }

    fn receive_special(&mut self, byte: u8) -> Option<Reaction> {
        if self.has_input(InputModes::IXON) {
            if self.is_key(byte, cc::VSTART) {
                self.start();
                return Some(Reaction::Start);
            }
            if self.is_key(byte, cc::VSTOP) {
                self.stop();
                return None;
            }
        }
        if self.has_local(LocalModes::ISIG)
            && let Some(signal) = self.signal_of(byte)
        {
            return Some(Reaction::Signal(self.receive_signal_key(byte, signal)));
        }
        let reaction = self.start_by_any_key();
        let byte = match byte {
            b'\r' if self.has_input(InputModes::IGNCR) => return reaction,
            b'\r' if self.has_input(InputModes::ICRNL) => b'\n',
            b'\n' if self.has_input(InputModes::INLCR) => b'\r',
            _ => byte,
        };
        if self.is_canonical() && self.receive_editing_key(byte) {
            return reaction;
        }
        if byte == b'\n' && self.has_local(LocalModes::ECHO) {
            self.finish_erasing();
            self.echo_plainly(b'\n');
            self.store(byte);
        } else {
            self.insert(byte);
        }
        reaction
    }

    fn signal_of(&self, byte: u8) -> Option<Signal> {
        [(cc::VINTR, Signal::SIGINT), (cc::VQUIT, Signal::SIGQUIT), (cc::VSUSP, Signal::SIGTSTP)]
            .into_iter()
            .find_map(|(place, signal)| self.is_key(byte, place).then_some(signal))
    }

    fn receive_signal_key(&mut self, byte: u8, signal: Signal) -> SignalKey {
        let flush = !self.has_local(LocalModes::NOFLSH);
        if flush {
            self.flush_input();
            self.echo.clear();
        }
        if self.has_input(InputModes::IXON) {
            self.start();
        }
        if self.has_local(LocalModes::ECHO) {
            self.echo_visibly(byte);
        }
        SignalKey { signal, flush }
    }

    fn start_by_any_key(&mut self) -> Option<Reaction> {
        if !self.is_stopped() || !self.has_input(InputModes::IXON | InputModes::IXANY) {
            return None;
        }
        self.start();
        Some(Reaction::Start)
    }

    /// Echoes and stores a byte without a meaning.
    pub(super) fn insert(&mut self, byte: u8) {
        if self.has_local(LocalModes::ECHO) {
            self.finish_erasing();
            self.note_line_start();
            self.echo_visibly(byte);
        }
        self.store(byte);
    }

    fn store(&mut self, byte: u8) {
        self.mark_if_asked(byte);
        self.input.push(byte);
    }

    /// With `PARMRK` the byte that begins a mark is doubled.
    pub(super) fn mark_if_asked(&mut self, byte: u8) {
        if byte == 0xff && self.has_input(InputModes::PARMRK) {
            self.input.push(byte);
        }
    }
}
