//! What guests hold, and what the kernel process holds for them.
//!
//! What guests ask the kernel process for fails with an error when it does not fit
//! (`kernel_core::ledger`). Their own memory, and memory files that they have mapped, they fill without
//! asking. So both are measured here, and whoever holds most when all of it does not fit is killed, as
//! on a Linux machine that has no memory left.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use host_sys::HostProcessState;
use kernel_core::ledger::{self, Measured};
use kernel_core::timers::{self, Instant};
use kernel_files::host_memory;
use kernel_files::tmpfs::space::total;
use kernel_tasks::{Kernel, Process};
use linux_abi::signals::Signal;
use linux_abi::tasks::ExitStatus;
use sandbox::MemoryKill;
use sandbox_spec::Limits;

use super::mappings::Mappings;
use super::race::{Race, Runner};
use super::turns::Turns;
use crate::control::Ending;
use crate::engine::census::{Census, Listed};

/// How long one who was killed has to go before the next one is.
const GOING_NANOS: u64 = 100_000_000;
/// How many memory files are looked at while nobody's share of them changes.
const FILES_PER_LOOK: usize = 128;
/// What the allocator may keep for itself beyond what is charged, and how often it is asked to give
/// back.
const SLACK: u64 = 4 << 20;
const TRIM_NANOS: u64 = 100_000_000;
/// What mappings may hold unseen is one part in this many of the limit.
const UNSEEN_PART: u64 = 16;
/// Guests that have so many mappings that counting takes longer are stopped meanwhile: they must not gain
/// time by it.
const COUNTING_NANOS: u64 = 1_000_000;
/// So many processes that were killed for want of memory are told of.
const MAX_KILLS_TOLD: usize = 8;

/// Without a limit, the guests give way when less than one part in this many of the host's memory is
/// left ...
const RESERVED_PART: u64 = 10;
/// ... and they hold more than one part in this many of it.
const FAIR_PART: u64 = 4;

/// The host's memory: all of it, and what is left. Zeroes if it does not say.
fn host_memory_now() -> (u64, u64) {
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
    let (all, left) = host_memory_now();
    left < all / RESERVED_PART
}

/// Memory of the kernel process that no file shows.
fn own_bytes() -> u64 {
    let own = HostProcessState::own();
    own.anonymous.saturating_add(own.page_tables)
}

/// What there is too much of.
#[derive(Clone, Copy)]
enum Excess {
    Memory,
    /// Files were filled through mappings beyond what `--disk` allows.
    Disk,
}

/// When a process was killed, and what was held then.
#[derive(Clone, Copy)]
struct Kill {
    at: Instant,
    held: u64,
}

/// Watches memory.
pub struct Memory {
    kernel: Rc<Kernel>,
    limit: Option<u64>,
    because: Rc<Cell<Option<Ending>>>,
    peak: Cell<u64>,
    kills: RefCell<Vec<MemoryKill>>,
    /// The last process that was killed, if too much is held since.
    last_kill: Cell<Option<Kill>>,
    /// Memory of the kernel process before there was a guest.
    own_at_start: u64,
    /// What guests had of memory files when it was last looked.
    shared: Cell<u64>,
    trimmed_at: Cell<Instant>,
    /// Counts mappings, if there is a limit.
    mappings: Option<Mappings>,
    race: Race,
    turns: Turns,
}

impl Memory {
    /// Watches over this limit. Whoever exceeds it leaves the reason in `because`.
    pub fn new(kernel: &Rc<Kernel>, limits: &Limits, because: &Rc<Cell<Option<Ending>>>) -> Self {
        let limit = limits.memory.map(|size| size.0);
        // Guests that nobody limited must leave something to the host.
        let all_but_reserved = || match host_memory_now().0 {
            0 => u64::MAX,
            all => all - all / RESERVED_PART,
        };
        ledger::set_limit(limit.unwrap_or_else(all_but_reserved));
        Self {
            kernel: Rc::clone(kernel),
            limit,
            because: Rc::clone(because),
            peak: Cell::new(0),
            kills: RefCell::default(),
            last_kill: Cell::new(None),
            own_at_start: own_bytes(),
            shared: Cell::new(0),
            trimmed_at: Cell::new(Instant(0)),
            mappings: limit.map(|_| Mappings::new()),
            race: Race::default(),
            turns: Turns::default(),
        }
    }

    /// Whether there is a limit.
    pub fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// The most that was seen in use at one time.
    pub fn peak(&self) -> u64 {
        self.peak.get()
    }

    /// Processes, the first not among them, that were killed.
    pub fn kills(&self) -> Vec<MemoryKill> {
        self.kills.borrow().clone()
    }

    /// How much more may be held, as far as is known.
    pub fn left(&self) -> u64 {
        self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(ledger::held_with_guests()))
    }

    /// Whether something may grow beyond what it may.
    pub fn needs_a_look(&self) -> bool {
        self.is_limited() || host_memory::can_grow() || is_host_short()
    }

    /// Measures what only the host knows. Brings what memory files hold up to date.
    pub fn measure(&self, census: &Census) -> Measured {
        // Whoever fills a file has more of it from look to look. To ask for each file would give time to
        // a guest that has many and fills something else.
        let shared = census.processes.iter().map(|it| it.state.shared).sum();
        if self.shared.replace(shared) == shared {
            host_memory::recount_some(FILES_PER_LOOK);
        } else {
            host_memory::recount_all();
        }
        let own = self.own();
        let guests = census.bytes();
        Measured { guests: guests.saturating_add(self.mappings(census, guests)), own }
    }

    /// What the host holds for mappings of guests, if there is a limit.
    fn mappings(&self, census: &Census, guests: u64) -> u64 {
        let (Some(limit), Some(mappings)) = (self.limit, &self.mappings) else { return 0 };
        let room = limit.saturating_sub(ledger::held().saturating_add(guests));
        let (was_standstill, started) = (self.turns.is_standstill(), timers::now());
        let stopped = self.turns.stopped();
        let stop = || {
            if !self.turns.is_standstill() && started.after(COUNTING_NANOS) <= timers::now() {
                self.turns.stop_all(census);
            }
        };
        let bytes = mappings.bytes(census, room, limit / UNSEEN_PART, stop);
        if self.turns.is_standstill() && !was_standstill {
            self.turns.stop_only(census, &stopped);
        }
        bytes
    }

    /// Has those go on that may, while all fits.
    fn give_turns(&self, census: &Census, held: u64) {
        let Some(limit) = self.limit else { return self.turns.stop_only(census, &[]) };
        let runner = |it: &Listed| {
            Some(Runner {
                pid: it.state.pid?,
                size: it.bytes().saturating_add(it.state.shared),
                cpu_time: it.cpu_time,
                is_asleep: it.state.is_asleep,
            })
        };
        let runners: Vec<_> = census.processes.iter().filter_map(runner).collect();
        self.turns.stop_only(census, &self.race.who_waits(&runners, held, limit));
    }

    /// What the kernel process itself has come to hold.
    fn own(&self) -> u64 {
        let grown = || own_bytes().saturating_sub(self.own_at_start);
        let now = timers::now();
        let own = grown();
        if own <= ledger::charged_own() + SLACK || now < self.trimmed_at.get().after(TRIM_NANOS) {
            return own;
        }
        // What guests had, and gave back, is not theirs any more.
        self.trimmed_at.set(now);
        host_sys::trim_heap();
        grown()
    }

    /// Measures, and ends the largest process if all together hold too much.
    pub fn look(&self, census: &Census) {
        ledger::note(self.measure(census));
        let held = ledger::held_with_guests();
        self.peak.set(self.peak.get().max(held));
        let is_too_much = match self.limit {
            Some(limit) => held > limit,
            None => is_host_short() && held > host_memory_now().0 / FAIR_PART,
        };
        let why = match (is_too_much, total::is_exceeded()) {
            (true, _) => Some(Excess::Memory),
            (false, true) => Some(Excess::Disk),
            (false, false) => None,
        };
        let Some(why) = why else {
            self.last_kill.set(None);
            return self.give_turns(census, held);
        };
        // Whoever fills memory would go on while another one goes, and there may be many.
        self.turns.stop_all(census);
        // One at a time, unless more is held than when the last one was killed.
        let now = timers::now();
        let is_going = |kill: Kill| held <= kill.held && now < kill.at.after(GOING_NANOS);
        if self.last_kill.get().is_some_and(is_going) {
            return;
        }
        self.last_kill.set(Some(Kill { at: now, held }));
        // As Linux does: the largest one goes. Files of the host that it has mapped are not its own.
        let weight = |it: &&Listed| match why {
            Excess::Memory => it.bytes().saturating_add(it.state.shared),
            Excess::Disk => it.state.shared,
        };
        if let Some(largest) = census.processes.iter().max_by_key(weight) {
            self.end(largest, why);
        }
    }

    fn end(&self, largest: &Listed, why: Excess) {
        // A guest that is only told to end cannot do so while it is stopped.
        if let Some(pid) = largest.state.pid {
            host_sys::kill_child(pid);
        }
        if let Some(process) = largest.space.as_ref().and_then(|space| space.guest_process()) {
            match why {
                Excess::Memory => {
                    self.note(&process, largest.bytes().saturating_add(largest.state.shared));
                    process.kill();
                }
                // As for who touches a page of a file when the file system is full.
                Excess::Disk => process.exit(ExitStatus::signaled(Signal::SIGBUS, false)),
            }
        }
    }

    /// Keeps for the report that a process is killed. How the first one ends is told anyway.
    fn note(&self, process: &Process, bytes: u64) {
        if self.kernel.first().is_some_and(|first| first.pid == process.pid) {
            return self.because.set(Some(Ending::MemoryExceeded));
        }
        let mut kills = self.kills.borrow_mut();
        if kills.len() < MAX_KILLS_TOLD {
            let name = process.any_thread().map_or(Vec::new(), |thread| thread.name());
            let name = String::from_utf8_lossy(&name).into_owned();
            kills.push(MemoryKill { pid: process.pid.0, name, bytes });
        }
    }
}
