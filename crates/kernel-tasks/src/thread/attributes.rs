//! What a thread hands on to the threads that it makes.

use std::num::NonZero;
use std::sync::OnceLock;

use linux_abi::tasks::sched;

/// How a thread wants to be scheduled. Kept and told, not enforced: guest threads are scheduled by
/// the host.
#[derive(Clone, Debug)]
pub struct Scheduling {
    /// From -20 to 19.
    pub nice: i32,
    /// One of [`sched`].
    pub policy: u32,
    /// The real-time priority, from 1 to 99 for real-time policies, else 0.
    pub priority: u32,
    /// Children start with the defaults.
    pub reset_on_fork: bool,
    /// The processors it may run on, one bit each.
    pub affinity: CpuSet,
    /// `ioprio_set`.
    pub io_priority: u16,
}

/// A set of processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuSet(pub Vec<u64>);

impl CpuSet {
    /// The processors that exist for guests.
    pub fn all() -> Self {
        // Asked once: later the host's answer may be out of the kernel process's reach.
        static COUNT: OnceLock<usize> = OnceLock::new();
        let n = *COUNT.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZero::get));
        let mut words = vec![0; n.div_ceil(64)];
        for cpu in 0..n {
            if let Some(word) = words.get_mut(cpu / 64) {
                *word |= 1 << (cpu % 64);
            }
        }
        Self(words)
    }

    /// What is in both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(mine, theirs)| mine & theirs).collect())
    }

    /// Whether no processor is in it.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// How many processors are in it.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

impl Scheduling {
    /// What the first thread has, and what children of `reset_on_fork` threads get.
    pub fn new(affinity: CpuSet) -> Self {
        Self {
            nice: 0,
            policy: sched::OTHER,
            priority: 0,
            reset_on_fork: false,
            affinity,
            io_priority: 0,
        }
    }

    /// What a child gets.
    #[must_use]
    pub fn for_child(&self) -> Self {
        if !self.reset_on_fork {
            return self.clone();
        }
        let mut child = Self::new(self.affinity.clone());
        if !matches!(self.policy, sched::FIFO | sched::RR | sched::DEADLINE) {
            child.nice = self.nice.max(0);
        }
        child
    }
}

/// Where a thread wants its memory from (`set_mempolicy`). Kept and told: there is one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryPolicy {
    /// `MPOL_*`, with its flags.
    pub mode: u32,
    /// The nodes, one bit each.
    pub nodes: u64,
}

/// What a thread hands on to the threads that it makes.
#[derive(Clone, Debug)]
pub struct Attributes {
    /// The name that `/proc` and `PR_GET_NAME` show, at most 15 bytes.
    pub name: Vec<u8>,
    /// `execve` gives no privileges (`PR_SET_NO_NEW_PRIVS`).
    pub no_new_privs: bool,
    /// How late its timers may be, in nanoseconds.
    pub timer_slack: u64,
    /// The timer slack that 0 means.
    pub default_timer_slack: u64,
    /// `personality(2)`.
    pub personality: u32,
    /// How it wants to be scheduled.
    pub scheduling: Scheduling,
    /// Where it wants its memory from.
    pub memory_policy: MemoryPolicy,
}

/// Linux's timer slack of ordinary threads.
const TIMER_SLACK_NS: u64 = 50_000;

impl Attributes {
    /// Those of the first thread.
    pub fn new() -> Self {
        Self {
            name: Vec::new(),
            no_new_privs: false,
            timer_slack: TIMER_SLACK_NS,
            default_timer_slack: TIMER_SLACK_NS,
            personality: 0,
            scheduling: Scheduling::new(CpuSet::all()),
            memory_policy: MemoryPolicy::default(),
        }
    }

    /// What a new thread gets.
    #[must_use]
    pub fn for_child(&self) -> Self {
        Self {
            default_timer_slack: self.timer_slack,
            scheduling: self.scheduling.for_child(),
            ..self.clone()
        }
    }
}

impl Default for Attributes {
    fn default() -> Self {
        Self::new()
    }
}
