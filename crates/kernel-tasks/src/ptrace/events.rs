//! Events: `fork`, `execve`, the end of a `vfork`.

use std::rc::Rc;

use kernel_core::wait::PollEvents;
use linux_abi::signals::{SigInfo, Signal, code};
use linux_abi::tasks::CloneFlags;
use linux_abi::tasks::ptrace::{TraceOptions, event};

use super::{Event, Mode, Stop, StopKind};
use crate::process::Flags;
use crate::{Thread, signals};

/// How many events can wait.
const MAX_EVENTS: usize = 16;

impl Thread {
    pub(super) fn push_event(&self, event: Event) {
        let mut events = self.tracing.events.borrow_mut();
        // A shim of ours sees them through before the next call.
        if events.len() < MAX_EVENTS {
            events.push_back(event);
        }
    }

    /// Whether a `vfork` of this thread needs a child that runs beside it, because the two stop
    /// one by one.
    pub(crate) fn traces_vfork(&self) -> bool {
        let wanted = TraceOptions::TRACEVFORK | TraceOptions::TRACEVFORKDONE;
        self.is_traced() && self.trace_options().intersects(wanted)
    }

    /// This thread has made another one. `waits`: the child is one of a `vfork` that runs beside
    /// its parent, which must not go on before the child has left its memory.
    pub(crate) fn child_was_made(
        self: &Rc<Self>,
        child: &Rc<Thread>,
        flags: CloneFlags,
        exit_signal: Option<Signal>,
        waits: bool,
    ) {
        let what = if flags.contains(CloneFlags::VFORK) {
            event::VFORK
        } else if exit_signal == Some(Signal::SIGCHLD) && !flags.contains(CloneFlags::THREAD) {
            event::FORK
        } else {
            event::CLONE
        };
        if !flags.contains(CloneFlags::UNTRACED) {
            self.trace_child(child, what, flags.contains(CloneFlags::PTRACE));
        }
        if waits {
            self.push_event(Event::Vfork(Rc::clone(child)));
            self.push_event(Event::Stop(event::VFORK_DONE, child.tid().0.into()));
        }
        if !self.tracing.events.borrow().is_empty() {
            self.push_event(Event::CallEnds);
            self.publish_pending();
        }
    }

    /// This thread runs another program; it was known as `old_id`.
    pub(crate) fn program_was_replaced(self: &Rc<Self>, old_id: u32) {
        self.tracing.events.borrow_mut().clear();
        if !self.is_traced() {
            return;
        }
        if self.trace_options().contains(TraceOptions::TRACEEXEC) {
            self.push_event(Event::Stop(event::EXEC, old_id.into()));
        } else if !self.is_seized() {
            let info = SigInfo::from_process(
                Signal::SIGTRAP,
                code::SI_USER,
                self.process().pid,
                self.credentials().uid,
            );
            let _ = signals::send_to_thread(self, Signal::SIGTRAP, info);
        }
        self.push_event(Event::CallEnds);
    }

    /// Sees through what has come up. `in_call`: the end of the call is told by the caller.
    pub(crate) async fn serve_events(self: &Rc<Self>, in_call: bool) {
        loop {
            // Taken out before it is served, so that nothing is borrowed while it waits.
            let next = self.tracing.events.borrow_mut().pop_front();
            match next {
                None => break,
                Some(Event::Stop(what, message)) => {
                    if self.trace_options().contains(TraceOptions::for_event(what)) {
                        self.stop_at_event(what, message).await;
                    }
                }
                Some(Event::Vfork(child)) => self.wait_until_left(&child).await,
                Some(Event::CallEnds) if in_call => {}
                Some(Event::CallEnds) => {
                    if self.is_traced() && self.tracing.mode.get() == Mode::ToCall {
                        self.stop_at_call(StopKind::CallExit).await;
                    }
                }
            }
        }
    }

    /// One of the stops that options ask for.
    pub(crate) async fn stop_at_event(self: &Rc<Self>, what: u32, message: u64) {
        self.tracing.message.set(message);
        let code = Signal::SIGTRAP.number() | what << 8;
        let info = self.trap_info(code);
        let given = self.stop_for_tracer(Stop { kind: StopKind::Event, code }, Some(info)).await;
        self.send_given(given);
    }

    /// The tracer let the thread go on with a signal, from a stop that was none.
    pub(super) fn send_given(self: &Rc<Self>, given: Option<Signal>) {
        if let (Some(signal), Some(tracer)) = (given, self.tracer()) {
            let info = tracer.signal_info(signal, code::SI_USER);
            let _ = signals::send_to_thread(self, signal, info);
        }
    }

    /// Waits until the child of a `vfork` has ended or runs another program.
    async fn wait_until_left(&self, child: &Rc<Thread>) {
        let process = child.process();
        if Rc::ptr_eq(process, self.process()) {
            while !child.has_exited() {
                process.thread_ended.wait(PollEvents::IN).await;
            }
            return;
        }
        while process.has_flag(Flags::HOLDS_PARENT) && !process.is_dead() {
            process.left_memory().wait(PollEvents::IN).await;
        }
    }
}
