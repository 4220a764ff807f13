//! A control group of the host's for one sandbox, where the host lets this user have one: what the
//! kernel process holds guests to, the host holds all processes of the sandbox to, as a second wall.
//!
//! The group is made beside the starter's own, or beneath it, wherever the controllers of memory
//! and processes have been delegated; nothing of the host's own settings is changed. A janitor
//! removes it: a process of its own that waits for the end of the starter, however that comes.

mod janitor;
mod place;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use host_sys::rustix::process::Pid;
use sandbox::{LayerReport, LayerState};
use sandbox_spec::{ContainmentLayer, Limits, SandboxSpec};

use crate::kernel_process::MOST_TASKS;
use janitor::Janitor;

/// What the names of our groups start with; the starter's process id follows.
const PREFIX: &str = "belljar-";
/// Processes of the sandbox that are none of the guest's: the kernel process, the zygote, those
/// forked ahead and those that are ending.
const OTHER_TASKS: u64 = 200;
/// Memory of the kernel process, beside what it holds for the guest: so much at least ...
const LEAST_ROOM: u64 = 128 << 20;
/// ... and one part in this many of the limit.
const ROOM_PART: u64 = 8;

/// The control group of a sandbox. Goes when this goes.
pub struct ControlGroup {
    folder: PathBuf,
    _janitor: Janitor,
}

/// Makes a group with the limits of a specification, if that has any that a group can hold, or
/// requires one. Must come while this process has one thread.
pub fn make(spec: &SandboxSpec) -> Result<ControlGroup, LayerState> {
    let is_required = spec.required_containment.contains(&ContainmentLayer::ControlGroup);
    let has_limits = spec.limits.memory.is_some() || spec.limits.processes.is_some();
    if !is_required && !has_limits {
        let why = "neither --memory nor --processes was given";
        return Err(LayerState::Unused(why.to_owned()));
    }
    let parent = place::find().map_err(LayerState::Unavailable)?;
    let unavailable = |error: io::Error| LayerState::Unavailable(error.to_string());
    sweep(&parent);
    let folder = parent.join(format!("{PREFIX}{}", std::process::id()));
    fs::create_dir(&folder).map_err(unavailable)?;
    let remove = |error: io::Error| {
        let _ = fs::remove_dir(&folder);
        unavailable(error)
    };
    set_limits(&folder, &spec.limits).map_err(remove)?;
    let janitor = Janitor::start(&folder).map_err(remove)?;
    Ok(ControlGroup { folder, _janitor: janitor })
}

/// Whether a group can be had here, found out by making one.
pub fn state() -> LayerState {
    let tried = place::find().and_then(|parent| {
        let folder = parent.join(format!("{PREFIX}{}-try", std::process::id()));
        fs::create_dir(&folder).and_then(|()| fs::remove_dir(&folder)).map_err(|it| it.to_string())
    });
    match tried {
        Ok(()) => LayerState::InForce,
        Err(reason) => LayerState::Unavailable(reason),
    }
}

/// The layer in this state.
pub fn report(state: LayerState) -> LayerReport {
    LayerReport { layer: ContainmentLayer::ControlGroup, state }
}

impl ControlGroup {
    /// Puts a process, and with it those that it will start, into the group.
    pub fn take(&self, process: Pid) -> io::Result<()> {
        fs::write(self.folder.join("cgroup.procs"), process.as_raw_nonzero().to_string())
    }

    /// How many processes the host has killed because the group had no memory left.
    pub fn n_memory_kills(&self) -> u64 {
        let text = fs::read_to_string(self.folder.join("memory.events")).unwrap_or_default();
        let number = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    }
}

fn set_limits(folder: &Path, limits: &Limits) -> io::Result<()> {
    let set = |file: &str, value: u64| fs::write(folder.join(file), value.to_string());
    if let Some(limit) = limits.memory {
        set("memory.max", limit.0.saturating_add(LEAST_ROOM.max(limit.0 / ROOM_PART)))?;
        // Memory that the host has put away is memory as well. Some hosts do not count it.
        let _ = set("memory.swap.max", 0);
    }
    let tasks = limits.processes.unwrap_or(MOST_TASKS).min(MOST_TASKS);
    set("pids.max", u64::from(tasks) + OTHER_TASKS)
}

/// Removes groups of ours whose starter and whose janitor were killed. Those in use cannot be removed.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let starter = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if let Some(starter) = starter.and_then(|number| number.parse::<u32>().ok())
            && !Path::new(&format!("/proc/{starter}")).exists()
        {
            let _ = fs::remove_dir(entry.path());
        }
    }
}
