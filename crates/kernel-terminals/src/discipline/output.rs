//! From a program's output to what the screen gets.

use linux_abi::terminals::OutputModes;

use super::{Discipline, is_control, to_upper};

const TAB_WIDTH: usize = 8;

impl Discipline {
    /// The most bytes that one byte of output may become.
    pub fn worst_growth(&self) -> usize {
        let modes = self.termios.output();
        if !modes.contains(OutputModes::OPOST) {
            1
        } else if modes.contains(OutputModes::TABDLY) {
            TAB_WIDTH
        } else if modes.contains(OutputModes::ONLCR) {
            2
        } else {
            1
        }
    }

    /// Appends what the screen gets for `byte` to `screen`.
    pub fn process(&mut self, byte: u8, screen: &mut Vec<u8>) {
        let modes = self.termios.output();
        if !modes.contains(OutputModes::OPOST) {
            screen.push(byte);
            return;
        }
        match byte {
            b'\n' => self.process_newline(modes, screen),
            b'\r' => self.process_return(modes, screen),
            b'\t' => {
                let width = TAB_WIDTH - self.column % TAB_WIDTH;
                self.column += width;
                if modes.contains(OutputModes::TABDLY) {
                    screen.extend(std::iter::repeat_n(b' ', width));
                } else {
                    screen.push(byte);
                }
            }
            8 => {
                self.column = self.column.saturating_sub(1);
                screen.push(byte);
            }
            _ if is_control(byte) => screen.push(byte),
            _ => {
                if !self.is_continuation(byte) {
                    self.column += 1;
                }
                let upper = modes.contains(OutputModes::OLCUC);
                screen.push(if upper { to_upper(byte) } else { byte });
            }
        }
    }

    fn process_newline(&mut self, modes: OutputModes, screen: &mut Vec<u8>) {
        if modes.intersects(OutputModes::ONLRET | OutputModes::ONLCR) {
            self.column = 0;
        }
        self.line_column = self.column;
        if modes.contains(OutputModes::ONLCR) {
            screen.push(b'\r');
        }
        screen.push(b'\n');
    }

    fn process_return(&mut self, modes: OutputModes, screen: &mut Vec<u8>) {
        if modes.contains(OutputModes::ONOCR) && self.column == 0 {
            return;
        }
        let as_newline = modes.contains(OutputModes::OCRNL);
        if !as_newline || modes.contains(OutputModes::ONLRET) {
            self.column = 0;
            self.line_column = 0;
        }
        screen.push(if as_newline { b'\n' } else { b'\r' });
    }
}
