//! Limits on what all guests use together: memory, CPU time, and processes.
//!
//! The host counts, and lists: a process that was made without the kernel counts as all others do. The
//! kernel looks ten times a second, and more often the less memory is left, so that nobody takes much
//! more between two looks. While every guest thread waits here nothing should grow, and it looks now
//! and then whether that is so. Without a limit for memory it looks at how much the host has left:
//! guests that nobody limited must not take a machine down.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Duration;

use host_sys::HostProcessState;
use kernel_core::timers;
use kernel_files::tmpfs::space::total;
use kernel_tasks::{Kernel, Process};
use sandbox::MemoryKill;
use sandbox_spec::Limits;

use crate::control::Ending;
use crate::engine::Engine;
use crate::engine::census::{Census, Listed};
use crate::kernel_process::MOST_TASKS;

/// How often to look while a guest can run ...
const INTERVAL_NANOS: u64 = 100_000_000;
/// ... and while every guest thread waits here.
const QUIET_INTERVAL_NANOS: u64 = 250_000_000;
/// The same, where memory is limited.
const QUIET_LIMITED_NANOS: u64 = 20_000_000;
/// At least so long from look to look ...
const LEAST_INTERVAL_NANOS: u64 = 1_000_000;
/// ... and so many times what a look takes.
const SHARE_OF_LOOKS: u64 = 10;
/// No guest fills memory faster: bytes in a nanosecond.
const FASTEST_FILLING: u64 = 16;
/// So many looks in a row must find hidden processes before the sandbox is ended for them: one that
/// ends may be listed for a moment after it is forgotten ...
const LOOKS_AT_HIDDEN: u32 = 3;
/// ... and for so long.
const HIDDEN_NANOS: u64 = 400_000_000;
/// Threads beyond the limit that a sandbox may have for a moment: those that begin and end.
const OTHER_THREADS: u64 = 200;

/// Where no limit needs it, memory is looked at once in so many looks, to tell how much it was.
const LOOKS_FOR_THE_REPORT: u64 = 10;
/// So many processes that were killed for want of memory are told of.
const MAX_KILLS_TOLD: usize = 8;

/// Without a limit, the guests give way when less than one part in this many of the host's memory is
/// left ...
const RESERVED_PART: u64 = 10;
/// ... and they hold more than one part in this many of it.
const FAIR_PART: u64 = 4;

/// The host's memory: all of it, and what is left. Zeroes if it does not say.
fn host_memory() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let word = line.and_then(|line| line.split_whitespace().next());
        word.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0).saturating_mul(1024)
    };
    (bytes("MemTotal:"), bytes("MemAvailable:"))
}

/// Whether the host itself is about to run out of memory.
fn is_host_short() -> bool {
    let (all, left) = host_memory();
    left < all / RESERVED_PART
}

/// Watches what the guests use.
pub struct Watch {
    engine: Weak<Engine>,
    kernel: Rc<Kernel>,
    memory: Option<u64>,
    cpu_time: Option<Duration>,
    because: Rc<Cell<Option<Ending>>>,
    peak: Cell<u64>,
    kills: RefCell<Vec<MemoryKill>>,
    n_looks: Cell<u64>,
    is_set: Cell<bool>,
    /// Memory of the kernel process before there was a guest.
    own_bytes_at_start: u64,
    max_tasks: u64,
    /// How often in a row there were hidden processes, and since when.
    hidden: Cell<Option<(u32, timers::Instant)>>,
    /// When to look again.
    interval: Cell<u64>,
}

/// Memory of the kernel process that no file shows.
fn own_bytes() -> u64 {
    let own = HostProcessState::own();
    own.anonymous.saturating_add(own.page_tables)
}

impl Watch {
    /// A watch over these limits. Whoever exceeds them leaves the reason in `because`.
    pub fn new(
        engine: &Rc<Engine>,
        kernel: &Rc<Kernel>,
        limits: &Limits,
        because: &Rc<Cell<Option<Ending>>>,
    ) -> Rc<Self> {
        Rc::new(Self {
            engine: Rc::downgrade(engine),
            kernel: Rc::clone(kernel),
            memory: limits.memory.map(|size| size.0),
            cpu_time: limits.cpu_time,
            because: Rc::clone(because),
            peak: Cell::new(0),
            kills: RefCell::default(),
            n_looks: Cell::new(0),
            is_set: Cell::new(false),
            own_bytes_at_start: own_bytes(),
            max_tasks: limits.processes.unwrap_or(MOST_TASKS).min(MOST_TASKS).into(),
            hidden: Cell::new(None),
            interval: Cell::new(INTERVAL_NANOS),
        })
    }

    /// The most memory that was seen in use at one time, or that one process said that it had.
    pub fn peak(&self) -> u64 {
        self.peak.get().max(self.kernel.most_resident())
    }

    /// Processes, the first not among them, that were killed for want of memory.
    pub fn kills(&self) -> Vec<MemoryKill> {
        self.kills.borrow().clone()
    }

    /// Sets the next look.
    pub fn set(self: &Rc<Self>) {
        if self.is_set.replace(true) {
            return;
        }
        let watch = Rc::clone(self);
        self.kernel.timers.at(timers::now().after(self.interval.get()), move || {
            watch.is_set.set(false);
            watch.look();
            watch.set();
        });
    }

    fn look(&self) {
        let Some(engine) = self.engine.upgrade() else { return };
        let started = timers::now();
        let n_looks = self.n_looks.get();
        self.n_looks.set(n_looks.wrapping_add(1));
        let census = engine.census();
        let is_due = n_looks.is_multiple_of(LOOKS_FOR_THE_REPORT);
        let left = if self.memory.is_some() || is_due || is_host_short() {
            self.look_at_memory(&census)
        } else {
            u64::MAX
        };
        self.look_at_cpu_time(&census);
        self.look_for_hidden(&census);
        let took = timers::now().0.saturating_sub(started.0);
        self.interval.set(match (engine.is_quiet(), self.memory) {
            (true, None) => QUIET_INTERVAL_NANOS,
            (true, Some(_)) => QUIET_LIMITED_NANOS,
            (false, _) => (left / FASTEST_FILLING).clamp(LEAST_INTERVAL_NANOS, INTERVAL_NANOS),
        });
        self.interval.set(self.interval.get().max(took.saturating_mul(SHARE_OF_LOOKS)));
    }

    /// Ends the largest process if all of them use too much. Returns how much they may still take.
    fn look_at_memory(&self, census: &Census) -> u64 {
        // What no guest process shows.
        let own = own_bytes().saturating_sub(self.own_bytes_at_start);
        let elsewhere = total::bytes() + self.kernel.namespaces.unattached_bytes();
        let in_use = census.bytes() + own + elsewhere;
        self.peak.set(self.peak.get().max(in_use));
        let is_too_much = match self.memory {
            Some(limit) => in_use > limit,
            None => is_host_short() && in_use > host_memory().0 / FAIR_PART,
        };
        if is_too_much {
            // As Linux does: the largest one goes.
            if let Some(largest) = census.processes.iter().max_by_key(|it| it.bytes()) {
                self.end_for_memory(largest);
            }
        }
        self.memory.map_or(u64::MAX, |limit| limit.saturating_sub(in_use))
    }

    fn end_for_memory(&self, largest: &Listed) {
        let process = largest.space.as_ref().and_then(|space| space.guest_process());
        if let Some(process) = process {
            self.note_kill(&process, largest.bytes());
            self.end(&process, Ending::MemoryExceeded);
        } else if let Some(pid) = largest.state.pid {
            // Nobody knows whose it is.
            host_sys::kill_child(pid);
        }
    }

    /// A process that the kernel was not told of was made by code that attacks its shim. What more it
    /// would do, nobody knows: everything ends.
    fn look_for_hidden(&self, census: &Census) {
        let most_threads = 2 * self.max_tasks + OTHER_THREADS;
        if census.n_hidden == 0 && census.n_threads() <= most_threads {
            return self.hidden.set(None);
        }
        let (n_looks, since) = self.hidden.get().unwrap_or((0, timers::now()));
        self.hidden.set(Some((n_looks + 1, since)));
        if n_looks + 1 >= LOOKS_AT_HIDDEN && since.after(HIDDEN_NANOS) <= timers::now() {
            self.because.set(Some(Ending::ProcessesHidden));
            for pid in census.processes.iter().filter_map(|it| it.state.pid) {
                host_sys::kill_child(pid);
            }
            self.kernel.kill_all();
        }
    }

    /// Keeps for the report that a process is killed for want of memory. How the first one ends is
    /// told anyway.
    fn note_kill(&self, process: &Process, bytes: u64) {
        let mut kills = self.kills.borrow_mut();
        if self.is_first(process) || kills.len() >= MAX_KILLS_TOLD {
            return;
        }
        let name = process.any_thread().map_or(Vec::new(), |thread| thread.name());
        let name = String::from_utf8_lossy(&name).into_owned();
        kills.push(MemoryKill { pid: process.pid.0, name, bytes });
    }

    fn is_first(&self, process: &Process) -> bool {
        self.kernel.first().is_some_and(|first| first.pid == process.pid)
    }

    fn look_at_cpu_time(&self, census: &Census) {
        let Some(limit) = self.cpu_time else { return };
        let Some(first) = self.kernel.first() else { return };
        let spent = census.cpu_time().saturating_add(host_sys::collected_cpu_time());
        if u128::from(spent) > limit.as_nanos() {
            self.end(&first, Ending::CpuTimeExceeded);
        }
    }

    fn end(&self, process: &Rc<Process>, why: Ending) {
        if self.is_first(process) {
            self.because.set(Some(why));
        }
        process.kill();
    }
}
