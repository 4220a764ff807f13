//! Calls of watched threads: before and after.

use std::rc::Rc;

use linux_abi::signals::Signal;
use linux_abi::tasks::ptrace::TraceOptions;

use super::{Mode, Stop, StopKind};
use crate::Thread;

/// What becomes of a call that was announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallVerdict {
    /// It is made, with the registers as they are now.
    Run,
    /// It is not made; the registers say what the caller gets.
    Skip,
}

impl Thread {
    /// A watched thread is about to make a call, which is in its registers: the tracer sees it
    /// first, then the filters.
    pub async fn enter_call(self: Rc<Self>) -> CallVerdict {
        let mut verdict = CallVerdict::Run;
        if self.is_traced() {
            match self.tracing.mode.get() {
                Mode::ToCall => self.stop_at_call(StopKind::CallEntry).await,
                Mode::Emulate | Mode::EmulateStep => {
                    self.stop_at_call(StopKind::CallEntry).await;
                    verdict = CallVerdict::Skip;
                }
                Mode::Run | Mode::Step => {}
            }
        }
        if self.tracing.must_exit.get().is_some() {
            verdict = CallVerdict::Skip; // it ends instead
        }
        if verdict == CallVerdict::Run && self.has_call_filter() {
            verdict = self.filter_call().await;
        }
        self.prepare_step();
        verdict
    }

    /// The call of a watched thread is over; its result is in the registers.
    pub async fn leave_call(self: Rc<Self>) {
        self.serve_events(true).await;
        if self.is_traced() && self.tracing.mode.get() == Mode::ToCall {
            self.stop_at_call(StopKind::CallExit).await;
        }
        self.prepare_step();
    }

    pub(super) async fn stop_at_call(self: &Rc<Self>, kind: StopKind) {
        const GOOD: u32 = 0x80;
        let is_good = self.trace_options().contains(TraceOptions::TRACESYSGOOD);
        let code = Signal::SIGTRAP.number() | if is_good { GOOD } else { 0 };
        let info = self.trap_info(code);
        self.tracing.message.set(if kind == StopKind::CallEntry { 1 } else { 2 });
        let given = self.stop_for_tracer(Stop { kind, code }, Some(info)).await;
        self.send_given(given);
    }

    /// Tells the shim whether the thread goes on for one instruction only.
    pub(crate) fn prepare_step(&self) {
        if self.is_traced() {
            self.machine().set_step(self.tracing.mode.get().is_step());
        }
    }
}
