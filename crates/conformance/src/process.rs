//! Running one program to its end, with a time-out, and keeping what it said.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// No more of a stream is kept than this; the rest is read and thrown away.
const KEPT_BYTES: usize = 16 << 20;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this code.
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
    /// Killed by us, for it took too long.
    TimedOut,
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::TimedOut => f.write_str("time-out"),
        }
    }
}

/// What a program left behind.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub ending: Ending,
    /// Its standard output.
    pub output: Vec<u8>,
    /// Its standard error.
    pub errors: Vec<u8>,
    /// From its start to its end.
    pub wall_time: Duration,
}

/// Runs a command with this input to its end. It gets a process group of its own, of which
/// nothing is left alive when this returns.
pub fn run(command: &mut Command, input: &[u8], timeout: Duration) -> io::Result<Finished> {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let writer = child.stdin.take().map(|stream| write_all(stream, input.to_vec()));
    let output = child.stdout.take().map(read_all);
    let errors = child.stderr.take().map(read_all);
    let status = wait(&mut child, started + timeout)?;
    let wall_time = started.elapsed();
    // Whoever is left in the group holds the pipes open, and is a leftover in any case.
    end_group(&child);
    if let Some(writer) = writer {
        // A program need not read its input.
        let _ = writer.join();
    }
    Ok(Finished { ending: ending(status), output: join(output), errors: join(errors), wall_time })
}

fn ending(status: Option<ExitStatus>) -> Ending {
    match status {
        None => Ending::TimedOut,
        Some(status) => match (status.code(), status.signal()) {
            (Some(code), _) => Ending::Code(code),
            (None, signal) => Ending::Signal(signal.unwrap_or(0)),
        },
    }
}

/// Waits until the child or the time is over. `None` if it was the time.
fn wait(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            end_group(child);
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

fn end_group(child: &Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        // Fails when nobody is left, which is what we want.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn write_all(mut to: impl Write + Send + 'static, bytes: Vec<u8>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        // A closed pipe means that the program does not want the rest.
        let _ = to.write_all(&bytes);
    })
}

fn read_all(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let limit = u64::try_from(KEPT_BYTES).unwrap_or(u64::MAX);
        // What was read before an error is all there is.
        let _ = from.by_ref().take(limit).read_to_end(&mut kept);
        let _ = io::copy(&mut from, &mut io::sink());
        kept
    })
}

fn join(reader: Option<JoinHandle<Vec<u8>>>) -> Vec<u8> {
    reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, timeout: Duration) -> Finished {
        run(Command::new("sh").args(["-c", script]), b"hello", timeout).unwrap()
    }

    #[test]
    fn keeps_output_and_code() {
        let finished = sh("cat; echo oops >&2; exit 3", Duration::from_secs(10));
        assert_eq!(finished.ending, Ending::Code(3));
        assert_eq!((finished.output, finished.errors), (b"hello".to_vec(), b"oops\n".to_vec()));
    }

    #[test]
    fn reports_the_signal() {
        assert_eq!(sh("kill -9 $$", Duration::from_secs(10)).ending, Ending::Signal(9));
    }

    #[test]
    fn ends_what_takes_too_long_and_its_children() {
        let finished = sh("sleep 100 & sleep 100", Duration::from_millis(100));
        assert_eq!(finished.ending, Ending::TimedOut);
        assert!(finished.wall_time < Duration::from_secs(10));
    }
}
