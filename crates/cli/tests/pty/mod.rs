//! A terminal of a test's own: what is sent to it is drawn by an emulator, and keys are typed.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![allow(dead_code, reason = "no test uses everything")]

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::terminal_pair;

/// How long a busy machine may take for one step.
const PATIENCE: Duration = Duration::from_secs(60);

/// What of a command is not on the terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Elsewhere {
    Nothing,
    Input,
    Errors,
}

/// A command on a terminal of 80 columns and 24 lines.
pub struct Pty {
    master: File,
    child: Child,
    screen: vt100::Parser,
    /// Everything that was sent.
    pub sent: Vec<u8>,
}

impl Pty {
    /// Starts a command in a session of its own, whose terminal this is.
    pub fn start(command: &Command, elsewhere: Elsewhere) -> Self {
        let (master, side) = terminal_pair::open();
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let mut session = Command::new("setsid");
        let redirect = match elsewhere {
            Elsewhere::Nothing => "exec \"$@\"",
            Elsewhere::Input => "exec \"$@\" < /dev/null",
            Elsewhere::Errors => "exec \"$@\" 2> errors.txt",
        };
        session.args(["--ctty", "--wait", "sh", "-c", redirect, "sh"]);
        session.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            session.env(name, value.unwrap());
        }
        session.env("TERM", "xterm").current_dir(command.get_current_dir().unwrap());
        terminal_pair::give(side, &mut session);
        let child = session.spawn().unwrap();
        let screen = vt100::Parser::new(24, 80, 0);
        Self { master, child, screen, sent: Vec::new() }
    }

    /// Reads what there is; false at the end.
    fn read(&mut self, patience: Duration) -> bool {
        let mut wanted = [PollFd::new(&self.master, PollFlags::IN)];
        let patience = Timespec::try_from(patience).unwrap();
        if poll(&mut wanted, Some(&patience)).unwrap() == 0 {
            return true;
        }
        let mut chunk = [0; 4096];
        // The end of a terminal is an error.
        let n = self.master.read(&mut chunk).unwrap_or(0);
        self.sent.extend(chunk.iter().take(n));
        self.screen.process(chunk.get(..n).unwrap());
        n > 0
    }

    /// What is on the screen.
    pub fn screen(&self) -> String {
        self.screen.screen().contents()
    }

    /// Waits until a text can be read on the screen.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.screen().contains(text) {
            let goes_on = self.read(Duration::from_millis(100));
            let is_late = Instant::now() > deadline;
            let is_there = self.screen().contains(text);
            assert!(is_there || (goes_on && !is_late), "no `{text}` on:\n{}", self.screen());
        }
    }

    /// Waits until a text was sent so many times.
    #[track_caller]
    pub fn wait_for_sent(&mut self, text: &str, n: usize) {
        let deadline = Instant::now() + PATIENCE;
        while self.text().matches(text).count() < n {
            let goes_on = self.read(Duration::from_millis(100));
            let is_there = self.text().matches(text).count() >= n;
            let is_late = Instant::now() > deadline;
            assert!(is_there || (goes_on && !is_late), "no `{text}` in:\n{}", self.text());
        }
    }

    /// Makes the terminal another size, as a window does that somebody draws at.
    pub fn set_size(&self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.master, size).unwrap();
    }

    /// Types.
    pub fn type_text(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    /// Reads to the end.
    #[track_caller]
    pub fn finish(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        while self.read(Duration::from_millis(100)) {
            let is_late = Instant::now() > deadline;
            if is_late {
                self.child.kill().unwrap();
            }
            assert!(!is_late, "it does not end:\n{}", self.screen());
        }
        self.child.wait().unwrap().code()
    }

    /// Everything that was sent, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.sent).replace('\r', "")
    }
}
