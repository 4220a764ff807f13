//! Stopping and continuing.

use std::rc::Rc;

use kernel_core::wait::PollEvents;
use linux_abi::signals::{SigActionFlags, SigSet, Signal, code};

use super::send::send_to_process;
use crate::Process;

impl Process {
    /// The part of a signal that works when it is sent, even if it is blocked or ignored: one
    /// that continues takes back what would stop, and the other way round.
    pub(crate) fn note_job_control(self: &Rc<Self>, signal: Signal) {
        if SigSet::STOPPING.contains(signal) {
            self.discard_pending(SigSet::of(Signal::SIGCONT));
        } else if signal == Signal::SIGCONT {
            self.discard_pending(SigSet::STOPPING);
            self.resume();
        }
    }

    pub(crate) fn discard_pending(&self, signals: SigSet) {
        let limits = &self.kernel().queued_signals;
        self.signals.pending.discard(signals, limits);
        for thread in self.threads() {
            thread.pending_queue().discard(signals, limits);
        }
    }

    /// Stops all threads and tells the parent. Each thread waits where it asks for signals.
    pub(crate) fn stop(self: &Rc<Self>, signal: Signal) {
        if self.signals.stop.replace(Some(signal)).is_some() {
            return;
        }
        self.signals.continue_to_report.set(false);
        self.signals.stop_to_report.set(Some(signal));
        for thread in self.threads() {
            thread.want_group_stop();
            thread.publish_pending();
            thread.machine().kick();
        }
        self.tell_parent_of_job(code::CLD_STOPPED, signal);
    }

    /// Lets a stopped process go on and tells the parent.
    fn resume(self: &Rc<Self>) {
        if self.signals.stop.take().is_none() {
            return;
        }
        self.signals.stop_to_report.set(None);
        self.signals.continue_to_report.set(true);
        for thread in self.threads() {
            thread.group_stop_is_over();
        }
        self.publish_pending();
        self.signals.continued.wake(PollEvents::IN);
        self.tell_parent_of_job(code::CLD_CONTINUED, Signal::SIGCONT);
    }

    fn tell_parent_of_job(&self, code: i32, signal: Signal) {
        let Some(parent) = self.parent() else { return };
        let action = parent.signals.action(Signal::SIGCHLD);
        if !action.flags().contains(SigActionFlags::NOCLDSTOP) {
            let info = self.job_info(code, signal.number().cast_signed());
            // A standard signal from the kernel is never refused.
            let _ = send_to_process(&parent, Signal::SIGCHLD, info);
        }
        parent.child_events().wake(PollEvents::IN);
    }
}
