//! Which processes there were, and which programs they ran.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use kernel_core::supervisor::ProcessEvent;
use kernel_core::timers::Instant;
use linux_abi::Pid;
use linux_abi::tasks::ExitStatus;
use sandbox_spec::{Activity, Command, ProcessEnd, ProcessRecord, ProgramRecord};

use super::text;

/// How many processes are recorded.
const MAX_PROCESSES: usize = 5_000;
/// How many programs of one process are recorded.
const MAX_COMMANDS: usize = 8;
/// How many different programs are recorded.
const MAX_PROGRAMS: usize = 1_000;
/// How many bytes of one command's arguments are recorded.
const MAX_ARGUMENT_BYTES: usize = 4 << 10;
/// How many bytes of all commands' arguments are recorded.
const MAX_BYTES: usize = 4 << 20;

/// The processes of a sandbox.
#[derive(Default)]
pub struct Processes {
    began: Option<Instant>,
    records: Vec<ProcessRecord>,
    /// Where in `records` the process is that has an id now.
    by_pid: HashMap<Pid, usize>,
    more: u64,
    programs: BTreeMap<Vec<u8>, u64>,
    more_programs: u64,
    n_bytes: usize,
    first_has_ended: bool,
}

impl Processes {
    /// The time from which times are counted.
    pub fn begin(&mut self, now: Instant) {
        self.began = Some(now);
    }

    /// Something happened to a process.
    pub fn add(&mut self, pid: Pid, event: ProcessEvent<'_>, now: Instant) {
        let began = self.began.map_or(now.0, |began| began.0);
        let at = Duration::from_nanos(now.0.saturating_sub(began));
        match event {
            ProcessEvent::Started(parent) => self.start(pid, parent, at),
            ProcessEvent::Executed(path, arguments) => self.execute(pid, path, arguments),
            ProcessEvent::Ended(status, user, system) => {
                let is_first = self.by_pid.get(&pid) == Some(&0);
                let end = self.end_of(status);
                if let Some(record) = self.record(pid) {
                    record.ended = Some(at);
                    record.end = end;
                    record.user_time = Duration::from_nanos(user);
                    record.system_time = Duration::from_nanos(system);
                }
                self.by_pid.remove(&pid);
                self.first_has_ended |= is_first;
            }
        }
    }

    fn record(&mut self, pid: Pid) -> Option<&mut ProcessRecord> {
        let index = *self.by_pid.get(&pid)?;
        self.records.get_mut(index)
    }

    fn start(&mut self, pid: Pid, parent: Pid, at: Duration) {
        if self.records.len() >= MAX_PROCESSES {
            self.more += 1;
            self.by_pid.remove(&pid);
            return;
        }
        self.by_pid.insert(pid, self.records.len());
        self.records.push(ProcessRecord {
            pid: pid.0,
            parent: parent.0,
            started: at,
            ..ProcessRecord::default()
        });
    }

    /// A program, or a script, may run and is about to.
    pub fn add_program(&mut self, path: &[u8]) {
        let is_full = self.programs.len() >= MAX_PROGRAMS;
        match self.programs.get_mut(path) {
            Some(times) => *times += 1,
            None if is_full => self.more_programs += 1,
            None => {
                self.programs.insert(path.to_vec(), 1);
            }
        }
    }

    fn execute(&mut self, pid: Pid, path: &[u8], arguments: &[u8]) {
        let room = MAX_BYTES.saturating_sub(self.n_bytes).min(MAX_ARGUMENT_BYTES);
        let command = command(path, arguments, room);
        let n_bytes: usize = command.arguments.iter().map(String::len).sum();
        let Some(record) = self.record(pid) else { return };
        if record.commands.len() >= MAX_COMMANDS {
            record.more_commands += 1;
            return;
        }
        record.commands.push(command);
        self.n_bytes += path.len() + n_bytes;
    }

    fn end_of(&self, status: ExitStatus) -> Option<ProcessEnd> {
        if self.first_has_ended {
            return Some(ProcessEnd::WithSandbox);
        }
        let signal = status.signal().map(|signal| ProcessEnd::Signal(signal.number()));
        signal.or_else(|| status.code().map(ProcessEnd::Code))
    }

    /// Tells which processes there were.
    pub fn tell(self, activity: &mut Activity) {
        activity.processes = self.records;
        activity.more_processes = self.more;
        activity.more_programs = self.more_programs;
        let programs = self.programs.into_iter();
        activity.programs =
            programs.map(|(path, times)| ProgramRecord { path: text(&path), times }).collect();
    }
}

/// A command with as many of its arguments as there is room for.
fn command(path: &[u8], arguments: &[u8], room: usize) -> Command {
    let shown = arguments.get(..room).unwrap_or(arguments);
    let is_cut = shown.len() < arguments.len();
    let ended = shown.strip_suffix(b"\0").unwrap_or(shown);
    Command {
        program: text(path),
        arguments: ended.split(|&byte| byte == 0).map(text).collect(),
        is_cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux_abi::signals::Signal;

    #[test]
    fn a_process_has_programs_times_and_an_end() {
        let mut processes = Processes::default();
        processes.begin(Instant(1_000));
        let exited = |code| ProcessEvent::Ended(ExitStatus::exited(code), 5, 6);
        processes.add(Pid(2), ProcessEvent::Started(Pid(1)), Instant(1_000));
        processes.add(Pid(2), ProcessEvent::Executed(b"/bin/sh", b"sh\0-c\0\0"), Instant(1_000));
        for pid in [3, 4] {
            processes.add(Pid(pid), ProcessEvent::Started(Pid(2)), Instant(3_000));
        }
        let killed = ExitStatus::signaled(Signal::SIGKILL, false);
        processes.add(Pid(3), ProcessEvent::Ended(killed, 0, 0), Instant(4_000));
        processes.add(Pid(2), exited(3), Instant(5_000));
        processes.add(Pid(4), ProcessEvent::Ended(killed, 0, 0), Instant(5_000));
        let mut activity = Activity::default();
        processes.tell(&mut activity);
        let ends: Vec<_> = activity.processes.iter().map(|process| process.end).collect();
        let signal = Some(ProcessEnd::Signal(9));
        assert_eq!(ends, [Some(ProcessEnd::Code(3)), signal, Some(ProcessEnd::WithSandbox)]);
        assert_eq!(activity.processes[0].commands[0].arguments, ["sh", "-c", ""]);
        assert_eq!(activity.processes[1].started, Duration::from_nanos(2_000));
    }

    #[test]
    fn long_arguments_are_cut() {
        let long = [b'x'; MAX_ARGUMENT_BYTES * 2];
        let cut = command(b"/a", &long, MAX_ARGUMENT_BYTES);
        assert!(cut.is_cut);
        assert_eq!(cut.arguments[0].len(), MAX_ARGUMENT_BYTES);
    }

    #[test]
    fn processes_beyond_the_bound_are_counted() {
        let mut processes = Processes::default();
        for pid in 0..u32::try_from(MAX_PROCESSES).unwrap() + 7 {
            processes.add(Pid(pid + 2), ProcessEvent::Started(Pid(1)), Instant(0));
        }
        let mut activity = Activity::default();
        processes.tell(&mut activity);
        assert_eq!((activity.processes.len(), activity.more_processes), (MAX_PROCESSES, 7));
    }
}
