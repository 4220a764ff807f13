//! Which system calls a test program exercises, found by tracing it.
//!
//! Every program maps its libraries and reads files before it tests anything. What it does when it
//! only lists its cases is therefore taken off, where it can list them.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::launcher::Launcher;
use crate::process;
use crate::protocol::Protocol;
use crate::trace::{Calls, under_strace_by};

/// Calls by name, each with its share of all the calls that the program exercises, per mille.
pub type Exercises = BTreeMap<String, u64>;

/// Traces a program natively. It has no more time than one case, since a trace of a program that
/// runs for long says no more than that of its start.
pub(crate) fn exercises(
    program: &Path,
    protocol: Protocol,
    launcher: &Launcher,
    timeout: Duration,
) -> io::Result<Exercises> {
    let trace = |argument| trace(program, argument, launcher, timeout);
    let all = trace(None)?;
    let start = match protocol.list_argument() {
        Some(argument) => trace(Some(argument))?,
        None => Calls::default(),
    };
    Ok(beyond(&all, &start))
}

fn trace(
    program: &Path,
    argument: Option<&str>,
    launcher: &Launcher,
    timeout: Duration,
) -> io::Result<Calls> {
    let file = tempfile::NamedTempFile::new()?;
    let mut command = under_strace_by(launcher, file.path());
    command.arg(program).args(argument);
    process::run(&mut command, b"", timeout)?;
    Calls::read(file.path())
}

/// What was done more often than at the start.
fn beyond(all: &Calls, start: &Calls) -> Exercises {
    let before = |name: &String| start.0.get(name).map_or(0, |call| call.uses.count);
    let more: Vec<_> = all
        .0
        .iter()
        .map(|(name, call)| (name, call.uses.count.saturating_sub(before(name))))
        .filter(|(_, count)| *count > 0)
        .collect();
    let total = more.iter().map(|(_, count)| count).sum::<u64>().max(1);
    more.into_iter().map(|(name, count)| (name.clone(), count * 1000 / total)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_start_does_is_no_exercise() {
        let start = Calls::parse("1 mmap() = 0\n1 write() = 0");
        let all = Calls::parse("1 mmap() = 0\n1 write() = 0\n1 write() = 0\n1 pipe2() = 0");
        let exercises = beyond(&all, &start);
        assert_eq!(
            exercises.into_iter().collect::<Vec<_>>(),
            [("pipe2".to_owned(), 500), ("write".to_owned(), 500)]
        );
    }
}
