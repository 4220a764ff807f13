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

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// Of host processes that this process has left behind by `execve` or by its end.
    own: CpuTimes,
    children: CpuTimes,
    /// The largest resident memory seen, in bytes.
    max_resident: u64,
    children_max_resident: u64,
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
    pub fn cpu_times(&self) -> CpuTimes {
        let own = self.usage.borrow().own;
        match self.own_machine() {
            Some(machine) => own.plus(machine.process_cpu_time().into()),
            None => own,
        }
    }

    /// What the children it has waited for, and their waited-for children, have used.
    pub fn children_cpu_times(&self) -> CpuTimes {
        self.usage.borrow().children
    }

    /// The largest resident memory in bytes: its own, and of any child it has waited for.
    pub fn max_resident(&self) -> (u64, u64) {
        let now = self.own_machine().map_or(0, |machine| machine.resident_bytes());
        let mut usage = self.usage.borrow_mut();
        usage.max_resident = usage.max_resident.max(now);
        (usage.max_resident, usage.children_max_resident)
    }

    /// The host's side of it, unless that is its parent's, as after `vfork`.
    fn own_machine(&self) -> Option<Rc<dyn Machine>> {
        if self.has_flag(Flags::IN_PARENTS_MEMORY) { None } else { self.any_machine() }
    }

    /// The host process behind this one is about to go: keeps what it has used.
    pub(crate) fn charge_own_time(&self) {
        let Some(machine) = self.own_machine() else { return };
        let times = machine.process_cpu_time().into();
        let resident = machine.resident_bytes();
        let mut usage = self.usage.borrow_mut();
        usage.own = usage.own.plus(times);
        usage.max_resident = usage.max_resident.max(resident);
    }

    pub(super) fn charge_child_time(&self, child: &Process) {
        let times = child.cpu_times().plus(child.children_cpu_times());
        let (own, of_children) = child.max_resident();
        let mut usage = self.usage.borrow_mut();
        usage.children = usage.children.plus(times);
        usage.children_max_resident = usage.children_max_resident.max(own).max(of_children);
    }
}
