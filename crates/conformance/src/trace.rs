//! Reading traces: which system calls were made, with which options, and whether they succeeded.
//!
//! Both tracers write a line per call: `strace` natively, and the sandbox itself. Natively the
//! options have names beside their numbers; inside there are only numbers, so that numbers are
//! what is compared.

mod options;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::launcher::Launcher;

/// How often something was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uses {
    /// Calls.
    pub count: u64,
    /// Calls that did not fail.
    pub succeeded: u64,
}

impl Uses {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.succeeded += other.succeeded;
    }
}

/// An option of a call with many meanings, such as `fcntl(2)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionUse {
    /// Its name, or its number where the name is not known.
    pub name: String,
    /// How often it was used.
    #[serde(flatten)]
    pub uses: Uses,
}

/// How one call was used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallUse {
    /// How often it was made.
    #[serde(flatten)]
    pub uses: Uses,
    /// Its options, by their numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, OptionUse>,
}

/// What a program, or several, asked of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Calls(pub BTreeMap<String, CallUse>);

impl Calls {
    /// Adds what another run asked for.
    pub fn merge(&mut self, other: &Self) {
        for (name, call) in &other.0 {
            let own = self.0.entry(name.clone()).or_default();
            own.uses.add(call.uses);
            for (number, option) in &call.options {
                let own = own.options.entry(number.clone()).or_default();
                own.name.clone_from(&option.name);
                own.uses.add(option.uses);
            }
        }
    }

    /// Counts the calls in a trace.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = std::fs::read(path)?;
        Ok(Self::parse(&String::from_utf8_lossy(&text)))
    }

    /// Counts the calls in the text of a trace.
    pub fn parse(text: &str) -> Self {
        let mut calls = Self::default();
        // What a call was, where its line was interrupted by another thread's.
        let mut unfinished = HashMap::new();
        for line in text.lines() {
            let thread = line.split([' ', ']']).next().unwrap_or_default();
            if line.contains(" resumed>") {
                if let Some(call) = unfinished.remove(thread) {
                    calls.count(&call, !has_failed(line));
                }
            } else if let Some(call) = parse_call(line) {
                if line.ends_with("<unfinished ...>") {
                    unfinished.insert(thread, call);
                } else {
                    calls.count(&call, !has_failed(line));
                }
            }
        }
        // These never came back: `exit`, and whatever the program was killed in.
        unfinished.values().for_each(|call| calls.count(call, true));
        calls
    }

    fn count(&mut self, made: &Made<'_>, succeeded: bool) {
        let uses = Uses { count: 1, succeeded: u64::from(succeeded) };
        let call = self.0.entry(made.call.to_owned()).or_default();
        call.uses.add(uses);
        if let Some((number, name)) = &made.option {
            let option = call.options.entry(number.clone()).or_default();
            option.name.clone_from(name);
            option.uses.add(uses);
        }
    }
}

/// A command that runs a program under `strace`, with the trace in this file.
pub fn under_strace(trace: &Path) -> Command {
    under_strace_by(&Launcher::native(), trace)
}

/// The same, where programs run natively by a command of the user's.
pub(crate) fn under_strace_by(launcher: &Launcher, trace: &Path) -> Command {
    let mut command = launcher.command(Path::new("strace"));
    let options = ["-f", "-qq", "-s", "0", "-X", "verbose", "-e", "signal=none", "-o"];
    command.args(options).arg(trace).arg("--");
    command
}

/// One line of a trace.
struct Made<'a> {
    call: &'a str,
    /// Number and name.
    option: Option<(String, String)>,
}

/// `1234  openat(AT_FDCWD, "x", O_RDONLY) = -1 ENOENT (No such file or directory)`.
fn parse_call(line: &str) -> Option<Made<'_>> {
    let (before, arguments) = line.split_once('(')?;
    let call = before.rsplit([' ', ']', '\t']).next()?;
    let of_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if call.is_empty() || !call.bytes().all(of_name) {
        return None;
    }
    Some(Made { call, option: options::of_call(call, arguments) })
}

fn has_failed(line: &str) -> bool {
    line.rsplit_once(" = ").is_some_and(|(_, result)| result.trim_start().starts_with("-1 E"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(text: &str, call: &str) -> Option<(u64, u64)> {
        Calls::parse(text).0.get(call).map(|call| (call.uses.count, call.uses.succeeded))
    }

    #[test]
    fn reads_lines_of_both_tracers() {
        assert_eq!(uses("12 read(3, \"\", 10) = 0", "read"), Some((1, 1)));
        assert_eq!(uses("[2] lseek(3, 0, 1) = 0", "lseek"), Some((1, 1)));
        let failing = "12 openat(AT_FDCWD, \"x(\", 0) = -1 ENOENT (No such file or directory)";
        assert_eq!(uses(failing, "openat"), Some((1, 0)));
        assert_eq!(Calls::parse("12 +++ exited with 0 +++"), Calls::default());
        assert_eq!(Calls::parse("12 --- SIGCHLD {si_signo=SIGCHLD} ---"), Calls::default());
    }

    #[test]
    fn an_interrupted_line_is_one_call() {
        let text = "12 wait4(-1,  <unfinished ...>\n13 getpid() = 13\n\
            12 <... wait4 resumed>) = -1 ECHILD (No child processes)\n13 exit_group(0 <unfinished ...>";
        assert_eq!(uses(text, "wait4"), Some((1, 0)));
        assert_eq!(uses(text, "exit_group"), Some((1, 1)));
    }

    #[test]
    fn an_option_is_the_same_natively_and_inside() {
        let native = Calls::parse("12 fcntl(3, 0x406 /* F_DUPFD_CLOEXEC */, 0) = 4");
        let inside = Calls::parse("[2] fcntl(3, 1030, 0x0) = 4");
        assert_eq!(native, inside);
        let option = native.0["fcntl"].options.get("0x406").unwrap();
        assert_eq!((option.name.as_str(), option.uses.count), ("F_DUPFD_CLOEXEC", 1));
        let socket = Calls::parse("[2] setsockopt(3, 1, 2, \"\\x01\", 4) = 0");
        assert_eq!(socket.0["setsockopt"].options["0x1 0x2"].name, "SOL_SOCKET SO_REUSEADDR");
        let unknown = Calls::parse("[2] ioctl(3, 0xabcd, 0x0) = -1 ENOTTY (x)");
        assert_eq!(unknown.0["ioctl"].options["0xabcd"].name, "0xabcd");
    }
}
