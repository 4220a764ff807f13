//! The file of `--audit`, which has a limit: a guest decides how often it asks.
//!
//! When the limit is reached, one line says so and nothing follows but, at the end, how many lines
//! are missing. The run goes on: who must not lose a line sets a limit that is high enough, and
//! sees at the end, on standard error and in the report, whether it was.

use std::fs::File;
use std::io::Write;

use serde::Serialize;

/// Room for the three lines that are about the log itself.
const RESERVED: u64 = 512;

/// A line about the log itself.
#[derive(Serialize)]
struct Notice<'a> {
    time: &'a str,
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<u64>,
}

/// A log with a limit.
pub struct AuditLog {
    file: File,
    limit: u64,
    written: u64,
    /// Lines that are not in it.
    lost: u64,
    is_full: bool,
}

impl AuditLog {
    /// An empty log that may have so many bytes.
    pub fn new(file: File, limit: u64) -> Self {
        Self { file, limit, written: 0, lost: 0, is_full: false }
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Adds a line, without its end, if there is room. `time` is for a line that says that there is
    /// none.
    pub fn write(&mut self, line: Vec<u8>, time: &str) {
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX).saturating_add(1);
        let needed = self.written.saturating_add(length).saturating_add(RESERVED);
        if !self.is_full && needed > self.limit {
            // What follows would have gaps; a log that ends is easier to judge.
            self.is_full = true;
            self.notice(&Notice { time, event: "full", limit: Some(self.limit), lost: None });
        }
        if self.is_full || !self.append(line) {
            self.lost = self.lost.saturating_add(1);
        }
    }

    /// Says that lines may be missing from here on, and that nobody knows how many: whoever had them
    /// was ended.
    pub fn cut_off(&mut self, time: &str) {
        self.notice(&Notice { time, event: "cut-off", limit: None, lost: None });
    }

    /// Ends the log. Returns how many lines are not in it.
    pub fn finish(mut self, time: &str) -> u64 {
        if self.lost > 0 {
            let lost = Some(self.lost);
            self.notice(&Notice { time, event: "lost", limit: None, lost });
        }
        self.lost
    }

    fn notice(&mut self, notice: &Notice<'_>) {
        if let Ok(line) = serde_json::to_vec(notice) {
            self.append(line);
        }
    }

    /// One call a line, so that a reader sees whole lines. A full disk does not stop a guest, but
    /// what did not get there counts as lost.
    fn append(&mut self, mut line: Vec<u8>) -> bool {
        line.push(b'\n');
        self.written = self.written.saturating_add(u64::try_from(line.len()).unwrap_or(u64::MAX));
        self.file.write_all(&line).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_log_ends_at_its_limit_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = AuditLog::new(File::create(&path).unwrap(), 1000);
        for _ in 0..100 {
            log.write(vec![b'x'; 99], "now");
        }
        assert_eq!(log.finish("later"), 96);
        let mut text = String::new();
        File::open(&path).unwrap().read_to_string(&mut text).unwrap();
        assert!(text.len() <= 1000, "{}", text.len());
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 6, "{text}");
        assert_eq!(lines[4], r#"{"time":"now","event":"full","limit":1000}"#);
        assert_eq!(lines[5], r#"{"time":"later","event":"lost","lost":96}"#);
    }

    #[test]
    fn what_the_host_does_not_take_is_lost() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut log = AuditLog::new(full, 1000);
        log.write(b"{}".to_vec(), "now");
        assert_eq!(log.finish("later"), 1);
    }
}
