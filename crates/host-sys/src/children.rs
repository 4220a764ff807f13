//! Child processes: their end, their times, their memory.

#![expect(unsafe_code, reason = "clocks of other threads are not wrapped by rustix")]

use std::io::{self, Read};
use std::os::fd::AsRawFd;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, PidfdFlags, WaitOptions};

/// How a child process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostStatus {
    /// It exited with this code.
    Exited(i32),
    /// A signal killed it.
    Signaled(u32),
}

/// Collects one child that has ended, without waiting.
pub fn reap_child() -> Option<(Pid, HostStatus)> {
    let (pid, status) = rustix::process::wait(WaitOptions::NOHANG).ok().flatten()?;
    let status = match status.terminating_signal() {
        Some(signal) => HostStatus::Signaled(u32::try_from(signal).unwrap_or(9)),
        None => HostStatus::Exited(status.exit_status().unwrap_or(0)),
    };
    Some((pid, status))
}

/// CPU time of all children that have ended and were collected, in nanoseconds.
pub fn collected_cpu_time() -> u64 {
    // SAFETY: all zeroes are a value of this structure of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: writes the structure that it is given.
    if unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) } != 0 {
        return 0;
    }
    let nanos = |time: libc::timeval| {
        time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_usec.cast_unsigned() * 1000
    };
    nanos(usage.ru_utime) + nanos(usage.ru_stime)
}

/// The children of this thread as the host lists them, those that nobody told us of included. One
/// that begins or ends while they are listed may be missing.
pub fn list_children() -> io::Result<Vec<OuterPid>> {
    match std::fs::read_to_string("/proc/thread-self/children") {
        Ok(text) => Ok(text
            .split_ascii_whitespace()
            .filter_map(|it| it.parse().ok())
            .map(OuterPid)
            .collect()),
        // A host that was built without this file.
        Err(error) if error.kind() == io::ErrorKind::NotFound => children_by_parent(),
        Err(error) => Err(error),
    }
}

/// The same, by asking every process of the host for its parent.
fn children_by_parent() -> io::Result<Vec<OuterPid>> {
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let proc = rustix::fs::open("/proc", folder, Mode::empty())?;
    // By its number in `/proc`, which may not be the one that this process knows itself by.
    let own = rustix::fs::readlinkat(&proc, "self", Vec::new())?;
    let own = own.to_str().map_err(io::Error::other)?.parse().map_err(io::Error::other)?;
    let mut children = Vec::new();
    for entry in rustix::fs::Dir::read_from(&proc)?.flatten() {
        let Some(number) = entry.file_name().to_str().ok().and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let child = OuterPid(number);
        if field(&String::from_utf8_lossy(&child.text("status")), "PPid:") == Some(own) {
            children.push(child);
        }
    }
    Ok(children)
}

/// Has processes below this one become its children when their parents end, if that is wanted.
pub fn adopt_orphans(is_wanted: bool) -> io::Result<()> {
    if is_wanted {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    }
    Ok(())
}

/// Ends the children of this process that run the program without a name that was made with this
/// one, and collects them. Other children stay as they are.
pub fn end_children_of_program(name: &str) {
    let program = format!("/memfd:{name}");
    loop {
        let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let lists =
            tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        let children: Vec<i32> = lists
            .flat_map(|list| {
                list.split_whitespace().filter_map(|it| it.parse().ok()).collect::<Vec<_>>()
            })
            .filter(|pid| runs(*pid, &program))
            .collect();
        if children.is_empty() {
            return;
        }
        let children: Vec<Pid> = children.into_iter().filter_map(Pid::from_raw).collect();
        // All before the first one is waited for: the others would make more meanwhile.
        children.iter().copied().for_each(kill_child);
        for pid in children {
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
        }
    }
}

/// Whether a process runs this program. Its first thread may have ended, of which the host then tells
/// nothing.
fn runs(pid: i32, program: &str) -> bool {
    let is_it = |link: io::Result<std::path::PathBuf>| {
        link.is_ok_and(|link| link.to_string_lossy().starts_with(program))
    };
    let mut tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    is_it(std::fs::read_link(format!("/proc/{pid}/exe")))
        || tasks.any(|task| is_it(std::fs::read_link(task.path().join("exe"))))
}

/// What the host says of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostProcessState {
    /// By which number this process knows it.
    pub pid: Option<Pid>,
    /// It has ended with all its threads, and was not collected.
    pub has_ended: bool,
    /// It waits for something, so that it would not use a CPU if it had one.
    pub is_asleep: bool,
    /// Its first thread has ended, and others have not. The host calls it a zombie, and it runs.
    pub has_lost_leader: bool,
    /// Resident memory in bytes.
    pub resident: u64,
    /// That part of it which is no file's.
    pub anonymous: u64,
    /// Memory that is no file's, and that the host has put away.
    pub swapped: u64,
    /// The size of all its mappings.
    pub mapped: u64,
    /// That part of what is resident which lies in memory files, or is shared without a name.
    pub shared: u64,
    /// Memory of its page tables in bytes.
    pub page_tables: u64,
    /// How many threads it has.
    pub n_threads: u64,
}

impl HostProcessState {
    /// Reads the text of a `status` file.
    pub fn parse(text: &str) -> Self {
        const KIB: u64 = 1024;
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        // The last number is the one in the innermost namespace, which is this process's own.
        let pid = line("NSpid:").or_else(|| line("Pid:")).and_then(|numbers| {
            Pid::from_raw(numbers.split_ascii_whitespace().next_back()?.parse().ok()?)
        });
        let state = line("State:").unwrap_or_default().trim_start();
        let n_threads = field(text, "Threads:").unwrap_or(0);
        let is_dead = state.starts_with(['Z', 'X']);
        Self {
            pid,
            has_ended: is_dead && n_threads <= 1,
            is_asleep: state.starts_with('S'),
            has_lost_leader: is_dead && n_threads > 1,
            resident: field(text, "VmRSS:").unwrap_or(0).saturating_mul(KIB),
            anonymous: field(text, "RssAnon:").unwrap_or(0).saturating_mul(KIB),
            swapped: field(text, "VmSwap:").unwrap_or(0).saturating_mul(KIB),
            mapped: field(text, "VmSize:").unwrap_or(0).saturating_mul(KIB),
            shared: field(text, "RssShmem:").unwrap_or(0).saturating_mul(KIB),
            page_tables: field(text, "VmPTE:").unwrap_or(0).saturating_mul(KIB),
            n_threads,
        }
    }

    /// Of this process.
    pub fn own() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/self/status").unwrap_or_default())
    }
}

/// User and system time in the text of a `stat` file, in ticks.
pub fn cpu_ticks(text: &str) -> (u64, u64) {
    // The name, in parentheses, may hold anything; the numbers follow the last one.
    let mut fields = text.rsplit(") ").next().unwrap_or_default().split(' ').skip(11);
    let mut next = || fields.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    (next(), next())
}

/// The first number of the line with this name.
fn field(text: &str, name: &str) -> Option<u64> {
    // The name of a process comes first, and may not have a line end in it: the host escapes those.
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Ends a child that was listed and has not been collected, so that the number is its own.
pub fn kill_child(pid: Pid) {
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

/// Stops a child that was listed and has not been collected, or has it go on.
pub fn stop_child(pid: Pid, is_to_stop: bool) {
    use rustix::process::Signal;
    let signal = if is_to_stop { Signal::STOP } else { Signal::CONT };
    let _ = rustix::process::kill_process(pid, signal);
}

/// A process as `/proc` knows it. That may be by another number than ours, because `/proc` is
/// the host's and this process may be in a pid namespace of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OuterPid(u32);

impl OuterPid {
    /// The number by which `/proc` knows a process that has not been reaped.
    pub fn of(pid: Pid) -> Option<Self> {
        let handle = rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()?;
        let path = format!("/proc/self/fdinfo/{}", handle.as_raw_fd());
        let text = std::fs::read_to_string(path).ok()?;
        let number = text.lines().find_map(|line| line.strip_prefix("Pid:"))?;
        number.trim().parse().ok().map(Self)
    }

    /// User and system CPU time in nanoseconds, as coarse as the host's ticks; zero once it is
    /// gone.
    pub fn coarse_cpu_time(self) -> (u64, u64) {
        const NANOS_PER_TICK: u64 = 10_000_000;
        let (user, system) = cpu_ticks(&String::from_utf8_lossy(&self.text("stat")));
        (user.saturating_mul(NANOS_PER_TICK), system.saturating_mul(NANOS_PER_TICK))
    }

    /// Resident memory in bytes; zero once it is gone.
    pub fn resident_bytes(self) -> u64 {
        const PAGE: u64 = 4096;
        let text = self.text("statm");
        let text = String::from_utf8_lossy(&text);
        let pages: u64 = text.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        pages * PAGE
    }

    /// What the host says of it; `None` once it is gone.
    pub fn state(self) -> Option<HostProcessState> {
        let text = self.text("status");
        if text.is_empty() {
            return None;
        }
        let state = HostProcessState::parse(&String::from_utf8_lossy(&text));
        Some(if state.has_lost_leader { self.with_memory_of_threads(state) } else { state })
    }

    /// The host tells nothing of the memory of a thread that has ended: another one is asked.
    fn with_memory_of_threads(self, state: HostProcessState) -> HostProcessState {
        let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let tasks = rustix::fs::open(format!("/proc/{}/task", self.0), folder, Mode::empty());
        let tasks = tasks.and_then(rustix::fs::Dir::new).into_iter().flatten().flatten();
        let states = tasks.filter_map(|task| {
            let text = self.text(&format!("task/{}/status", task.file_name().to_str().ok()?));
            Some(HostProcessState::parse(&String::from_utf8_lossy(&text)))
        });
        let living = states.max_by_key(|it| it.resident).unwrap_or_default();
        HostProcessState {
            resident: living.resident,
            anonymous: living.anonymous,
            swapped: living.swapped,
            mapped: living.mapped,
            shared: living.shared,
            page_tables: living.page_tables,
            ..state
        }
    }

    /// How many mappings it has, none once it is gone. Takes some 0.3 µs for each: `after_piece` is
    /// called each time that some more are counted.
    pub fn count_mappings(self, mut after_piece: impl FnMut()) -> io::Result<u64> {
        const PIECE: usize = 1 << 14;
        let mut file = match std::fs::File::open(format!("/proc/{}/maps", self.0)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            opened => opened?,
        };
        let mut piece = vec![0; PIECE];
        let mut n_mappings = 0;
        loop {
            let length = match file.read(&mut piece) {
                Ok(0) => return Ok(n_mappings),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(0),
                Err(error) => return Err(error),
            };
            let lines = piece.iter().take(length).filter(|byte| **byte == b'\n');
            n_mappings += lines.count() as u64;
            after_piece();
        }
    }

    /// A file of `/proc/<pid>`, such as `maps`; empty once the process is gone.
    pub fn text(self, file: &str) -> Vec<u8> {
        std::fs::read(format!("/proc/{}/{file}", self.0)).unwrap_or_default()
    }
}

/// CPU time of a thread of any process in nanoseconds; zero once it is gone.
pub fn thread_cpu_time(tid: u32) -> u64 {
    /// `CPUCLOCK_SCHED | CPUCLOCK_PERTHREAD_MASK`.
    const THREAD_CLOCK: i32 = 6;
    i32::try_from(tid).map_or(0, |tid| read_clock((!tid << 3) | THREAD_CLOCK))
}

/// CPU time of a process in nanoseconds; zero once it is gone.
pub fn process_cpu_time(pid: Pid) -> u64 {
    /// `CPUCLOCK_SCHED`.
    const PROCESS_CLOCK: i32 = 2;
    read_clock((!pid.as_raw_nonzero().get() << 3) | PROCESS_CLOCK)
}

/// CPU time of the calling thread in nanoseconds.
pub fn own_cpu_time() -> u64 {
    read_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read_clock(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the structure that it is given.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) };
    if failed != 0 {
        return 0;
    }
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_nobody_told_of_is_listed() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let listed = [list_children().unwrap(), children_by_parent().unwrap()];
        let state = OuterPid(child.id()).state().unwrap();
        kill_child(state.pid.unwrap());
        let status = child.wait().unwrap();
        for list in listed {
            assert!(list.contains(&OuterPid(child.id())));
        }
        assert!(!state.has_ended);
        assert_eq!(state.n_threads, 1);
        assert!(!status.success());
    }

    #[test]
    fn mappings_are_counted() {
        let own = OuterPid(std::process::id());
        let as_text = || own.text("maps").iter().filter(|byte| **byte == b'\n').count() as u64;
        let before = as_text();
        let (mut counted, mut n_pieces) = (0, 0);
        // Other tests of this process may map something at any time.
        for _ in 0..1000 {
            counted = own.count_mappings(|| n_pieces += 1).unwrap();
            if counted == as_text() {
                break;
            }
        }
        assert!(counted >= before / 2 && n_pieces > 0, "{counted} and {before} before");
        assert_eq!(counted, as_text());
    }

    #[test]
    fn what_the_host_says_of_a_process_is_understood() {
        let text = "Name:\tx\nState:\tZ (zombie)\nPid:\t70\nNSpid:\t70\t3\nVmRSS:\t  12 kB\n\
                    VmSize:\t  400 kB\nVmPTE:\t  8 kB\nVmSwap:\t  5 kB\nThreads:\t4\n";
        let state = HostProcessState::parse(text);
        assert_eq!(state.pid, Pid::from_raw(3));
        assert!(!state.has_ended && state.has_lost_leader, "three threads go on");
        assert!(HostProcessState::parse("State:\tZ (zombie)\nThreads:\t1\n").has_ended);
        assert_eq!((state.resident, state.page_tables, state.n_threads), (12 << 10, 8 << 10, 4));
        assert_eq!((state.mapped, state.swapped), (400 << 10, 5 << 10));
        assert!(HostProcessState::parse("State:\tS (sleeping)\n").is_asleep && !state.is_asleep);
        assert_eq!(HostProcessState::parse(""), HostProcessState::default());
    }
}
