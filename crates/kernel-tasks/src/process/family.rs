//! Parents, children and process groups.

use std::rc::Rc;

use linux_abi::Pid;
use linux_abi::signals::{SigInfo, Signal, code};

use super::{Flags, Process};
use crate::{ProcessGroup, Session, signals};

impl Process {
    pub(crate) fn become_init(&self) {
        self.set_flag(Flags::INIT, true);
    }

    /// Makes this process a child of `parent`, and no longer of whoever was its parent.
    pub(crate) fn set_parent(self: &Rc<Self>, parent: &Rc<Process>) {
        if let Some(old) = self.parent() {
            old.children.borrow_mut().remove(&self.pid);
        }
        *self.parent.borrow_mut() = Rc::downgrade(parent);
        parent.children.borrow_mut().insert(self.pid, Rc::clone(self));
        self.publish_ids();
    }

    pub(crate) fn set_parent_thread(&self, tid: Pid) {
        self.parent_thread.set(tid);
    }

    /// Moves the process to another group.
    pub fn set_group(self: &Rc<Self>, group: &Rc<ProcessGroup>) {
        let old = self.group();
        if old.pgid == group.pgid {
            return;
        }
        old.remove(self.pid);
        group.add(self);
        *self.group.borrow_mut() = Rc::clone(group);
    }

    /// Makes a group of which this process is the leader, in its present session, and moves it
    /// there.
    pub fn lead_new_group(self: &Rc<Self>) {
        let group = ProcessGroup::new(self.pid, self.session(), &self.kernel.ids);
        self.set_group(&group);
    }

    /// Makes a session and a group of which this process is the leader.
    pub fn lead_new_session(self: &Rc<Self>) {
        let ids = &self.kernel.ids;
        let group = ProcessGroup::new(self.pid, Session::new(self.pid, ids), ids);
        self.set_group(&group);
        self.set_flag(Flags::LEFT_TERMINAL, false);
    }

    /// The process that gets the children of this one: the nearest living ancestor that said it
    /// wants them, else process 1.
    fn reaper(&self) -> Option<Rc<Process>> {
        let mut ancestor = self.parent();
        while let Some(candidate) = ancestor {
            if candidate.has_flag(Flags::INIT) {
                return Some(candidate);
            }
            if candidate.has_flag(Flags::SUBREAPER) && !candidate.is_exiting() {
                return Some(candidate);
            }
            ancestor = candidate.parent();
        }
        self.kernel.init().ok()
    }

    /// This process ends: its children get another parent.
    pub(super) fn give_children_away(self: &Rc<Self>) {
        let children = std::mem::take(&mut *self.children.borrow_mut());
        if children.is_empty() {
            return;
        }
        let Some(reaper) = self.reaper() else { return };
        for child in children.into_values() {
            child.parent_thread_ended();
            child.set_parent(&reaper);
            child.set_parent_thread(reaper.pid);
            // Whatever the old parent was to be sent, the new one gets SIGCHLD.
            child.set_exit_signal(Some(Signal::SIGCHLD));
            if child.is_dead() && !child.is_the_tracers.get() {
                child.tell_parent_of_end();
            }
            child.group().orphaned_by_the_parent(&child, self);
        }
    }

    /// A thread of this process ended while others go on: children that it made and that asked
    /// for it are sent their signal.
    pub(crate) fn thread_left(&self, tid: Pid) {
        if self.children.borrow().is_empty() {
            return;
        }
        for child in self.children() {
            if child.parent_thread.get() == tid {
                child.parent_thread_ended();
                child.set_parent_thread(self.pid);
            }
        }
    }

    /// Sends `PR_SET_PDEATHSIG` to the threads that asked for it.
    fn parent_thread_ended(self: &Rc<Self>) {
        let sender = self.parent();
        let (pid, uid) = sender.map_or((Pid(0), 0), |parent| (parent.pid, parent.uid()));
        for thread in self.threads() {
            if let Some(signal) = thread.parent_death_signal() {
                // Only a real-time signal at its limit gets lost.
                let info = SigInfo::from_process(signal, code::SI_USER, pid, uid);
                let _ = signals::send_to_process(self, signal, info);
            }
        }
    }
}

impl ProcessGroup {
    /// The parent of a member ended or changed. If the group became an orphan by that and has
    /// stopped members, nobody could continue them: they are sent `SIGHUP` and `SIGCONT`.
    fn orphaned_by_the_parent(&self, member: &Process, old_parent: &Process) {
        let old_group = old_parent.group();
        let held = old_group.pgid != self.pgid && old_group.session().sid == self.session().sid;
        if held && !member.is_dead() {
            self.hang_up_if_orphaned(None);
        }
    }

    /// Sends `SIGHUP` and `SIGCONT` if the group is an orphan with stopped members.
    pub(crate) fn hang_up_if_orphaned(&self, leaving: Option<Pid>) {
        if self.has_stopped_member() && self.is_orphaned_without(leaving) {
            for signal in [Signal::SIGHUP, Signal::SIGCONT] {
                signals::send_to_group(self, signal, SigInfo::kernel(signal));
            }
        }
    }
}
