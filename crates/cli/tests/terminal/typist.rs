//! Somebody who types into an interactive shell on a terminal of its own, and sees what it shows.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::termios::{Winsize, tcsetwinsize};

use super::terminal_pair;

/// How long a busy machine may take for one step.
const PATIENCE: Duration = Duration::from_secs(60);

/// An interactive bash, whose prompt is `ready> `.
pub struct Typist {
    master: File,
    shell: Child,
    seen: Arc<Mutex<String>>,
    /// Up to where the screen was looked at.
    read: usize,
}

impl Typist {
    /// Starts the shell and waits for its prompt.
    pub fn new() -> Self {
        let (mut screen, side) = terminal_pair::open();
        // Whoever runs the tests may ignore signals, as `nohup` does, which every child would inherit.
        let mut command = Command::new("env");
        command.args([
            "--default-signal",
            "setsid",
            "--ctty",
            "--wait",
            "bash",
            "--norc",
            "--noprofile",
            "--noediting",
            "-i",
        ]);
        command.env("PS1", "ready> ").env_remove("PROMPT_COMMAND").env("TERM", "xterm");
        terminal_pair::give(side, &mut command);
        let shell = command.spawn().unwrap();
        let seen = Arc::new(Mutex::new(String::new()));
        let shown = Arc::clone(&seen);
        let master = screen.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = screen.read(&mut bytes) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..n]));
            }
        });
        let mut typist = Self { master, shell, seen, read: 0 };
        typist.wait_for("ready> ");
        typist
    }

    /// Types text as it is.
    pub fn type_text(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    /// Types a command and the enter key, and passes over its echo.
    pub fn type_line(&mut self, text: &str) {
        self.type_text(&format!("{text}\n"));
        self.wait_for("\n");
    }

    /// All that was shown since it was last looked at.
    pub fn screen(&self) -> String {
        self.seen.lock().unwrap()[self.read..].to_owned()
    }

    /// Waits until a text is shown, and returns what came before it. What comes next is looked for
    /// behind it.
    pub fn wait_for(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if let Some(at) = screen.find(text) {
                self.read += at + text.len();
                return screen[..at].to_owned();
            }
            assert!(Instant::now() < deadline, "`{text}` is not there: {screen:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Runs a command in the shell and returns what it prints.
    pub fn ask(&mut self, command: &str) -> String {
        self.type_line(&format!("{command}; echo en''d"));
        let said = self.wait_for("end\r\n");
        self.wait_for("ready> ");
        said
    }

    /// Waits until the command that runs has ended, and returns its exit code.
    pub fn wait_for_code(&mut self) -> String {
        self.wait_for("ready> ");
        self.ask("echo code $?").trim().to_owned()
    }

    /// What an untouched terminal says of its modes.
    pub fn assert_usual_modes(&mut self) {
        let modes = self.ask("stty -a");
        for mode in ["icanon", "isig", "echo", "opost", "icrnl"] {
            let is_on = modes.split_whitespace().any(|word| word.trim_end_matches(';') == mode);
            assert!(is_on, "{mode}: {modes}");
        }
    }

    /// Gives the terminal another size.
    pub fn resize(&self, columns: u16, lines: u16) {
        let size = Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.master, size).unwrap();
    }

    /// The process under which everything was started.
    pub fn root(&self) -> u32 {
        self.shell.id()
    }
}

impl Drop for Typist {
    fn drop(&mut self) {
        // The shell hangs up its jobs; it may have ended by itself.
        for (id, _) in super::processes::descendants(self.root()) {
            let id = rustix::process::Pid::from_raw(id.cast_signed()).unwrap();
            let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
        }
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
