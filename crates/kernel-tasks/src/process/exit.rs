//! The end of a process.

use std::rc::Rc;

use kernel_core::supervisor::{self, ProcessEvent};
use kernel_core::wait::PollEvents;
use linux_abi::signals::{SIG_IGN, SigActionFlags, SigInfo, Signal, code};
use linux_abi::tasks::ExitStatus;

use super::{Flags, Process};
use crate::signals;

impl Process {
    /// Ends the process with all its threads, as `exit_group` and a deadly signal do. What it
    /// leaves is its status, until the parent has waited for it. Without effect if it is ending.
    pub fn exit(self: &Rc<Self>, status: ExitStatus) {
        if self.has_flag(Flags::INIT) || self.exiting.replace(true) {
            return;
        }
        let machine = self.any_machine();
        self.charge_own_time();
        for thread in self.threads() {
            thread.leave();
        }
        if let Some(machine) = machine {
            machine.kill_process();
        }
        self.finish(status);
    }

    /// Ends the process as `SIGKILL` does.
    pub fn kill(self: &Rc<Self>) {
        self.exit(ExitStatus::signaled(Signal::SIGKILL, false));
    }

    /// Everything that a process without threads has to give back or to tell.
    fn finish(self: &Rc<Self>, status: ExitStatus) {
        self.timers.delete_all();
        self.aio.destroy_all();
        self.signals.forget_all(&self.kernel.queued_signals);
        self.kernel.namespaces.process_ended(self.pid);
        self.leave_cgroup();
        self.status.set(Some(status));
        let times = self.cpu_times();
        self.kernel.add_cpu_times_of_ended(times);
        self.kernel.note_resident_of_ended(self.usage().max_resident);
        if let Some(supervisor) = supervisor::get() {
            let event = ProcessEvent::Ended(status, times.user, times.system);
            supervisor.process(self.pid, event);
        }
        self.set_executable_in_use(None);
        if self.is_session_leader()
            && let Some(terminal) = self.terminal()
        {
            terminal.session_ended();
        }
        self.give_children_away();
        self.orphan_group();
        self.ended.wake(PollEvents::READABLE);
        self.left_memory.wake(PollEvents::IN);
        self.release_ended_tracees();
        if !self.tell_tracer_of_end() {
            self.tell_parent_of_end();
        }
        self.kernel.process_ended(self, status);
    }

    /// If this process was the last one that linked its group to a parent outside of it, the group
    /// becomes an orphan.
    fn orphan_group(&self) {
        let (Some(parent), group) = (self.parent(), self.group()) else { return };
        let parents = parent.group();
        if parents.pgid != group.pgid && parents.session().sid == group.session().sid {
            group.hang_up_if_orphaned(Some(self.pid));
        }
    }

    /// Sends the parent its signal and wakes it. Reaps at once if the parent does not care.
    pub(crate) fn tell_parent_of_end(self: &Rc<Self>) {
        let Some(parent) = self.parent() else { return };
        let ignored = parent.has_flag(Flags::INIT) || self.parent_ignores_end(&parent);
        if let Some(signal) = self.exit_signal() {
            let info = self.end_info(signal);
            if !parent.has_flag(Flags::INIT) {
                // Only a real-time signal at its limit gets lost.
                let _ = signals::send_to_process(&parent, signal, info);
            }
        }
        if ignored {
            self.forget(); // what it has used is lost with it
        }
        parent.child_events.wake(PollEvents::IN);
    }

    fn parent_ignores_end(&self, parent: &Process) -> bool {
        if self.exit_signal() != Some(Signal::SIGCHLD) {
            return false;
        }
        let action = parent.signals.action(Signal::SIGCHLD);
        action.handler == SIG_IGN || action.flags().contains(SigActionFlags::NOCLDWAIT)
    }

    /// The `siginfo_t` that tells of the end.
    pub(crate) fn end_info(&self, signal: Signal) -> SigInfo {
        let status = self.status().unwrap_or(ExitStatus::exited(0));
        let (code, value) = match (status.code(), status.signal()) {
            (_, Some(deadly)) if status.dumped_core() => {
                (code::CLD_DUMPED, deadly.number().cast_signed())
            }
            (_, Some(deadly)) => (code::CLD_KILLED, deadly.number().cast_signed()),
            (exit_code, None) => (code::CLD_EXITED, exit_code.unwrap_or(0)),
        };
        let times = self.cpu_times();
        SigInfo::child(signal, code, self.pid, self.uid(), value, times.ticks())
    }

    /// Forgets a dead process. Its times are added to those of the parent's children.
    pub(crate) fn reap(self: &Rc<Self>) {
        if let Some(parent) = self.parent() {
            parent.charge_child_time(self);
        }
        self.forget();
    }

    fn forget(self: &Rc<Self>) {
        if let Some(parent) = self.parent() {
            parent.children.borrow_mut().remove(&self.pid);
        }
        self.group().remove(self.pid);
        self.kernel.ids.forget_process(self.pid);
        self.ended.wake(PollEvents::READABLE | PollEvents::HUP);
    }
}
