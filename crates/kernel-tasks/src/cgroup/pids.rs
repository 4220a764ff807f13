//! The controller that counts threads.

use std::cell::Cell;

use linux_abi::{Errno, SysResult};

use super::{Cgroup, Controllers, EventFile};

/// How many threads a group has, and may have.
#[derive(Default)]
pub struct Pids {
    /// How many there may be; `None` is no limit.
    pub max: Cell<Option<u32>>,
    /// How many there are in it and beneath.
    pub current: Cell<u32>,
    /// The most that there have been.
    pub peak: Cell<u32>,
    /// How often a new one was refused because of a limit here or beneath.
    pub n_refused: Cell<u64>,
    /// How often a new one was refused because of the limit here.
    pub n_refused_here: Cell<u64>,
}

impl Pids {
    fn add(&self, n: u32) {
        self.current.set(self.current.get().saturating_add(n));
        self.peak.set(self.peak.get().max(self.current.get()));
    }
}

impl Cgroup {
    /// Counts one more thread; `EAGAIN` if that is one too many for this group or one that it is
    /// in.
    pub(crate) fn charge_thread(&self) -> SysResult<()> {
        let is_full = |group: &&Cgroup| {
            let limit =
                group.pids.max.get().filter(|_| group.available().contains(Controllers::PIDS));
            limit.is_some_and(|max| group.pids.current.get() >= max)
        };
        if let Some(full) = self.ancestors().find(is_full) {
            // As on Linux, what is beneath has seen it come and go.
            for beneath in self.ancestors().take_while(|group| !std::ptr::eq(*group, full)) {
                let pids = &beneath.pids;
                pids.peak.set(pids.peak.get().max(pids.current.get().saturating_add(1)));
            }
            full.note_refusal();
            return Err(Errno::EAGAIN);
        }
        self.force_threads(1);
        Ok(())
    }

    /// Counts threads that are there already.
    pub(super) fn force_threads(&self, n: u32) {
        for group in self.ancestors() {
            group.pids.add(n);
        }
    }

    /// Counts one thread less.
    pub(crate) fn uncharge_thread(&self) {
        self.forget_threads(1);
    }

    pub(super) fn forget_threads(&self, n: u32) {
        for group in self.ancestors() {
            group.pids.current.set(group.pids.current.get().saturating_sub(n));
        }
    }

    fn note_refusal(&self) {
        let add = |counter: &Cell<u64>| counter.set(counter.get() + 1);
        add(&self.pids.n_refused_here);
        self.note(EventFile::PidsLocal);
        for group in self.ancestors().filter(|group| !group.is_root()) {
            add(&group.pids.n_refused);
            group.note(EventFile::Pids);
        }
    }
}
