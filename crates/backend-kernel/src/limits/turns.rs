//! Who of the guests is stopped.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use host_sys::rustix::process::Pid;

use crate::engine::census::Census;

/// Stops guests, and has them go on.
#[derive(Default)]
pub struct Turns {
    stopped: RefCell<HashSet<Pid>>,
    is_standstill: Cell<bool>,
}

impl Turns {
    /// Whether all are stopped.
    pub fn is_standstill(&self) -> bool {
        self.is_standstill.get()
    }

    /// Stops all, those included that were not there the last time.
    pub fn stop_all(&self, census: &Census) {
        self.is_standstill.set(true);
        let mut stopped = self.stopped.borrow_mut();
        for pid in census.processes.iter().filter_map(|it| it.state.pid) {
            stopped.insert(pid);
            // Again for those that were: what a guest's own signals did is not known here.
            host_sys::stop_child(pid, true);
        }
    }

    /// Has all go on but for these.
    pub fn stop_only(&self, census: &Census, waiting: &[Pid]) {
        self.is_standstill.set(false);
        if waiting.is_empty() && self.stopped.borrow().is_empty() {
            return;
        }
        let before = self.stopped.replace(waiting.iter().copied().collect());
        // First: whoever goes on may take the CPU of this process.
        waiting.iter().for_each(|pid| host_sys::stop_child(*pid, true));
        // Only those that are listed: the numbers of others may be somebody else's.
        let listed = census.processes.iter().filter_map(|it| it.state.pid);
        for pid in listed.filter(|pid| before.contains(pid) && !waiting.contains(pid)) {
            host_sys::stop_child(pid, false);
        }
    }

    /// Who is stopped.
    pub fn stopped(&self) -> Vec<Pid> {
        self.stopped.borrow().iter().copied().collect()
    }
}
