//! The host processes of a sandbox as the host lists them, whatever guests say.
//!
//! Guest code can jump to the shim's own instructions and copy its host process without asking the
//! kernel. Such a copy is a child of the kernel process all the same: the filter lets no other be
//! made. So what limits are held against is what the host lists.

mod register;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use host_sys::rustix::process::Pid;
use host_sys::{HostProcessState, OuterPid, list_children};
use kernel_core::timers;

use self::register::Entry;
pub use self::register::Register;
use super::{Engine, Space};

/// A host process that has not ended.
pub struct Listed {
    /// The host process that the kernel knows by this number.
    pub space: Option<Rc<Space>>,
    /// What the host says of it.
    pub state: HostProcessState,
    /// By which number the host lists it.
    pub outer: OuterPid,
    /// CPU time that it has used, in nanoseconds.
    pub cpu_time: u64,
}

/// What the host has for a thread beside its memory: a stack of its own kernel's, and what it keeps of
/// it. Measured with 10,000 threads, on Linux 6.18.
const THREAD_BYTES: u64 = 24 << 10;
/// The same for a process: tables of memory and files, signals.
const PROCESS_BYTES: u64 = 16 << 10;
/// Page tables beyond so much take long to copy for a child, and the host lists the child afterwards.
const QUICK_PAGE_TABLES: u64 = 256 << 10;

impl Listed {
    fn new(space: Option<Rc<Space>>, (outer, entry): (OuterPid, Entry)) -> Self {
        Self { space, state: entry.state, outer, cpu_time: entry.cpu_time }
    }

    /// Memory that the host holds for it alone. Memory files that it has mapped are counted once for all
    /// (`kernel_files::host_memory`), and host files are the host's. Large page tables count twice:
    /// there may be a copy that is listed nowhere yet.
    pub fn bytes(&self) -> u64 {
        let state = &self.state;
        let parts = [
            state.anonymous,
            state.swapped,
            state.page_tables,
            state.page_tables.saturating_sub(QUICK_PAGE_TABLES),
            state.n_threads.saturating_mul(THREAD_BYTES),
            PROCESS_BYTES,
        ];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// How often it was copied since its program was started; `None` if nobody told the kernel of it.
    pub fn generation(&self) -> Option<u32> {
        self.space.as_ref().map(|space| space.generation.get())
    }

    fn is_retired(&self) -> bool {
        self.space.as_ref().is_some_and(|space| space.is_retired.get())
    }
}

/// Everything that runs in a sandbox: neither the kernel process, nor the zygote, nor what waits for
/// a program.
#[derive(Default)]
pub struct Census {
    /// The host processes.
    pub processes: Vec<Listed>,
    /// How many of them the kernel does not know, though they may be about to say who they are.
    pub n_unknown: usize,
    /// How many of them nobody told the kernel of.
    pub n_hidden: usize,
    /// How many of them have had time to say who they are, and have not.
    pub n_overdue: usize,
}

/// More processes than this that the kernel was not told of come from no race: somebody copies itself
/// as fast as it can, and to look at each of them would give it time.
const FLOOD: usize = 200;
/// A copy that was asked for says who it is in its first microseconds. So long after it was listed ...
const SILENT_NANOS: u64 = 500_000_000;
/// ... it is late, unless it was given no CPU for as much as this.
const STARVED_NANOS: u64 = 20_000_000;

/// Whether a process has had time to say who it is.
fn is_overdue(entry: &Entry, now: timers::Instant) -> bool {
    let is_starved = !entry.state.is_asleep && entry.cpu_time < STARVED_NANOS;
    entry.since.after(SILENT_NANOS) <= now && !is_starved
}

impl Census {
    /// Memory of all of them.
    pub fn bytes(&self) -> u64 {
        self.processes.iter().map(Listed::bytes).sum()
    }

    /// Whether there are so many hidden ones that nothing remains to be found out.
    pub fn is_flood(&self) -> bool {
        self.n_hidden > FLOOD
    }

    /// Threads of all of them that are not about to end.
    pub fn n_threads(&self) -> u64 {
        let staying = self.processes.iter().filter(|it| !it.is_retired());
        staying.map(|it| it.state.n_threads).sum()
    }

    /// CPU time of all of them, in nanoseconds.
    pub fn cpu_time(&self) -> u64 {
        let pids = self.processes.iter().filter_map(|it| it.state.pid);
        pids.map(host_sys::process_cpu_time).sum()
    }
}

impl Engine {
    /// Takes the census. Nothing is counted where the host does not list processes.
    pub fn census(&self) -> Census {
        let listed = list_children().unwrap_or_default();
        let n_spaces = self.spaces.borrow().iter().flatten().count();
        // All that were asked for have a space, except for the zygote.
        let n_more = listed.len().saturating_sub(n_spaces + 1);
        if n_more > FLOOD {
            return Census { n_hidden: n_more, n_unknown: n_more, ..Census::default() };
        }
        let now = timers::now();
        let mut unknown: HashMap<Pid, (OuterPid, Entry)> = HashMap::with_capacity(listed.len());
        for (outer, entry) in self.register.look_at(&listed, now) {
            if let Some(pid) = entry.state.pid {
                unknown.insert(pid, (outer, entry));
            }
        }
        // Who is known is asked afterwards: a process that was listed has its space by now, though it
        // may not have said hello.
        let (mut n_silent, mut n_headless) = (0_usize, 0);
        let mut processes = Vec::with_capacity(unknown.len());
        for space in self.spaces.borrow().iter().flatten() {
            match space.host.pid() {
                None => n_silent += 1,
                Some(pid) => {
                    let entry = unknown.remove(&pid);
                    // The shim keeps the first thread of a process until all end. Only code that goes
                    // around it ends that one alone, to be counted as a process that is gone.
                    let is_headless = entry.is_some_and(|(_, it)| it.state.has_lost_leader);
                    n_headless += usize::from(is_headless && !space.is_retired.get());
                    let waits = self.pool.borrow().iter().any(|it| Rc::ptr_eq(it, space));
                    if let Some(entry) = entry.filter(|_| !waits) {
                        processes.push(Listed::new(Some(Rc::clone(space)), entry));
                    }
                }
            }
        }
        if let Some(zygote) = &*self.zygote.borrow() {
            unknown.remove(&zygote.pid());
        }
        let n_unknown = unknown.len();
        // A copy that was asked for and never says who it is would hide another one for ever.
        let n_overdue = unknown.values().filter(|(_, entry)| is_overdue(entry, now)).count();
        let n_early = n_unknown.saturating_sub(n_overdue);
        let n_hidden = n_overdue + n_early.saturating_sub(n_silent) + n_headless;
        processes.extend(unknown.into_values().map(|entry| Listed::new(None, entry)));
        Census { processes, n_unknown, n_hidden, n_overdue }
    }

    /// Ends every child that the host lists, those that never said hello included. Without a pid
    /// namespace nobody else would end them.
    pub fn kill_children(&self) {
        let mut ended = HashSet::new();
        loop {
            let pids =
                list_children().unwrap_or_default().into_iter().filter_map(|it| it.state()?.pid);
            // One that was made meanwhile is listed the next time. One that was ended makes no more.
            let fresh: Vec<Pid> = pids.filter(|pid| ended.insert(*pid)).collect();
            if fresh.is_empty() {
                return;
            }
            fresh.into_iter().for_each(host_sys::kill_child);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timers::Instant;

    /// A process that was listed first at 0, and has this state.
    fn entry(is_asleep: bool, cpu_time: u64) -> Entry {
        let state = HostProcessState { is_asleep, ..HostProcessState::default() };
        Entry::of(state, cpu_time)
    }

    #[test]
    fn who_is_silent_for_half_a_second_is_overdue() {
        let (before, after) = (Instant(SILENT_NANOS - 1), Instant(SILENT_NANOS));
        for (is_asleep, cpu_time) in [(true, 0), (true, STARVED_NANOS), (false, STARVED_NANOS)] {
            assert!(!is_overdue(&entry(is_asleep, cpu_time), before));
            assert!(is_overdue(&entry(is_asleep, cpu_time), after));
        }
    }

    #[test]
    fn who_was_given_no_cpu_could_not_speak() {
        assert!(!is_overdue(&entry(false, STARVED_NANOS - 1), Instant(10 * SILENT_NANOS)));
    }
}
