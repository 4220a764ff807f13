//! Limits on what all guests use together: memory and CPU time.
//!
//! The host counts; the kernel looks ten times a second, and only while a guest can run: when
//! every guest thread waits, nothing grows. Without a limit for memory it looks at how much the
//! host has left: guests that nobody limited must not take a machine down.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Duration;

use kernel_core::timers;
use kernel_files::tmpfs::space::total;
use kernel_tasks::{Kernel, Process};
use sandbox::MemoryKill;
use sandbox_spec::Limits;

use crate::control::Ending;
use crate::engine::Engine;

/// How often to look.
const INTERVAL_NANOS: u64 = 100_000_000;

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

    /// Sets the next look, if there is something to look at.
    pub fn set(self: &Rc<Self>) {
        let can_run = self.engine.upgrade().is_some_and(|engine| !engine.is_quiet());
        if !can_run || self.is_set.replace(true) {
            return;
        }
        let watch = Rc::clone(self);
        self.kernel.timers.at(timers::now().after(INTERVAL_NANOS), move || {
            watch.is_set.set(false);
            watch.look();
            watch.set();
        });
    }

    fn look(&self) {
        let n_looks = self.n_looks.get();
        self.n_looks.set(n_looks.wrapping_add(1));
        if self.memory.is_some() || is_host_short() || n_looks.is_multiple_of(LOOKS_FOR_THE_REPORT)
        {
            self.look_at_memory();
        }
        self.look_at_cpu_time();
    }

    fn look_at_memory(&self) {
        let processes = self.kernel.ids.processes();
        let used: Vec<(u64, Rc<Process>)> = processes
            .into_iter()
            .filter_map(|process| {
                let thread = process.any_thread()?;
                Some((thread.machine().resident_bytes(), process))
            })
            .collect();
        let in_processes: u64 = used.iter().map(|(bytes, _)| bytes).sum();
        // What no process shows.
        let elsewhere = total::bytes() + self.kernel.namespaces.unattached_bytes();
        let in_use = in_processes + elsewhere;
        self.peak.set(self.peak.get().max(in_use));
        let is_too_much = match self.memory {
            Some(limit) => in_use > limit,
            None => is_host_short() && in_use > host_memory().0 / FAIR_PART,
        };
        if is_too_much {
            // As Linux does: the largest one goes.
            if let Some((bytes, process)) = used.into_iter().max_by_key(|(bytes, _)| *bytes) {
                self.note_kill(&process, bytes);
                self.end(&process, Ending::MemoryExceeded);
            }
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

    fn look_at_cpu_time(&self) {
        let Some(limit) = self.cpu_time else { return };
        let Some(first) = self.kernel.first() else { return };
        let spent: u64 = self
            .kernel
            .ids
            .processes()
            .iter()
            .map(|process| {
                let times = process.cpu_times();
                times.user + times.system
            })
            .sum();
        let dead = first.children_cpu_times();
        if u128::from(spent + dead.user + dead.system) > limit.as_nanos() {
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
