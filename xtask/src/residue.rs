//! What a sandbox may leave behind, and how to see that it did not.

use std::collections::VecDeque;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::hostile::gauge::Gauge;

/// How long the host may take to end processes, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// A `belljar` in a process group of its own, to which everything that it starts belongs: guests
/// cannot leave it.
pub struct Tracked {
    /// The process.
    pub child: Child,
    /// How many processes it has.
    pub crowd: Crowd,
    group: u32,
    gauge: Option<Gauge>,
}

/// A process of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub id: u32,
    /// Its parent.
    pub parent: u32,
    /// When it started, in ticks of the host.
    pub started: u64,
    /// CPU time of it and of the children that it collected, in ticks of the host.
    pub ticks: u64,
}

impl Tracked {
    /// Starts it, with `folder` for its temporary files.
    pub fn start(belljar: &Path, folder: &Path, arguments: &[String]) -> Result<Self> {
        Self::start_with(belljar, folder, arguments, None)
    }

    /// Starts it, and has its memory measured.
    pub fn start_with(
        belljar: &Path,
        folder: &Path,
        arguments: &[String],
        gauge: Option<Gauge>,
    ) -> Result<Self> {
        let mut command = match gauge.as_ref().and_then(Gauge::door) {
            Some(door) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(door).arg(belljar);
                shell
            }
            None => Command::new(belljar),
        };
        command.args(["run", "--no-cwd"]).args(arguments).env("TMPDIR", folder).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().context("cannot start belljar")?;
        let group = child.id();
        Ok(Self { child, crowd: Crowd::default(), group, gauge })
    }

    /// Its processes that are alive, itself included.
    pub fn processes(&self) -> Vec<Process> {
        let ids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter_map(|id: u32| {
            let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            // The name is in parentheses and may contain anything.
            let fields: Vec<_> = text.rsplit_once(')')?.1.split_whitespace().collect();
            let (state, parent, group) = (fields.first()?, fields.get(1)?, fields.get(2)?);
            let started = fields.get(19)?.parse().ok()?;
            let is_ours = group.parse() == Ok(self.group) && *state != "Z";
            let ticks = fields.get(11..15)?.iter().filter_map(|it| it.parse::<u64>().ok()).sum();
            is_ours.then_some(Process { id, parent: parent.parse().ok()?, started, ticks })
        })
        .collect()
    }

    /// Waits for its end; `None` if it does not come in time, and it is ended by force.
    pub fn wait(&mut self, limit: Duration) -> Result<Option<std::process::ExitStatus>> {
        let status = self.wait_for(limit)?;
        if status.is_none() {
            self.end();
        }
        Ok(status)
    }

    fn wait_for(&mut self, limit: Duration) -> Result<Option<std::process::ExitStatus>> {
        let deadline = Instant::now() + limit;
        loop {
            let status = self.child.try_wait()?;
            if status.is_some() || Instant::now() > deadline {
                return Ok(status);
            }
            let wants_a_look = self.gauge.as_ref().is_some_and(Gauge::needs_looks);
            if wants_a_look || self.crowd.is_due(Instant::now()) {
                let processes = self.processes();
                self.crowd.look(Instant::now(), processes.len());
                if let Some(gauge) = &mut self.gauge {
                    gauge.look(&processes);
                }
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for its end for as long as it gets anywhere: `None` if it hangs, asleep or spinning,
    /// and it is ended by force. How busy the machine is does not matter.
    pub fn wait_while_it_works(&mut self) -> Result<Option<std::process::ExitStatus>> {
        /// Asleep for so long, it waits for something that does not come.
        const LONGEST_SLEEP: Duration = Duration::from_secs(180);
        /// A kernel process that waits in vain still gets up ten times a second, which takes some.
        const LEAST_TICKS: u64 = 100;
        /// No run uses so much.
        const MOST_TICKS: u64 = 300 * 100;
        let (mut last, mut changed) = (0, Instant::now());
        loop {
            if let Some(status) = self.wait_for(Duration::from_secs(1))? {
                return Ok(Some(status));
            }
            let processes = self.processes();
            let ticks = processes.iter().map(|process| process.ticks).sum();
            if ticks > last + LEAST_TICKS {
                (last, changed) = (ticks, Instant::now());
            }
            if changed.elapsed() > LONGEST_SLEEP || ticks > MOST_TICKS {
                self.end();
                return Ok(None);
            }
        }
    }

    /// The most bytes of memory that it held at one time, if that was measured.
    pub fn most_memory(&self) -> Option<u64> {
        self.gauge.as_ref().map(Gauge::most)
    }

    /// Ends it by force.
    pub fn end(&mut self) {
        if let Some(group) = i32::try_from(self.group).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }

    /// Fails if something of it is left: a process, or a file in `folder`.
    pub fn check_nothing_left(&self, folder: &Path) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !self.processes().is_empty() {
            if Instant::now() > deadline {
                bail!("processes are left: {:?}", self.processes());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let left: Vec<_> = std::fs::read_dir(folder)?.flatten().map(|it| it.path()).collect();
        if !left.is_empty() {
            bail!("temporary files are left: {left:?}");
        }
        for (file, what) in [("/proc/self/mountinfo", "mounts"), ("/proc/net/unix", "sockets")] {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            if text.lines().any(|line| line.contains(&*folder.to_string_lossy())) {
                bail!("{what} are left");
            }
        }
        Ok(())
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.end();
        }
    }
}

/// How many processes there are, from look to look.
#[derive(Default)]
pub struct Crowd {
    /// Those looks of the last second, and the last one before.
    looks: VecDeque<(Instant, usize)>,
    most: usize,
}

impl Crowd {
    /// For less time many may be there: those that end, and those that are about to be found.
    const LASTING: Duration = Duration::from_secs(1);
    const INTERVAL: Duration = Duration::from_millis(50);

    fn is_due(&self, now: Instant) -> bool {
        self.looks.back().is_none_or(|(at, _)| now.duration_since(*at) >= Self::INTERVAL)
    }

    fn look(&mut self, now: Instant, n_processes: usize) {
        self.looks.push_back((now, n_processes));
        let is_old = |look: Option<&(Instant, usize)>| {
            look.is_some_and(|(at, _)| now.duration_since(*at) >= Self::LASTING)
        };
        while is_old(self.looks.get(1)) {
            self.looks.pop_front();
        }
        if is_old(self.looks.front()) {
            let least = self.looks.iter().map(|it| it.1).min().unwrap_or(0);
            self.most = self.most.max(least);
        }
    }

    /// The most processes that were there for more than a second.
    pub fn most_lasting(&self) -> usize {
        self.most
    }
}

/// Reads a stream to its end in a thread of its own, and keeps the last part.
pub fn drain(stream: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    const KEPT: usize = 1 << 20;
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let Some(mut stream) = stream else { return kept };
        let mut chunk = [0; 1 << 16];
        while let Ok(n @ 1..) = stream.read(&mut chunk) {
            kept.extend(chunk.iter().take(n));
            let excess = kept.len().saturating_sub(KEPT);
            kept.drain(..excess);
        }
        kept
    })
}

/// What was drained, as text.
pub fn text(reader: JoinHandle<Vec<u8>>) -> String {
    String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
}

/// The names in `/dev/shm` that are ours.
pub fn shared_memory() -> Vec<String> {
    let entries = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("belljar")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_counts_when_it_lasts_for_a_second() {
        let start = Instant::now();
        let after = |looks: &[(u64, usize)]| {
            let mut crowd = Crowd::default();
            for (at, n) in looks {
                crowd.look(start + Duration::from_millis(*at), *n);
            }
            crowd.most_lasting()
        };
        assert_eq!(after(&[(0, 70), (500, 70), (900, 70), (950, 5)]), 0);
        assert_eq!(after(&[(0, 70), (500, 66), (1000, 70), (1050, 5)]), 66);
        assert_eq!(after(&[(0, 70), (500, 5), (1000, 70), (1600, 70), (2000, 60)]), 60);
    }
}
