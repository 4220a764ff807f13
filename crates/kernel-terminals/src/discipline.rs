//! The line discipline: what happens between a keyboard and a program.
//!
//! A pure state machine. Bytes from the keyboard go into [`Discipline::receive`], which edits the
//! current line, echoes and recognises the keys that make signals; [`Discipline::take`] gives lines
//! (or bytes) to a reader; [`Discipline::process`] turns a program's output into what the screen
//! gets. It sends no signal, knows no process and never waits: [`crate::Terminal`] does the rest.
//!
//! The behaviour is that of `N_TTY` in Linux.

mod canonical;
mod echo;
mod input;
mod output;
mod queue;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use kernel_core::io::Sink;
use linux_abi::SysResult;
use linux_abi::signals::Signal;
use linux_abi::terminals::{InputModes, LocalModes, Termios, cc};

use echo::Echo;
use queue::InputQueue;

/// The most that waits for a reader, the byte that ends a line included (Linux: `N_TTY_BUF_SIZE`).
pub const INPUT_LIMIT: usize = 4096;

/// How many pieces of echo wait for output to go on.
const ECHO_LIMIT: usize = 4096;

/// A key that makes a signal was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalKey {
    /// What to send to the foreground group.
    pub signal: Signal,
    /// Whether output that waits is thrown away (input has been).
    pub flush: bool,
}

/// What the terminal has to do after a byte was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// A key that makes a signal: send it.
    Signal(SignalKey),
    /// Output goes on: put out the echo that waits, before the next byte.
    Start,
}

/// Why output is held.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    is_stopped: bool,
    /// Stopped by `TCXONC`, so that no key starts it.
    is_stopped_by_request: bool,
}

/// The state of a terminal line.
#[derive(Debug)]
pub struct Discipline {
    termios: Termios,
    input: InputQueue,
    /// Echo that waits to be put out.
    echo: VecDeque<Echo>,
    /// Where the cursor is, as far as output tells.
    column: usize,
    /// Where the cursor was when the current line began.
    line_column: usize,
    /// The next byte is taken as it is (after `VLNEXT`).
    is_literal_next: bool,
    /// In the middle of a `\...\/` erasure (`ECHOPRT`).
    is_erasing: bool,
    /// Nothing is echoed, whatever the settings say.
    is_muted: bool,
    flow: Flow,
}

impl Default for Discipline {
    fn default() -> Self {
        Self::new(Termios::STANDARD)
    }
}

impl Discipline {
    /// A line with these settings.
    pub fn new(termios: Termios) -> Self {
        Self {
            termios,
            input: InputQueue::default(),
            echo: VecDeque::new(),
            column: 0,
            line_column: 0,
            is_literal_next: false,
            is_erasing: false,
            is_muted: false,
            flow: Flow::default(),
        }
    }

    /// Has it echo nothing, or what its settings say again.
    pub(crate) fn set_muted(&mut self, is_muted: bool) {
        self.is_muted = is_muted;
    }

    /// The settings.
    pub fn termios(&self) -> &Termios {
        &self.termios
    }

    /// Changes the settings. What was typed stays: on the way to lines it counts as one line, on
    /// the way from lines all of it can be read.
    pub fn set_termios(&mut self, termios: Termios) {
        let old = std::mem::replace(&mut self.termios, termios);
        let line_modes = LocalModes::ICANON | LocalModes::EXTPROC;
        if (old.local() ^ termios.local()).intersects(line_modes) {
            self.input.change_mode(self.is_canonical());
            self.is_literal_next = false;
            self.is_erasing = false;
        }
        let had_flow_keys = old.input().contains(InputModes::IXON);
        if had_flow_keys && !termios.input().contains(InputModes::IXON) {
            self.start();
        }
    }

    /// Whether input comes in lines.
    pub fn is_canonical(&self) -> bool {
        self.has_local(LocalModes::ICANON)
    }

    /// Whether another byte from the keyboard can be processed. A line that has become too long
    /// always has room: it loses what is typed, but its end is seen.
    pub fn has_room(&self) -> bool {
        self.input.len() < INPUT_LIMIT - 1 || (self.is_canonical() && self.input.n_complete() == 0)
    }

    /// How many bytes of lines (or bytes) wait for a reader, markers of an end of file included.
    pub fn readable(&self) -> usize {
        if self.is_canonical() { self.input.n_complete() } else { self.input.len() }
    }

    /// What `FIONREAD` says.
    pub fn n_readable_bytes(&self) -> usize {
        if self.is_canonical() { self.input.n_complete_bytes() } else { self.input.len() }
    }

    /// Whether `poll` says that there is input: a line, or `VMIN` bytes if no time limits the wait.
    pub fn is_ready_to_read(&self) -> bool {
        let min = usize::from(self.termios.key(cc::VMIN));
        let by_count = !self.is_canonical() && self.termios.key(cc::VTIME) == 0 && min > 0;
        self.readable() >= if by_count { min } else { 1 }
    }

    /// Hands what waits to a reader: at most one line, or as many bytes as it wants.
    pub fn take(&mut self, sink: &mut dyn Sink) -> SysResult<usize> {
        if self.is_canonical() { self.input.take_line(sink) } else { self.input.take_bytes(sink) }
    }

    /// Throws away what was typed.
    pub fn flush_input(&mut self) {
        self.input.clear();
        self.is_literal_next = false;
        self.is_erasing = false;
    }

    /// Whether output is held.
    pub fn is_stopped(&self) -> bool {
        self.flow.is_stopped
    }

    fn stop(&mut self) {
        self.flow.is_stopped = true;
    }

    fn start(&mut self) {
        if !self.flow.is_stopped_by_request {
            self.flow.is_stopped = false;
        }
    }

    /// Holds output until [`start_by_request`](Self::start_by_request) (`TCOOFF`).
    pub fn stop_by_request(&mut self) {
        if !self.flow.is_stopped_by_request {
            self.flow.is_stopped_by_request = true;
            self.stop();
        }
    }

    /// Lets output go on that was held by request (`TCOON`).
    pub fn start_by_request(&mut self) {
        if self.flow.is_stopped_by_request {
            self.flow.is_stopped_by_request = false;
            self.start();
        }
    }

    fn has_local(&self, modes: LocalModes) -> bool {
        self.termios.local().contains(modes)
    }

    fn has_input(&self, modes: InputModes) -> bool {
        self.termios.input().contains(modes)
    }

    /// Whether `byte` is this control character. Zero means that there is none.
    fn is_key(&self, byte: u8, place: usize) -> bool {
        byte != 0 && byte == self.termios.key(place)
    }

    /// Whether `byte` continues a UTF-8 character, so that it takes no column.
    fn is_continuation(&self, byte: u8) -> bool {
        byte & 0xc0 == 0x80 && self.has_input(InputModes::IUTF8)
    }
}

/// Lower case, as Linux sees it: in Latin-1.
fn to_lower(byte: u8) -> u8 {
    match byte {
        b'A'..=b'Z' | 0xc0..=0xd6 | 0xd8..=0xde => byte + 0x20,
        _ => byte,
    }
}

/// Upper case, as Linux sees it: in Latin-1, though two letters there have none.
fn to_upper(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' | 0xdf..=0xf6 | 0xf8..=0xff => byte - 0x20,
        _ => byte,
    }
}

/// Whether Linux calls this byte a control character.
fn is_control(byte: u8) -> bool {
    byte.is_ascii_control()
}
