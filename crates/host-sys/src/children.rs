//! Child processes: their end, their times, their memory.

#![expect(unsafe_code, reason = "clocks of other threads are not wrapped by rustix")]

use std::os::fd::AsRawFd;

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

/// A process as `/proc` knows it. That may be by another number than ours, because `/proc` is
/// the host's and this process may be in a pid namespace of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        let text = self.text("stat");
        let text = String::from_utf8_lossy(&text);
        // The name, in parentheses, may hold anything; the numbers follow the last one.
        let mut fields = text.rsplit(") ").next().unwrap_or_default().split(' ').skip(11);
        let mut next = || fields.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        let (user, system): (u64, u64) = (next(), next());
        (user * NANOS_PER_TICK, system * NANOS_PER_TICK)
    }

    /// Resident memory in bytes; zero once it is gone.
    pub fn resident_bytes(self) -> u64 {
        const PAGE: u64 = 4096;
        let text = self.text("statm");
        let text = String::from_utf8_lossy(&text);
        let pages: u64 = text.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        pages * PAGE
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

fn read_clock(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the structure that it is given.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) };
    if failed != 0 {
        return 0;
    }
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
