//! What the kernel process and the process that started it say to each other: one JSON value a
//! line, over a socket.

use std::io::{self, BufRead, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use kernel_loader::prepared::Signature;
use sandbox::{LayerReport, LayerState, MemoryKill, NotCopied};
use sandbox_spec::{Activity, Change, ConnectionRecord};
use serde::{Deserialize, Serialize};

/// To the kernel process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// The kernel process's users are mapped, and it is in its control group if there is one: it
    /// may begin.
    Begin(LayerReport),
    /// What the tree shows may be read by the rules, or what else is to become of that layer.
    Files(LayerState),
    /// The copy of the host's loader is complete, and this is what the file looked like; or there is
    /// none.
    Loader(Option<Signature>),
    /// Send the guest a signal.
    Signal(u8),
    /// End everything.
    Kill,
}

/// Why the first program did not start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// A name that is not in the guest's `PATH`.
    CommandNotFound,
    /// The program names an interpreter that is not there.
    InterpreterNotFound(Vec<u8>),
    /// The policy does not let this path run.
    Denied(Vec<u8>),
    /// What `execve` answered.
    Program(i32),
    /// The working folder is not there.
    WorkingDirectory,
    /// A path of the specification cannot be used: what for, and the host's error number.
    Path {
        /// Index into the list of purposes in `sandbox_handle.rs`.
        purpose: Purpose,
        /// The path.
        path: Vec<u8>,
        /// The host's error number.
        errno: i32,
        /// What is wrong, where that says more than the number.
        reason: Option<String>,
    },
    /// A step failed with this host error number.
    Step {
        /// What was tried.
        step: String,
        /// The host's error number.
        errno: i32,
    },
    /// A layer is required and does not hold.
    Layer(LayerReport),
}

/// What a host path was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// To be the guest's root.
    Root,
    /// To be mounted.
    Mount,
    /// To hold the trace.
    Trace,
    /// To hold what the guest writes.
    Overlay,
    /// To take what is copied after the run.
    Output,
}

/// How the first process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// It exited.
    Exited(u8),
    /// A signal killed it; with a core dump, on Linux.
    Signaled(u8, bool),
    /// The time was over.
    TimedOut,
    /// It used too much memory.
    MemoryExceeded,
    /// It used too much CPU time.
    CpuTimeExceeded,
    /// It wrote too much.
    OutputExceeded,
    /// It was told to end.
    Killed,
    /// Somebody on the host killed the zygote, without which no program can start.
    ZygoteDied,
    /// The host listed processes that the kernel was not told of.
    ProcessesHidden,
}

/// What the guests used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// From start to end.
    pub wall: Duration,
    /// In user mode.
    pub user: Duration,
    /// In the host's kernel.
    pub system: Duration,
    /// The kernel process itself.
    pub kernel: Duration,
    /// The most memory at one time.
    pub peak_memory: u64,
    /// Calls that reached the kernel process.
    pub calls: u64,
    /// Processes and threads started.
    pub processes: u64,
    /// They wanted to write more than the limit of the disk leaves.
    pub is_disk_full: bool,
    /// Processes, the first not among them, that were killed because there was too little memory.
    pub memory_kills: Vec<MemoryKill>,
}

/// From the kernel process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum News {
    /// The first program is loaded and about to run, inside these layers.
    Started(Vec<LayerReport>),
    /// It cannot be run.
    Refused(Refusal),
    /// A guest wants the keys of the terminal, which the starter gives.
    KeysWanted,
    /// The first process was stopped.
    Stopped,
    /// Some of what the run changed, if that was asked for.
    Changes(Vec<Change>),
    /// What should have been copied to the host and was not.
    NotCopied(Vec<NotCopied>),
    /// What the guest did; comes before the end.
    Activity(Box<Activity>),
    /// No guest runs any more. Comes where there is a time limit, for whoever watches from outside.
    NoneRuns,
    /// It is over. What the guests wanted of the network in vain, where nothing may leave.
    Ended(Ending, Used, Vec<ConnectionRecord>),
}

/// Sends one value.
pub fn send<T: Serialize>(mut stream: &UnixStream, value: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(value).map_err(io::Error::other)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Receives news; `None` at the end of the stream.
pub fn receive<T: for<'a> Deserialize<'a>>(reader: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = String::new();
    match reader.read_line(&mut line) {
        Ok(0) => return Ok(None),
        // The other side has ended before it read everything.
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
        other => other?,
    };
    serde_json::from_str(&line).map(Some).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn who_ends_without_reading_everything_has_ended() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        send(&ours, &Order::Kill).unwrap();
        drop(theirs);
        assert_eq!(receive::<News>(&mut BufReader::new(ours)).unwrap(), None);
    }
}
