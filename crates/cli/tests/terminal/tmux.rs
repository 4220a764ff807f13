//! A terminal that a test can type into and read.

use std::collections::HashSet;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::processes::{self, Process};

/// How long a busy machine may take for one step.
const PATIENCE: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// A tmux server of its own with one window of 80 columns and 24 lines.
pub struct Tmux {
    name: String,
}

impl Tmux {
    /// Runs a command in a new terminal. Says so and returns nothing where there is no tmux.
    pub fn start(command: &str) -> Option<Self> {
        static N_STARTED: AtomicU32 = AtomicU32::new(0);
        if Command::new("tmux").arg("-V").output().is_err() {
            test_skips::skip("terminal", "there is no tmux");
            return None;
        }
        let n = N_STARTED.fetch_add(1, Ordering::Relaxed);
        let terminal = Self { name: format!("belljar-test-{}-{n}", std::process::id()) };
        terminal.ask(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", command]);
        Some(terminal)
    }

    fn try_ask(&self, words: &[&str]) -> Output {
        Command::new("tmux").args(["-L", &self.name]).args(words).output().unwrap()
    }

    fn ask(&self, words: &[&str]) -> String {
        let output = self.try_ask(words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {words:?}: {errors}\n{}", self.screen());
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What is on the screen, with a line end before it, and without blanks at the ends of lines.
    pub fn screen(&self) -> String {
        let output = self.try_ask(&["capture-pane", "-p"]);
        format!("\n{}", String::from_utf8_lossy(&output.stdout))
    }

    /// Types text as it is.
    pub fn type_text(&self, text: &str) {
        self.ask(&["send-keys", "-l", text]);
    }

    /// Types text and the enter key.
    pub fn type_line(&self, text: &str) {
        self.type_text(text);
        self.press("Enter");
    }

    /// Presses a key that has a name.
    pub fn press(&self, key: &str) {
        self.ask(&["send-keys", key]);
    }

    /// Gives the window another size.
    pub fn resize(&self, columns: u32, lines: u32) {
        let (columns, lines) = (columns.to_string(), lines.to_string());
        self.ask(&["resize-window", "-x", &columns, "-y", &lines]);
    }

    /// Waits until a text is on the screen.
    pub fn wait_for(&self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.screen().contains(text) {
            assert!(Instant::now() < deadline, "`{text}` is not there:{}", self.screen());
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    /// All that was started in the terminal.
    pub fn processes(&self) -> HashSet<Process> {
        let first = self.ask(&["display-message", "-p", "#{pane_pid}"]);
        let first = first.trim().parse().unwrap();
        let mut all = processes::descendants(first);
        let found = processes::processes().into_iter().map(|(process, _)| process);
        all.extend(found.filter(|process| process.0 == first));
        all
    }

    /// Closes the terminal, as its window's button would.
    pub fn close(&self) {
        self.ask(&["kill-server"]);
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.try_ask(&["kill-server"]);
    }
}
