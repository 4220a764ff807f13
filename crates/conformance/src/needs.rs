//! Which system calls a program uses, and how well they are supported.
//!
//! The program is run once under a tracer that writes a line per call: `strace` natively, or the
//! sandbox itself. What it did in that run is what the answer is about, and nothing else.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Command;

use kernel_syscalls::{SYSCALLS, Status};
use serde::Serialize;

/// How often a program made a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Uses {
    /// Calls.
    pub count: u64,
    /// Calls that did not fail.
    pub succeeded: u64,
}

/// How much a program depends on what is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// Not supported, and the program got an answer from Linux.
    Critical,
    /// Refused on purpose, and the program got an answer from Linux.
    High,
    /// Supported in part: whether the part is enough shows when it runs.
    Medium,
    /// Supported without effect, or not supported and of no use to the program natively either.
    Low,
    /// Supported.
    None,
}

impl Priority {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
            Self::None => "-",
        }
    }
}

/// One call that a program uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Need {
    /// The call.
    pub call: String,
    /// How often.
    #[serde(flatten)]
    pub uses: Uses,
    /// The word in the table of system calls.
    pub status: &'static str,
    /// The note in the table.
    pub note: &'static str,
    /// How much it matters.
    pub priority: Priority,
}

/// Sets calls against the table; the worst first.
pub fn judge(calls: &BTreeMap<String, Uses>) -> Vec<Need> {
    let mut needs: Vec<_> = calls.iter().map(|(call, uses)| need(call, *uses)).collect();
    needs.sort_by(|a, b| (a.priority, b.uses.count).cmp(&(b.priority, a.uses.count)));
    needs
}

fn need(call: &str, uses: Uses) -> Need {
    let row = SYSCALLS.iter().find(|row| row.name == call);
    let priority = match row.map(|row| row.status) {
        Some(Status::Full(_) | Status::Shim(_)) => Priority::None,
        Some(Status::Partial(..)) => Priority::Medium,
        Some(Status::Stub(..)) => Priority::Low,
        _ if uses.succeeded == 0 => Priority::Low,
        Some(Status::Refused(..)) => Priority::High,
        Some(Status::Missing) | None => Priority::Critical,
    };
    Need {
        call: call.to_owned(),
        uses,
        status: row.map_or("unknown", |row| row.status.word()),
        note: row.map_or("", |row| row.status.note()),
        priority,
    }
}

/// A command that runs a program under `strace`, with the trace in this file.
pub fn under_strace(trace: &Path) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-s", "0", "-e", "signal=none", "-o"]).arg(trace).arg("--");
    command
}

/// Counts the calls in a trace.
pub fn read_trace(path: &Path) -> io::Result<BTreeMap<String, Uses>> {
    let text = std::fs::read(path)?;
    let text = String::from_utf8_lossy(&text);
    let mut calls = BTreeMap::<String, Uses>::new();
    for line in text.lines() {
        if let Some((call, succeeded)) = parse_line(line) {
            let uses = calls.entry(call.to_owned()).or_default();
            uses.count += 1;
            uses.succeeded += u64::from(succeeded);
        }
    }
    Ok(calls)
}

/// `1234  openat(AT_FDCWD, "x", O_RDONLY) = -1 ENOENT (No such file or directory)`. The end of a
/// call that was interrupted by another line names it again, and is left out.
fn parse_line(line: &str) -> Option<(&str, bool)> {
    let (before, after) = line.split_once('(')?;
    let call = before.rsplit([' ', ']', '\t']).next()?;
    let is_name = !call.is_empty()
        && call
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if !is_name || before.contains("resumed") {
        return None;
    }
    let failed =
        after.rsplit_once(" = ").is_some_and(|(_, result)| result.trim_start().starts_with("-1 E"));
    Some((call, !failed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_lines_of_a_trace() {
        assert_eq!(parse_line("12 read(3, \"\", 10) = 0"), Some(("read", true)));
        let line = "12 openat(AT_FDCWD, \"x(\", 0) = -1 ENOENT (No such file or directory)";
        assert_eq!(parse_line(line), Some(("openat", false)));
        assert_eq!(parse_line("12 wait4(-1, <unfinished ...>"), Some(("wait4", true)));
        assert_eq!(parse_line("12 <... wait4 resumed>) = 5"), None);
        assert_eq!(parse_line("12 +++ exited with 0 +++"), None);
        assert_eq!(parse_line("12 --- SIGCHLD {si_signo=SIGCHLD} ---"), None);
    }

    #[test]
    fn what_linux_refused_too_matters_little() {
        let uses = |succeeded| Uses { count: 5, succeeded };
        assert_eq!(need("no_such_call", uses(0)).priority, Priority::Low);
        assert_eq!(need("no_such_call", uses(5)).priority, Priority::Critical);
    }
}
