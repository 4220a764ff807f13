//! The host processes of a sandbox as the host lists them, whatever guests say.
//!
//! Guest code can jump to the shim's own instructions and copy its host process without asking the
//! kernel. Such a copy is a child of the kernel process all the same: the filter lets no other be
//! made. So what limits are held against is what the host lists.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use host_sys::rustix::process::Pid;
use host_sys::{HostProcessState, list_children};

use super::{Engine, Space};

/// A host process that has not ended.
pub struct Listed {
    /// The host process that the kernel knows by this number.
    pub space: Option<Rc<Space>>,
    /// What the host says of it.
    pub state: HostProcessState,
}

impl Listed {
    /// Memory that the host holds for it alone. Memory files that it has mapped are counted once for all
    /// (`kernel_files::host_memory`), and host files are the host's.
    pub fn bytes(&self) -> u64 {
        self.state.anonymous.saturating_add(self.state.page_tables)
    }
}

/// Everything that runs in a sandbox: neither the kernel process, nor the zygote, nor what waits for
/// a program.
#[derive(Default)]
pub struct Census {
    /// The host processes.
    pub processes: Vec<Listed>,
    /// How many of them nobody told the kernel of.
    pub n_hidden: usize,
}

/// More processes than this that the kernel was not told of come from no race: somebody copies itself
/// as fast as it can, and to look at each of them would give it time.
const FLOOD: usize = 200;

impl Census {
    /// Memory of all of them.
    pub fn bytes(&self) -> u64 {
        self.processes.iter().map(Listed::bytes).sum()
    }

    /// Whether there are so many hidden ones that nothing remains to be found out.
    pub fn is_flood(&self) -> bool {
        self.n_hidden > FLOOD
    }

    /// Threads of all of them.
    pub fn n_threads(&self) -> u64 {
        self.processes.iter().map(|it| it.state.n_threads).sum()
    }

    /// CPU time of all of them, in nanoseconds.
    pub fn cpu_time(&self) -> u64 {
        let pids = self.processes.iter().filter_map(|it| it.state.pid);
        pids.map(host_sys::process_cpu_time).sum()
    }
}

impl Engine {
    /// Takes the census. Nothing is counted where the host does not list processes.
    pub fn census(&self) -> Census {
        let listed = list_children().unwrap_or_default();
        let n_spaces = self.spaces.borrow().iter().flatten().count();
        // All that were asked for have a space, except for the zygote.
        let n_more = listed.len().saturating_sub(n_spaces + 1);
        if n_more > FLOOD {
            return Census { processes: Vec::new(), n_hidden: n_more };
        }
        let mut states: HashMap<Pid, HostProcessState> = HashMap::new();
        for state in listed.into_iter().filter_map(|it| it.state()).filter(|it| !it.has_ended) {
            if let Some(pid) = state.pid {
                states.insert(pid, state);
            }
        }
        // Who is known is asked afterwards: a process that was listed has its space by now, though it
        // may not have said hello.
        let (mut n_silent, mut n_headless) = (0, 0);
        let mut processes = Vec::new();
        for space in self.spaces.borrow().iter().flatten() {
            match space.host.pid() {
                None => n_silent += 1,
                Some(pid) => {
                    let state = states.remove(&pid);
                    // The shim keeps the first thread of a process until all end. Only code that goes
                    // around it ends that one alone, to be counted as a process that is gone.
                    let is_headless = state.is_some_and(|it| it.has_lost_leader);
                    n_headless += usize::from(is_headless && !space.is_retired.get());
                    let waits = self.pool.borrow().iter().any(|it| Rc::ptr_eq(it, space));
                    if let Some(state) = state.filter(|_| !waits) {
                        processes.push(Listed { space: Some(Rc::clone(space)), state });
                    }
                }
            }
        }
        if let Some(zygote) = &*self.zygote.borrow() {
            states.remove(&zygote.pid());
        }
        let n_hidden = states.len().saturating_sub(n_silent) + n_headless;
        processes.extend(states.into_values().map(|state| Listed { space: None, state }));
        Census { processes, n_hidden }
    }

    /// Ends every child that the host lists, those that never said hello included. Without a pid
    /// namespace nobody else would end them.
    pub fn kill_children(&self) {
        let mut ended = HashSet::new();
        loop {
            let pids =
                list_children().unwrap_or_default().into_iter().filter_map(|it| it.state()?.pid);
            // One that was made meanwhile is listed the next time. One that was ended makes no more.
            let fresh: Vec<Pid> = pids.filter(|pid| ended.insert(*pid)).collect();
            if fresh.is_empty() {
                return;
            }
            fresh.into_iter().for_each(host_sys::kill_child);
        }
    }
}
