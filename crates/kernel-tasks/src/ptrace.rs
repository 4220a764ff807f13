//! Threads that trace others (`ptrace`).
//!
//! A traced thread stops only where it asks the kernel something: for signals, or, while its calls
//! are watched, before and after each call. The question is a future that waits until the tracer
//! lets the thread go on; meanwhile its registers lie in its channel, for the tracer to read and to
//! change ([`Machine::registers`](crate::Machine::registers)). The host's `ptrace` has no part in
//! this. See `docs/adr/0009`.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use kernel_core::wait::WaitQueue;
use linux_abi::signals::{SigInfo, Signal};
use linux_abi::tasks::ExitStatus;
use linux_abi::tasks::ptrace::TraceOptions;

use crate::Thread;
use crate::process::Flags;

mod attach;
mod calls;
mod ends;
mod events;
mod permission;
mod stops;

pub use calls::CallVerdict;
pub(crate) use ends::EndedTracee;
pub use ends::end_process;
pub use permission::AllowedTracer;

/// How a traced thread was let go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Until the next signal or event.
    #[default]
    Run,
    /// Until the next call begins or ends.
    ToCall,
    /// One instruction.
    Step,
    /// Until the next call, which is not made.
    Emulate,
    /// One instruction, or a call that is not made.
    EmulateStep,
}

impl Mode {
    /// Whether calls have to be announced.
    pub(crate) fn watches_calls(self) -> bool {
        self != Self::Run
    }

    /// Whether the processor makes one step.
    pub(crate) fn is_step(self) -> bool {
        matches!(self, Self::Step | Self::EmulateStep)
    }
}

/// Why a traced thread stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopKind {
    /// A signal is about to be delivered.
    Signal,
    /// Job control has stopped the process.
    Group,
    /// One of `PTRACE_EVENT_*`.
    Event,
    /// A call is about to be made.
    CallEntry,
    /// A call is over.
    CallExit,
}

/// A stop of a traced thread.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// Why.
    pub kind: StopKind,
    /// What `wait` tells: a signal, and the event above bit 8.
    pub code: u32,
}

/// Something that a thread has to see through before it goes back to guest code.
pub(crate) enum Event {
    /// A stop that the tracer asked for, and its message.
    Stop(u32, u64),
    /// The child of a `vfork` uses the memory of the thread.
    Vfork(Rc<Thread>),
    /// The call that brought these events is over.
    CallEnds,
}

/// What tracing knows of one thread.
#[derive(Default)]
pub struct Tracing {
    tracer: RefCell<Weak<Thread>>,
    is_seized: Cell<bool>,
    options: Cell<TraceOptions>,
    mode: Cell<Mode>,
    stop: Cell<Option<Stop>>,
    /// The tracer has waited for the stop.
    is_reported: Cell<bool>,
    /// It stands still, but not for requests of the tracer (`PTRACE_LISTEN`).
    is_listening: Cell<bool>,
    /// For `PTRACE_GETEVENTMSG`.
    message: Cell<u64>,
    /// For `PTRACE_GETSIGINFO`.
    info: Cell<Option<SigInfo>>,
    /// The signal that the tracer lets it go on with.
    given: Cell<Option<Signal>>,
    events: RefCell<VecDeque<Event>>,
    /// The process was stopped, and the thread has not trapped for that.
    wants_group_stop: Cell<bool>,
    /// `PTRACE_INTERRUPT`.
    wants_interrupt: Cell<bool>,
    /// Job control let the process go on while the thread, seized, stood still: it traps once more,
    /// so that a tracer that has not looked yet does not wait for what has happened.
    has_notice: Cell<bool>,
    /// It is to end as soon as it asks.
    must_exit: Cell<Option<ExitStatus>>,
    resumed: WaitQueue,
}

impl Thread {
    /// Who traces it.
    pub fn tracer(&self) -> Option<Rc<Thread>> {
        self.tracing.tracer.borrow().upgrade().filter(|tracer| !tracer.has_exited())
    }

    /// Whether somebody traces it.
    pub fn is_traced(&self) -> bool {
        self.tracer().is_some()
    }

    /// The stop it is in, if it serves requests of its tracer.
    pub fn trace_stop(&self) -> Option<Stop> {
        self.tracing.stop.get().filter(|_| !self.tracing.is_listening.get())
    }

    /// Whether its tracer holds it.
    pub fn is_held_by_tracer(&self) -> bool {
        self.tracing.stop.get().is_some()
    }

    /// Whether it was seized, not attached.
    pub fn is_seized(&self) -> bool {
        self.tracing.is_seized.get()
    }

    /// What its tracer wants to hear of.
    pub fn trace_options(&self) -> TraceOptions {
        self.tracing.options.get()
    }

    /// Sets what its tracer wants to hear of.
    pub fn set_trace_options(&self, options: TraceOptions) {
        self.tracing.options.set(options);
    }

    /// The message of its last event.
    pub fn event_message(&self) -> u64 {
        self.tracing.message.get()
    }

    /// What its stop is about; `None` if that is no signal.
    pub fn stop_info(&self) -> Option<SigInfo> {
        self.tracing.info.get()
    }

    /// Replaces what its stop is about.
    pub fn set_stop_info(&self, info: SigInfo) {
        self.tracing.info.set(Some(info));
    }

    /// What the signals say that wait for the thread, or for its process as a whole.
    pub fn queued_infos(&self, of_process: bool) -> Vec<SigInfo> {
        if of_process {
            self.process().signals.pending.infos()
        } else {
            self.pending_queue().infos()
        }
    }

    /// Whether it has to ask the kernel before it goes back to guest code, signals apart.
    pub(crate) fn shall_stop(&self) -> bool {
        let tracing = &self.tracing;
        if tracing.must_exit.get().is_some() || !tracing.events.borrow().is_empty() {
            return true;
        }
        if self.is_traced() {
            let wants = tracing.wants_group_stop.get()
                || tracing.wants_interrupt.get()
                || tracing.has_notice.get();
            return wants || self.process().has_flag(Flags::FROZEN);
        }
        self.process().is_held()
    }

    /// Tells the shim whether to announce calls and to show registers.
    pub(crate) fn publish_watch(&self) {
        let traced = self.is_traced();
        let calls = traced && self.tracing.mode.get().watches_calls() || self.has_call_filter();
        let ends = traced && self.tracing.mode.get().watches_calls();
        self.machine().set_watch(calls, ends, traced);
    }
}
