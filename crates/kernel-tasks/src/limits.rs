//! Resource limits of a process.

use linux_abi::tasks::{RLIM_INFINITY, Rlimit, rlimit};

/// Signals that may be queued for one user if nothing else was said.
const DEFAULT_QUEUED_SIGNALS: u64 = 7_800;

/// The sixteen limits of a process.
#[derive(Clone, Debug)]
pub struct Limits([Rlimit; rlimit::COUNT]);

impl Limits {
    /// What Linux gives to its first process, with `max_tasks` as the number of processes.
    pub fn new(max_tasks: u32) -> Self {
        let mut limits = Self([Rlimit::UNLIMITED; rlimit::COUNT]);
        let tasks = u64::from(max_tasks);
        for (resource, current, maximum) in [
            (rlimit::STACK, 8 << 20, RLIM_INFINITY),
            (rlimit::CORE, 0, RLIM_INFINITY),
            (rlimit::NPROC, tasks, tasks),
            (rlimit::NOFILE, 1024, u64::from(kernel_files::descriptors::NR_OPEN)),
            (rlimit::MEMLOCK, 8 << 20, 8 << 20),
            (rlimit::SIGPENDING, DEFAULT_QUEUED_SIGNALS, DEFAULT_QUEUED_SIGNALS),
            (rlimit::MSGQUEUE, 819_200, 819_200),
            (rlimit::NICE, 0, 0),
            (rlimit::RTPRIO, 0, 0),
        ] {
            limits.set(resource, Rlimit { current, maximum });
        }
        limits
    }

    /// The limit on `resource` (one of [`rlimit`]); `None` if there is no such resource.
    pub fn get(&self, resource: usize) -> Option<Rlimit> {
        self.0.get(resource).copied()
    }

    /// Replaces the limit on `resource`.
    pub fn set(&mut self, resource: usize, limit: Rlimit) {
        if let Some(place) = self.0.get_mut(resource) {
            *place = limit;
        }
    }
}
