//! What was learnt of host processes, from one census to the next.
//!
//! To ask the host for the memory of a process takes some twenty times as long as to ask for its CPU
//! time, and one that has used none has taken nothing. So a guest with many processes that sleep does
//! not make looks dear, which would give time to another one that fills memory.

use std::cell::RefCell;
use std::collections::HashMap;

use host_sys::{HostProcessState, OuterPid, process_cpu_time};
use kernel_core::timers::Instant;

/// The host itself may give large pages to a process that sleeps. It is asked again after so long ...
const STALE_NANOS: u64 = 1_000_000_000;
/// ... for so many in one census.
const STALE_PER_CENSUS: usize = 8;

/// What is known of one process.
#[derive(Clone, Copy)]
pub struct Entry {
    /// What the host said of it.
    pub state: HostProcessState,
    /// CPU time that it had used before that was asked for, in nanoseconds.
    pub cpu_time: u64,
    /// When it was listed for the first time.
    pub since: Instant,
    asked_at: Instant,
}

impl Entry {
    /// Of a process that was listed first at the beginning of time.
    #[cfg(test)]
    pub fn of(state: HostProcessState, cpu_time: u64) -> Self {
        Self { state, cpu_time, since: Instant(0), asked_at: Instant(0) }
    }

    fn new(process: OuterPid, now: Instant) -> Option<Self> {
        // Its own number, which the clock is asked by, is in the answer.
        let state = process.state()?;
        Some(Self { state, cpu_time: 0, since: now, asked_at: now })
    }

    fn is_stale(&self, now: Instant) -> bool {
        self.asked_at.after(STALE_NANOS) <= now
    }

    /// Brings it up to date, if the process has run or `is_due`.
    fn again(self, process: OuterPid, now: Instant, is_due: bool) -> Option<Self> {
        let cpu_time = self.state.pid.map_or(0, process_cpu_time);
        if cpu_time == self.cpu_time && cpu_time != 0 && !is_due {
            return Some(self);
        }
        let state = process.state()?;
        // The host may have given the number to another process.
        let since = if state.pid == self.state.pid { self.since } else { now };
        Some(Self { state, cpu_time, since, asked_at: now })
    }
}

/// All processes of the last census.
#[derive(Default)]
pub struct Register(RefCell<HashMap<OuterPid, Entry>>);

impl Register {
    /// Looks at the processes that the host lists. Those that have ended are left out.
    pub fn look_at(&self, listed: &[OuterPid], now: Instant) -> Vec<(OuterPid, Entry)> {
        let mut before = self.0.take();
        let mut n_stale = 0;
        let mut entries = Vec::with_capacity(listed.len());
        for &process in listed {
            let entry = match before.remove(&process) {
                None => Entry::new(process, now),
                Some(entry) => {
                    let is_due = entry.is_stale(now) && n_stale < STALE_PER_CENSUS;
                    n_stale += usize::from(is_due);
                    entry.again(process, now, is_due)
                }
            };
            entries.extend(entry.filter(|it| !it.state.has_ended).map(|entry| (process, entry)));
        }
        self.0.replace(entries.iter().copied().collect());
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_sys::list_children;
    use std::io::Write;
    use std::process::{Command, Stdio};

    /// What the register says of a child, which may need a moment to get where it is going.
    fn wait_for(register: &Register, what: impl Fn(&Entry) -> bool) -> Entry {
        for n in 1..10_000 {
            let listed = list_children().unwrap();
            let entries = register.look_at(&listed, Instant(n));
            if let Some((_, entry)) = entries.into_iter().find(|(_, entry)| what(entry)) {
                return entry;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        panic!("the child does not get there");
    }

    #[test]
    fn who_sleeps_is_not_asked_again_and_who_has_run_is() {
        let register = Register::default();
        let mut child =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let pid = host_sys::rustix::process::Pid::from_child(&child);
        let is_it = |entry: &Entry| entry.state.pid == Some(pid) && entry.state.is_asleep;
        let asleep = wait_for(&register, |it| is_it(it) && it.cpu_time == process_cpu_time(pid));
        let later = asleep.asked_at.after(STALE_NANOS / 2);
        let look = |at: Instant| {
            let entries = register.look_at(&list_children().unwrap(), at);
            entries.into_iter().find(|(_, it)| it.state.pid == Some(pid)).unwrap().1
        };
        assert_eq!(look(later).asked_at, asleep.asked_at, "it has not run");
        assert_eq!(
            look(later.after(STALE_NANOS)).asked_at,
            later.after(STALE_NANOS),
            "it is stale"
        );
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"x").unwrap();
        wait_for(&register, |it| is_it(it) && it.cpu_time > asleep.cpu_time);
        assert_eq!(look(Instant(1)).since, asleep.since);
        drop(input);
        child.wait().unwrap();
        assert!(register.look_at(&[], Instant(2)).is_empty());
    }
}
