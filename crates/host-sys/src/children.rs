//! Child processes: their end, their times, their memory.

use rustix::process::{Pid, WaitOptions};

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

/// User and system CPU time of a process, in nanoseconds; zero once it is gone.
pub fn process_cpu_time(pid: Pid) -> (u64, u64) {
    stat_times(&format!("/proc/{}/stat", pid.as_raw_nonzero()))
}

/// User and system CPU time of a thread, in nanoseconds; zero once it is gone.
pub fn thread_cpu_time(tid: u32) -> (u64, u64) {
    stat_times(&format!("/proc/{tid}/task/{tid}/stat"))
}

fn stat_times(path: &str) -> (u64, u64) {
    const NANOS_PER_TICK: u64 = 10_000_000;
    let text = std::fs::read_to_string(path).unwrap_or_default();
    // The name, in parentheses, may hold anything; the numbers follow the last one.
    let mut fields = text.rsplit(") ").next().unwrap_or_default().split(' ').skip(11);
    let mut next = || fields.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let (user, system): (u64, u64) = (next(), next());
    (user * NANOS_PER_TICK, system * NANOS_PER_TICK)
}

/// Resident memory of a process in bytes; zero once it is gone.
pub fn resident_bytes(pid: Pid) -> u64 {
    let path = format!("/proc/{}/statm", pid.as_raw_nonzero());
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let pages: u64 = text.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    pages * 4096
}

/// The mappings of a process as the host tells them.
pub fn maps_text(pid: Pid) -> Vec<u8> {
    std::fs::read(format!("/proc/{}/maps", pid.as_raw_nonzero())).unwrap_or_default()
}

/// The mappings of a process with their sizes, as the host tells them.
pub fn smaps_text(pid: Pid) -> Vec<u8> {
    std::fs::read(format!("/proc/{}/smaps", pid.as_raw_nonzero())).unwrap_or_default()
}
