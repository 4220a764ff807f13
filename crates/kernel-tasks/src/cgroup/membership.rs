//! Which processes are in a group, and what is done to them together.

use std::rc::{Rc, Weak};

use kernel_core::credentials::Credentials;
use kernel_files::permission::{Want, check_ownership};
use linux_abi::{Errno, Pid, SysResult};

use super::{Cgroup, Cgroups, Controllers, EventFile};
use crate::Process;

impl Cgroup {
    /// The processes directly in it, without those that have ended.
    pub fn processes(&self) -> Vec<Rc<Process>> {
        self.processes.borrow().values().filter_map(Weak::upgrade).collect()
    }

    /// `EBUSY` if no process may be directly in this group, because what is in it is shared out
    /// among its children.
    pub fn check_may_hold_processes(&self) -> SysResult<()> {
        if self.is_root() {
            return Ok(());
        }
        let has_domains = !(self.enabled() - Controllers::THREADED).is_empty();
        let children_have = self.children.borrow().values().any(|child| child.is_populated());
        if has_domains || !self.enabled().is_empty() && children_have {
            return Err(Errno::EBUSY);
        }
        Ok(())
    }

    /// A process has come, with its threads.
    pub(crate) fn enter(&self, process: &Rc<Process>) {
        self.processes.borrow_mut().insert(process.pid, Rc::downgrade(process));
        self.count_members(1);
        if self.is_frozen() {
            process.set_frozen(true);
        }
    }

    /// A process has gone, or has ended. Its time up to now stays.
    pub(crate) fn leave(&self, pid: Pid, times: (u64, u64)) {
        if self.processes.borrow_mut().remove(&pid).is_none() {
            return;
        }
        self.add_past_times(times.0, times.1);
        self.count_members(-1);
    }

    fn count_members(&self, change: i32) {
        for group in self.ancestors() {
            let was_populated = group.is_populated();
            group.n_members.set(group.n_members.get().saturating_add_signed(change));
            if group.is_populated() != was_populated {
                group.note(EventFile::Group);
            }
        }
    }

    pub(super) fn add_past_times(&self, user: u64, system: u64) {
        let (old_user, old_system) = self.past_times.get();
        self.past_times.set((old_user.saturating_add(user), old_system.saturating_add(system)));
    }

    /// Processor time of everything in it and beneath, also of what has left, in nanoseconds.
    pub fn times(self: &Rc<Self>) -> (u64, u64) {
        let mut sum = (0_u64, 0_u64);
        for group in self.subtree() {
            let (user, system) = group.past_times.get();
            sum = (sum.0.saturating_add(user), sum.1.saturating_add(system));
            for process in group.processes() {
                let (user, system) = process.times_in_cgroup();
                sum = (sum.0.saturating_add(user), sum.1.saturating_add(system));
            }
        }
        sum
    }

    /// How much memory everything in it and beneath uses.
    pub fn memory(self: &Rc<Self>) -> u64 {
        let resident = |process: &Rc<Process>| {
            process.any_thread().map_or(0, |thread| thread.machine().resident_bytes())
        };
        self.subtree().iter().flat_map(|group| group.processes()).map(|it| resident(&it)).sum()
    }

    /// Kills everything in it and beneath.
    pub fn kill_all(self: &Rc<Self>) {
        for group in self.subtree() {
            for process in group.processes() {
                process.kill();
            }
        }
    }

    /// Whether it, or a group that it is in, was told to freeze.
    pub fn is_frozen(&self) -> bool {
        self.ancestors().any(|group| group.wants_frozen.get())
    }

    /// What was last said to `cgroup.freeze`.
    pub fn wants_frozen(&self) -> bool {
        self.wants_frozen.get()
    }

    /// Freezes everything in it and beneath, or lets it go on.
    pub fn set_frozen(self: &Rc<Self>, frozen: bool) {
        if self.wants_frozen.replace(frozen) == frozen {
            return;
        }
        for group in self.subtree() {
            let is_frozen = group.is_frozen();
            for process in group.processes() {
                process.set_frozen(is_frozen);
            }
            group.note(EventFile::Group);
        }
    }
}

impl Cgroups {
    /// Whether somebody with these credentials, who sees `seen_root` as the root, may move a
    /// process from one group to another: `ENOENT` across the border of a namespace, `EACCES`
    /// without the right to what both are in, `EBUSY` if the group holds no processes.
    pub fn check_move(
        &self,
        from: &Cgroup,
        to: &Cgroup,
        who: &Credentials,
        seen_root: &Cgroup,
    ) -> SysResult<()> {
        let access = to.common_ancestor(from).procs_access.get();
        check_ownership(access, who, Want::WRITE)?;
        if self.delegates.get() && !(from.is_within(seen_root) && to.is_within(seen_root)) {
            return Err(Errno::ENOENT);
        }
        to.check_may_hold_processes()
    }
}

impl Process {
    /// The control group that it is in.
    pub fn cgroup(&self) -> Rc<Cgroup> {
        Rc::clone(&self.cgroup.borrow())
    }

    /// Processor time since it came to its group, in nanoseconds.
    pub(super) fn times_in_cgroup(&self) -> (u64, u64) {
        let now = self.cpu_times();
        let (user, system) = self.times_before_cgroup.get();
        (now.user.saturating_sub(user), now.system.saturating_sub(system))
    }

    /// It has ended: its group counts it no longer.
    pub(crate) fn leave_cgroup(&self) {
        self.cgroup().leave(self.pid, self.times_in_cgroup());
    }

    /// Moves a process to another group, with all its threads. One that has ended stays.
    pub fn move_to_cgroup(self: &Rc<Self>, to: &Rc<Cgroup>) {
        let from = self.cgroup();
        if Rc::ptr_eq(&from, to) || self.is_exiting() {
            return;
        }
        let n = u32::try_from(self.n_threads()).unwrap_or(u32::MAX);
        let times = self.times_in_cgroup();
        to.force_threads(n);
        to.enter(self);
        from.forget_threads(n);
        from.leave(self.pid, times);
        let now = self.cpu_times();
        self.times_before_cgroup.set((now.user, now.system));
        *self.cgroup.borrow_mut() = Rc::clone(to);
        if !to.is_frozen() {
            self.set_frozen(false);
        }
    }
}
