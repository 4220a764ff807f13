//! Where a traced thread stands still.

use std::rc::Rc;

use kernel_core::wait::PollEvents;
use linux_abi::signals::{SIG_IGN, SigActionFlags, SigInfo, Signal, code};
use linux_abi::tasks::ptrace::event;

use super::{Stop, StopKind};
use crate::{Thread, signals};

impl Thread {
    /// Stands still until the tracer lets the thread go on. Returns the signal that it goes on with.
    /// At once if nobody traces it, or it is about to end.
    pub(super) async fn stop_for_tracer(
        self: &Rc<Self>,
        stop: Stop,
        info: Option<SigInfo>,
    ) -> Option<Signal> {
        let tracing = &self.tracing;
        let is_last = stop.code >> 8 == event::EXIT;
        if !self.is_traced() || tracing.must_exit.get().is_some() && !is_last {
            return None;
        }
        tracing.given.set(None);
        tracing.info.set(info);
        self.trap(stop);
        while tracing.stop.get().is_some() && !self.has_exited() {
            tracing.resumed.wait(PollEvents::IN).await;
        }
        tracing.given.take()
    }

    fn trap(&self, stop: Stop) {
        self.tracing.has_notice.set(false);
        self.tracing.is_reported.set(false);
        self.tracing.stop.set(Some(stop));
        self.tell_tracer(stop);
    }

    /// What a trap that is no signal says.
    pub(super) fn trap_info(&self, code: u32) -> SigInfo {
        let who = self.credentials();
        SigInfo::from_process(Signal::SIGTRAP, code.cast_signed(), self.tid(), who.uid)
    }

    fn tell_tracer(&self, stop: Stop) {
        let Some(tracer) = self.tracer() else { return };
        let parent = tracer.process();
        let action = parent.signals.action(Signal::SIGCHLD);
        if action.handler != SIG_IGN && !action.flags().contains(SigActionFlags::NOCLDSTOP) {
            let info = self.stop_report(stop);
            // A standard signal from the kernel is never refused.
            let _ = signals::send_to_process(parent, Signal::SIGCHLD, info);
        }
        parent.child_events().wake(PollEvents::IN);
    }

    /// What `waitid` and `SIGCHLD` tell of a stop.
    pub(crate) fn stop_report(&self, stop: Stop) -> SigInfo {
        let what = if stop.kind == StopKind::Group { code::CLD_STOPPED } else { code::CLD_TRAPPED };
        let ticks = self.process().cpu_times().ticks();
        let status = (stop.code & 0xffff).cast_signed();
        SigInfo::child(Signal::SIGCHLD, what, self.tid(), self.credentials().uid, status, ticks)
    }

    /// The stop before a signal is delivered. Returns what is to be delivered instead.
    pub(crate) async fn stop_for_signal(
        self: &Rc<Self>,
        signal: Signal,
        info: SigInfo,
    ) -> Option<(Signal, SigInfo)> {
        let Some(tracer) = self.tracer() else { return Some((signal, info)) };
        let stop = Stop { kind: StopKind::Signal, code: signal.number() };
        let given = self.stop_for_tracer(stop, Some(info)).await?;
        let mut info = self.tracing.info.get().unwrap_or(info);
        if info.signal() != Some(given) {
            info = tracer.signal_info(given, code::SI_USER);
        }
        if self.mask().contains(given) {
            // It waits until it is unblocked.
            let _ = signals::send_to_thread(self, given, info);
            return None;
        }
        Some((given, info))
    }

    /// Stops that were asked for: by job control, or by the tracer's `PTRACE_INTERRUPT`. Returns
    /// whether there was one.
    pub(crate) async fn stop_if_asked(self: &Rc<Self>) -> bool {
        let tracing = &self.tracing;
        let (group, interrupt) = (tracing.wants_group_stop.take(), tracing.wants_interrupt.take());
        let has_notice = tracing.has_notice.take();
        if !group && !interrupt && !has_notice || !self.is_traced() {
            return false;
        }
        let stopped_by = self.process().signals.stop.get();
        let signal = stopped_by.unwrap_or(Signal::SIGTRAP).number();
        if self.is_seized() {
            let code = signal | event::STOP << 8;
            let kind = if stopped_by.is_some() { StopKind::Group } else { StopKind::Event };
            let info = self.trap_info(Signal::SIGTRAP.number() | event::STOP << 8);
            self.stop_for_tracer(Stop { kind, code }, Some(info)).await;
        } else if stopped_by.is_some() {
            self.stop_for_tracer(Stop { kind: StopKind::Group, code: signal }, None).await;
        }
        true
    }

    /// The process was stopped by job control: the tracer hears of it.
    pub(crate) fn want_group_stop(&self) {
        if self.is_traced() {
            self.tracing.wants_group_stop.set(true);
        }
    }

    /// Job control lets the process go on: a thread that only listens tells its tracer.
    pub(crate) fn group_stop_is_over(self: &Rc<Self>) {
        self.tracing.wants_group_stop.set(false);
        if self.tracing.is_listening.get() {
            self.trap_again();
        } else if self.is_seized() && self.is_held_by_tracer() {
            self.tracing.has_notice.set(true);
        }
    }

    /// Ends `PTRACE_LISTEN`: the tracer is told of a new stop.
    pub(super) fn trap_again(&self) {
        self.tracing.is_listening.set(false);
        let stopped_by = self.process().signals.stop.get();
        let signal = stopped_by.unwrap_or(Signal::SIGTRAP).number();
        let kind = if stopped_by.is_some() { StopKind::Group } else { StopKind::Event };
        self.trap(Stop { kind, code: signal | event::STOP << 8 });
    }

    /// The stop that the tracer has not waited for. Unless `peek`, it has now.
    pub(crate) fn take_stop(&self, peek: bool) -> Option<Stop> {
        let tracing = &self.tracing;
        let stop = self.trace_stop().filter(|_| !tracing.is_reported.get())?;
        tracing.is_reported.set(!peek);
        Some(stop)
    }
}
