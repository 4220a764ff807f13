//! CPU time of a process and of the children it has waited for.

use std::rc::Rc;

use super::{Flags, Process};
use crate::{Machine, Thread};

/// Clock ticks per second, as `times(2)` and `/proc` count them.
pub const TICKS_PER_SEC: u64 = 100;

const NANOS_PER_TICK: u64 = 1_000_000_000 / TICKS_PER_SEC;

/// User and system time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// In user mode.
    pub user: u64,
    /// In system calls.
    pub system: u64,
}

impl CpuTimes {
    /// Both together.
    pub fn total(self) -> u64 {
        self.user.saturating_add(self.system)
    }

    /// In clock ticks.
    pub fn ticks(self) -> (u64, u64) {
        (self.user / NANOS_PER_TICK, self.system / NANOS_PER_TICK)
    }

    /// Both added up.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            user: self.user.saturating_add(other.user),
            system: self.system.saturating_add(other.system),
        }
    }
}

impl From<(u64, u64)> for CpuTimes {
    fn from((user, system): (u64, u64)) -> Self {
        Self { user, system }
    }
}

/// What a process has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time.
    pub times: CpuTimes,
    /// The largest resident memory, in bytes.
    pub max_resident: u64,
    /// Page faults that the host served without a read.
    pub minor_faults: u64,
    /// Page faults for which the host had to read.
    pub major_faults: u64,
}

impl Usage {
    /// Both together, as a parent counts its children.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            times: self.times.plus(other.times),
            max_resident: self.max_resident.max(other.max_resident),
            minor_faults: self.minor_faults.saturating_add(other.minor_faults),
            major_faults: self.major_faults.saturating_add(other.major_faults),
        }
    }
}

/// What is known of a process that the host does not know.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
    /// Of host processes that this process has left behind by `execve` or by its end.
    own: Usage,
    /// Of children that it has waited for.
    children: Usage,
}

impl Thread {
    /// What this thread has used. The only thread of a process has used what the process has,
    /// which the host tells more readily.
    pub fn cpu_times(&self) -> CpuTimes {
        let machine = self.machine();
        if self.process().n_threads() == 1 {
            machine.process_cpu_time().into()
        } else {
            machine.thread_cpu_time().into()
        }
    }
}

impl Process {
    /// What it has used so far, dead threads and former programs included.
    pub fn usage(&self) -> Usage {
        let own = self.usage.borrow().own;
        self.own_machine().map_or(own, |machine| own.plus(used_by(&*machine)))
    }

    /// What the children it has waited for, and their waited-for children, have used.
    pub fn children_usage(&self) -> Usage {
        self.usage.borrow().children
    }

    /// Its CPU time so far, dead threads and former programs included.
    pub fn cpu_times(&self) -> CpuTimes {
        let own = self.usage.borrow().own.times;
        self.own_machine().map_or(own, |machine| own.plus(machine.process_cpu_time().into()))
    }

    /// The CPU time of the children it has waited for, and of their waited-for children.
    pub fn children_cpu_times(&self) -> CpuTimes {
        self.children_usage().times
    }

    /// The host's side of it, unless that is its parent's, as after `vfork`.
    fn own_machine(&self) -> Option<Rc<dyn Machine>> {
        if self.has_flag(Flags::IN_PARENTS_MEMORY) { None } else { self.any_machine() }
    }

    /// The host process behind this one is about to go: keeps what it has used.
    pub(crate) fn charge_own_time(&self) {
        let Some(machine) = self.own_machine() else { return };
        let used = used_by(&*machine);
        let mut kept = self.usage.borrow_mut();
        kept.own = kept.own.plus(used);
    }

    pub(super) fn charge_child_time(&self, child: &Process) {
        let used = child.usage().plus(child.children_usage());
        let mut kept = self.usage.borrow_mut();
        kept.children = kept.children.plus(used);
    }
}

/// What a host process has used: as it said itself, else as far as the host tells others.
fn used_by(machine: &dyn Machine) -> Usage {
    machine.told_usage().unwrap_or_else(|| Usage {
        times: machine.process_cpu_time().into(),
        max_resident: machine.resident_bytes(),
        ..Usage::default()
    })
}
