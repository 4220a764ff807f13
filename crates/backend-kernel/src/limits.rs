//! Limits on what all guests use together: memory, CPU time, and processes.
//!
//! The host counts, and lists: a process that was made without the kernel counts as all others do. The
//! kernel looks ten times a second, and more often the less memory is left, so that nobody takes much
//! more between two looks. While every guest thread waits here nothing should grow, and it looks now
//! and then whether that is so. Without a limit for memory it looks at how much the host has left:
//! guests that nobody limited must not take a machine down.

mod hidden;
mod mappings;
mod memory;
mod race;
mod turns;

use std::cell::Cell;
use std::rc::{Rc, Weak};
use std::time::Duration;

use kernel_core::ledger::{self, Measured, Outside};
use kernel_core::timers::{self, Instant};
use kernel_files::host_memory;
use kernel_files::tmpfs::space::total;
use kernel_tasks::Kernel;
use sandbox::MemoryKill;
use sandbox_spec::Limits;

use self::hidden::Hidden;
use self::memory::Memory;
use crate::control::Ending;
use crate::engine::Engine;
use crate::engine::census::Census;

/// How often to look while a guest can run ...
const INTERVAL_NANOS: u64 = 100_000_000;
/// ... and while every guest thread waits here.
const QUIET_INTERVAL_NANOS: u64 = 250_000_000;
/// The same, where memory is limited.
const QUIET_LIMITED_NANOS: u64 = 20_000_000;
/// At least so long from look to look ...
const LEAST_INTERVAL_NANOS: u64 = 1_000_000;
/// ... and so many times what a look takes of CPU time.
const SHARE_OF_LOOKS: u64 = 10;
/// The same, where memory is limited: whoever makes looks dear must not gain time by it.
const SHARE_OF_LIMITED_LOOKS: u64 = 1;
/// No guest fills memory faster: bytes in a nanosecond.
const FASTEST_FILLING: u64 = 16;
/// How many files that guests may have let go of are looked at in one look.
const LEFT_BEHIND_PER_LOOK: usize = 32;

/// Where no limit needs it, memory is looked at once in so many looks, to tell how much it was.
const LOOKS_FOR_THE_REPORT: u64 = 10;

/// Watches what the guests use.
pub struct Watch {
    engine: Weak<Engine>,
    kernel: Rc<Kernel>,
    memory: Memory,
    cpu_time: Option<Duration>,
    because: Rc<Cell<Option<Ending>>>,
    n_looks: Cell<u64>,
    hidden: Hidden,
    /// When to look again.
    interval: Cell<u64>,
    next: Cell<Instant>,
    me: Weak<Self>,
}

impl Watch {
    /// A watch over these limits. Whoever exceeds them leaves the reason in `because`.
    pub fn new(
        engine: &Rc<Engine>,
        kernel: &Rc<Kernel>,
        limits: &Limits,
        because: &Rc<Cell<Option<Ending>>>,
    ) -> Rc<Self> {
        let watch = Rc::new_cyclic(|me| Self {
            engine: Rc::downgrade(engine),
            kernel: Rc::clone(kernel),
            memory: Memory::new(kernel, limits, because),
            cpu_time: limits.cpu_time,
            because: Rc::clone(because),
            n_looks: Cell::new(0),
            hidden: Hidden::default(),
            interval: Cell::new(INTERVAL_NANOS),
            next: Cell::new(Instant::NEVER),
            me: Weak::clone(me),
        });
        ledger::set_outside(Rc::<Self>::clone(&watch));
        watch.interval.set(watch.until_filled().clamp(LEAST_INTERVAL_NANOS, INTERVAL_NANOS));
        watch
    }

    /// The most memory that was seen in use at one time, or that one process said that it had.
    pub fn peak(&self) -> u64 {
        self.memory.peak().max(self.kernel.most_resident())
    }

    /// Processes, the first not among them, that were killed for want of memory.
    pub fn kills(&self) -> Vec<MemoryKill> {
        self.memory.kills()
    }

    /// Sets the next look.
    pub fn set(&self) {
        if self.next.get() == Instant::NEVER {
            self.set_at(timers::now().after(self.interval.get()));
        }
    }

    fn set_at(&self, at: Instant) {
        let Some(watch) = self.me.upgrade().filter(|_| at < self.next.get()) else { return };
        self.next.set(at);
        self.kernel.timers.at(at, move || {
            // An earlier one may have been set after this.
            if watch.next.get() == at {
                watch.next.set(Instant::NEVER);
                watch.look();
                watch.set();
            }
        });
    }

    fn look(&self) {
        let Some(engine) = self.engine.upgrade() else { return };
        // What this takes is what files held, and no part of what looks cost.
        host_memory::look_for_unused(LEFT_BEHIND_PER_LOOK);
        let started = host_sys::own_cpu_time();
        let n_looks = self.n_looks.get();
        self.n_looks.set(n_looks.wrapping_add(1));
        let census = engine.census();
        let is_due = n_looks.is_multiple_of(LOOKS_FOR_THE_REPORT);
        if is_due || self.memory.needs_a_look() {
            self.memory.look(&census);
        }
        self.look_at_cpu_time(&census);
        self.look_for_hidden(&engine, &census);
        let most = match (engine.is_quiet(), self.memory.is_limited()) {
            (true, false) if census.n_unknown == 0 => QUIET_INTERVAL_NANOS,
            (true, true) => QUIET_LIMITED_NANOS,
            _ => INTERVAL_NANOS,
        };
        let took = host_sys::own_cpu_time().saturating_sub(started);
        let interval = self.until_filled().clamp(LEAST_INTERVAL_NANOS, most);
        let presses = self.memory.is_limited() || self.hidden.is_suspected();
        let share = if presses { SHARE_OF_LIMITED_LOOKS } else { SHARE_OF_LOOKS };
        self.interval.set(interval.max(took.saturating_mul(share)));
    }

    /// How long the fastest guest needs until it has filled what is left, in nanoseconds.
    fn until_filled(&self) -> u64 {
        let on_disk = if host_memory::can_grow() { total::room() } else { u64::MAX };
        self.memory.left().min(on_disk) / FASTEST_FILLING
    }

    /// A process that the kernel was not told of was made by code that attacks its shim. What more it
    /// would do, nobody knows: everything ends.
    fn look_for_hidden(&self, engine: &Engine, census: &Census) {
        if self.hidden.is_proved(census, engine.n_threads.get() as u64, timers::now()) {
            self.because.set(Some(Ending::ProcessesHidden));
            engine.kill_children();
            self.kernel.kill_all();
        }
    }

    fn look_at_cpu_time(&self, census: &Census) {
        let Some(limit) = self.cpu_time else { return };
        let Some(first) = self.kernel.first() else { return };
        let spent = census.cpu_time().saturating_add(host_sys::collected_cpu_time());
        if u128::from(spent) > limit.as_nanos() {
            self.because.set(Some(Ending::CpuTimeExceeded));
            first.kill();
        }
    }
}

impl Outside for Watch {
    fn measure(&self) -> Measured {
        host_memory::look_for_unused(LEFT_BEHIND_PER_LOOK);
        let census = self.engine.upgrade().map(|engine| engine.census()).unwrap_or_default();
        self.memory.measure(&census)
    }

    fn can_fill(&self) {
        // What was mapped just now may be filled at once.
        let pause = self.until_filled().max(LEAST_INTERVAL_NANOS);
        if pause < INTERVAL_NANOS {
            self.set_at(timers::now().after(pause));
        }
    }
}
