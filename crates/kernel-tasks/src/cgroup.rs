//! Control groups: a tree of groups of processes that are counted, limited, frozen and killed
//! together (version 2, domain groups only).
//!
//! This is what the groups are. How they show as files is the business of `kernel-proc`.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_files::metadata::Ownership;
use linux_abi::{Errno, Pid, SysResult};

use crate::Process;

mod devices;
mod membership;
mod pids;

pub use devices::{CgroupDeviceGate, DevicePrograms};
pub use pids::Pids;

/// How many groups a sandbox may have at a time.
const MAX_GROUPS: u32 = 4096;
/// How deep they nest.
const MAX_DEPTH: u32 = 64;

bitflags::bitflags! {
    /// What a group can count and limit.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Controllers: u8 {
        /// Processor time.
        const CPU = 1;
        /// Memory.
        const MEMORY = 2;
        /// Threads.
        const PIDS = 4;
    }
}

impl Controllers {
    /// Those that apply to threads by themselves, so that a group with processes may have them.
    const THREADED: Self = Self::CPU.union(Self::PIDS);

    /// The controller of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "cpu" => Some(Self::CPU),
            "memory" => Some(Self::MEMORY),
            "pids" => Some(Self::PIDS),
            _ => None,
        }
    }

    /// The names, as files show them.
    pub fn names(self) -> String {
        let all = [(Self::CPU, "cpu"), (Self::MEMORY, "memory"), (Self::PIDS, "pids")];
        let names: Vec<&str> =
            all.iter().filter(|(one, _)| self.contains(*one)).map(|(_, name)| *name).collect();
        names.join(" ")
    }
}

/// A file whose readers are told when it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventFile {
    /// `cgroup.events`.
    Group,
    /// `pids.events`.
    Pids,
    /// `pids.events.local`.
    PidsLocal,
}

/// Is told when a file of a group changes by itself.
pub trait Observer {
    /// This file has changed.
    fn changed(&self, file: EventFile);
}

/// Counts the changes of a file and wakes those who poll it.
#[derive(Default)]
pub struct Changes {
    n: Cell<u64>,
    queue: WaitQueue,
}

impl Changes {
    /// How often it has changed.
    pub fn count(&self) -> u64 {
        self.n.get()
    }

    /// Woken when it changes.
    pub fn queue(&self) -> &WaitQueue {
        &self.queue
    }
}

/// All control groups of a sandbox.
pub struct Cgroups {
    /// The group that everything is in.
    pub root: Rc<Cgroup>,
    /// The roots of cgroup namespaces are borders that processes do not cross (`nsdelegate`).
    pub delegates: Cell<bool>,
}

/// A group.
pub struct Cgroup {
    name: Vec<u8>,
    parent: Option<Rc<Cgroup>>,
    depth: u32,
    children: RefCell<BTreeMap<Vec<u8>, Rc<Cgroup>>>,
    processes: RefCell<BTreeMap<Pid, Weak<Process>>>,
    /// How many processes are in it and beneath.
    n_members: Cell<u32>,
    /// How many groups are beneath.
    n_descendants: Cell<u32>,
    max_descendants: Cell<Option<u32>>,
    max_depth: Cell<Option<u32>>,
    enabled: Cell<Controllers>,
    is_removed: Cell<bool>,
    wants_frozen: Cell<bool>,
    /// Processor time of those who have left, in nanoseconds: for the program and in the kernel.
    past_times: Cell<(u64, u64)>,
    /// Counts threads.
    pub pids: Pids,
    /// Programs that judge which devices its processes use.
    pub devices: DevicePrograms,
    /// Who may write `cgroup.procs`.
    pub procs_access: Cell<Ownership>,
    observer: RefCell<Option<Weak<dyn Observer>>>,
    changes: [Changes; 3],
}

impl std::fmt::Debug for Cgroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cgroup {}", String::from_utf8_lossy(&self.path()))
    }
}

/// Who may write `cgroup.procs` of a new group: its owner.
const PROCS_MODE: u32 = 0o644;

impl Cgroup {
    fn with(name: &[u8], parent: Option<&Rc<Cgroup>>, owner: (u32, u32)) -> Rc<Self> {
        let (uid, gid) = owner;
        Rc::new(Self {
            name: name.to_vec(),
            parent: parent.cloned(),
            depth: parent.map_or(0, |parent| parent.depth + 1),
            children: RefCell::default(),
            processes: RefCell::default(),
            n_members: Cell::new(0),
            n_descendants: Cell::new(0),
            max_descendants: Cell::default(),
            max_depth: Cell::default(),
            enabled: Cell::default(),
            is_removed: Cell::new(false),
            wants_frozen: Cell::new(false),
            past_times: Cell::default(),
            pids: Pids::default(),
            devices: DevicePrograms::default(),
            procs_access: Cell::new(Ownership { mode: PROCS_MODE, uid, gid }),
            observer: RefCell::default(),
            changes: Default::default(),
        })
    }

    /// The group that everything is in.
    pub fn root() -> Rc<Self> {
        Self::with(b"", None, (0, 0))
    }

    /// Its name; empty for the root.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// The group that it is in.
    pub fn parent(&self) -> Option<&Rc<Cgroup>> {
        self.parent.as_ref()
    }

    /// Whether it is the one that everything is in.
    pub fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// It and all that it is in, the innermost first.
    pub fn ancestors(&self) -> impl Iterator<Item = &Cgroup> {
        std::iter::successors(Some(self), |group| group.parent.as_deref())
    }

    /// Whether this is `other` or beneath it.
    pub fn is_within(&self, other: &Cgroup) -> bool {
        self.ancestors().any(|group| std::ptr::eq(group, other))
    }

    /// The innermost group that both are in.
    pub fn common_ancestor<'a>(&'a self, other: &Cgroup) -> &'a Cgroup {
        self.ancestors().find(|group| other.is_within(group)).unwrap_or(self)
    }

    /// The groups directly beneath.
    pub fn children(&self) -> Vec<Rc<Cgroup>> {
        self.children.borrow().values().cloned().collect()
    }

    /// It and everything beneath, outer groups first.
    pub fn subtree(self: &Rc<Self>) -> Vec<Rc<Cgroup>> {
        let mut all = vec![Rc::clone(self)];
        let mut next = 0;
        while let Some(group) = all.get(next).cloned() {
            all.extend(group.children());
            next += 1;
        }
        all
    }

    /// The path from the root.
    pub fn path(&self) -> Vec<u8> {
        let names: Vec<&[u8]> =
            self.ancestors().filter(|group| !group.is_root()).map(|group| group.name()).collect();
        let path =
            names.iter().rev().fold(Vec::new(), |path, name| [&path, &b"/"[..], name].concat());
        if path.is_empty() { b"/".to_vec() } else { path }
    }

    /// The path as seen from another group, which may lead up and down again: `/../other`.
    pub fn path_from(&self, from: &Cgroup) -> Vec<u8> {
        let shared = self.common_ancestor(from);
        let n_up = from.ancestors().take_while(|group| !std::ptr::eq(*group, shared)).count();
        let down: Vec<&[u8]> = self
            .ancestors()
            .take_while(|group| !std::ptr::eq(*group, shared))
            .map(|group| group.name())
            .collect();
        let mut path = b"/..".repeat(n_up);
        for name in down.iter().rev() {
            path.push(b'/');
            path.extend_from_slice(name);
        }
        if path.is_empty() { b"/".to_vec() } else { path }
    }

    /// Whether it has been removed.
    pub fn is_removed(&self) -> bool {
        self.is_removed.get()
    }

    /// Whether any process is in it or beneath.
    pub fn is_populated(&self) -> bool {
        self.n_members.get() > 0
    }

    /// How many groups are beneath.
    pub fn n_descendants(&self) -> u32 {
        self.n_descendants.get()
    }

    /// How many groups may be beneath.
    pub fn max_descendants(&self) -> &Cell<Option<u32>> {
        &self.max_descendants
    }

    /// How deep groups may nest beneath.
    pub fn max_depth(&self) -> &Cell<Option<u32>> {
        &self.max_depth
    }

    /// Who is told when files change by themselves.
    pub fn set_observer(&self, observer: Weak<dyn Observer>) {
        *self.observer.borrow_mut() = Some(observer);
    }

    /// The changes of a file.
    pub fn changes(&self, file: EventFile) -> &Changes {
        let [group, pids, local] = &self.changes;
        match file {
            EventFile::Group => group,
            EventFile::Pids => pids,
            EventFile::PidsLocal => local,
        }
    }

    pub(crate) fn note(&self, file: EventFile) {
        let changes = self.changes(file);
        changes.n.set(changes.n.get() + 1);
        changes.queue.wake(PollEvents::PRI | PollEvents::ERR);
        let observer = self.observer.borrow().as_ref().and_then(Weak::upgrade);
        if let Some(observer) = observer {
            observer.changed(file);
        }
    }

    /// Makes a group beneath. `EAGAIN` if there are too many, or too deep.
    pub fn create(self: &Rc<Self>, name: &[u8], owner: (u32, u32)) -> SysResult<Rc<Cgroup>> {
        if self.is_removed() {
            return Err(Errno::ENOENT);
        }
        for (levels, above) in (1..).zip(self.ancestors()) {
            let is_full = |max: &Cell<Option<u32>>, n: u32| max.get().is_some_and(|max| n > max);
            if is_full(&above.max_descendants, above.n_descendants.get() + 1)
                || is_full(&above.max_depth, levels)
                || above.is_root() && above.n_descendants.get() >= MAX_GROUPS
                || levels > MAX_DEPTH
            {
                return Err(Errno::EAGAIN);
            }
        }
        let group = Self::with(name, Some(self), owner);
        group.wants_frozen.set(false);
        self.children.borrow_mut().insert(name.to_vec(), Rc::clone(&group));
        for above in self.ancestors() {
            above.n_descendants.set(above.n_descendants.get() + 1);
        }
        Ok(group)
    }

    /// Removes a group beneath. `EBUSY` if anything is in it.
    pub fn remove(&self, name: &[u8]) -> SysResult<()> {
        let group = self.children.borrow().get(name).cloned().ok_or(Errno::ENOENT)?;
        if group.is_populated() || !group.children.borrow().is_empty() {
            return Err(Errno::EBUSY);
        }
        group.is_removed.set(true);
        group.devices.clear();
        self.children.borrow_mut().remove(name);
        // Its past is part of the past of what it was in.
        let (user, system) = group.past_times.get();
        self.add_past_times(user, system);
        for above in self.ancestors() {
            above.n_descendants.set(above.n_descendants.get().saturating_sub(1));
        }
        Ok(())
    }

    /// The controllers that its children have (`cgroup.subtree_control`).
    pub fn enabled(&self) -> Controllers {
        self.enabled.get()
    }

    /// The controllers that it has (`cgroup.controllers`).
    pub fn available(&self) -> Controllers {
        self.parent.as_ref().map_or(Controllers::all(), |parent| parent.enabled())
    }

    /// Changes which controllers the children have. `ENOENT` for one that is not there, `EBUSY`
    /// for one that is in use, or that a group with processes cannot have.
    pub fn change_enabled(&self, on: Controllers, off: Controllers) -> SysResult<()> {
        if !self.available().contains(on) {
            return Err(Errno::ENOENT);
        }
        if self.children.borrow().values().any(|child| child.enabled().intersects(off)) {
            return Err(Errno::EBUSY);
        }
        let gives_domains = !(on - Controllers::THREADED - self.enabled()).is_empty();
        if gives_domains && !self.is_root() && !self.processes.borrow().is_empty() {
            return Err(Errno::EBUSY);
        }
        self.enabled.set((self.enabled() | on) - off);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_up_and_down() {
        let root = Cgroup::root();
        let a = root.create(b"a", (0, 0)).unwrap();
        let b = root.create(b"b", (0, 0)).unwrap();
        let inner = a.create(b"inner", (0, 0)).unwrap();
        assert_eq!(inner.path(), b"/a/inner");
        assert_eq!(inner.path_from(&b), b"/../a/inner");
        assert_eq!(root.path_from(&inner), b"/../..");
        assert_eq!(a.path_from(&a), b"/");
    }

    #[test]
    fn limits_hold_for_what_is_beneath() {
        let root = Cgroup::root();
        let a = root.create(b"a", (0, 0)).unwrap();
        a.max_descendants().set(Some(1));
        let inner = a.create(b"inner", (0, 0)).unwrap();
        assert_eq!(a.create(b"other", (0, 0)).unwrap_err(), Errno::EAGAIN);
        a.max_descendants().set(None);
        a.max_depth().set(Some(1));
        assert_eq!(inner.create(b"deep", (0, 0)).unwrap_err(), Errno::EAGAIN);
        assert_eq!(root.remove(b"a"), Err(Errno::EBUSY));
        a.remove(b"inner").unwrap();
        assert_eq!((root.n_descendants(), inner.is_removed()), (1, true));
    }

    #[test]
    fn threads_are_counted_on_the_way_up() {
        let root = Cgroup::root();
        let a = root.create(b"a", (0, 0)).unwrap();
        root.change_enabled(Controllers::PIDS, Controllers::empty()).unwrap();
        a.pids.max.set(Some(1));
        a.charge_thread().unwrap();
        assert_eq!(a.charge_thread(), Err(Errno::EAGAIN));
        assert_eq!((a.pids.current.get(), a.pids.n_refused.get()), (1, 1));
        assert_eq!(a.change_enabled(Controllers::CPU, Controllers::empty()), Err(Errno::ENOENT));
        a.uncharge_thread();
        assert_eq!((a.pids.current.get(), a.pids.peak.get()), (0, 1));
    }
}
