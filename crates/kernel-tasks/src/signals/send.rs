//! Sending signals.

use std::rc::{Rc, Weak};

use kernel_core::wait::PollEvents;
use linux_abi::SysResult;
use linux_abi::signals::{SigInfo, Signal};
use linux_abi::tasks::rlimit;

use super::queue::{Account, SignalSource};
use crate::process::Flags;
use crate::{Process, ProcessGroup, Thread};

/// Who a signal is for, and what it says.
pub struct Sender {
    /// What the signal says.
    pub info: SigInfo,
    /// Who is told when it is taken.
    pub source: Option<Weak<dyn SignalSource>>,
}

/// Sends a signal to a process as a whole: any thread that does not block it may take it.
pub fn send_to_process(process: &Rc<Process>, signal: Signal, info: SigInfo) -> SysResult<()> {
    deliver(process, None, signal, Sender { info, source: None }).map(drop)
}

/// Sends a signal to one thread.
pub fn send_to_thread(thread: &Rc<Thread>, signal: Signal, info: SigInfo) -> SysResult<()> {
    deliver(thread.process(), Some(thread), signal, Sender { info, source: None }).map(drop)
}

/// Sends a signal to every process of a group.
pub fn send_to_group(group: &ProcessGroup, signal: Signal, info: SigInfo) {
    for member in group.members() {
        // Fails only for real-time signals from `sigqueue`, which has no group form.
        let _ = send_to_process(&member, signal, info);
    }
}

/// Sends the signal of a source, to one thread or to a process as a whole. `false` if it is
/// ignored.
pub fn send_from_source(
    process: &Rc<Process>,
    thread: Option<&Rc<Thread>>,
    signal: Signal,
    info: SigInfo,
    source: Weak<dyn SignalSource>,
) -> SysResult<bool> {
    deliver(process, thread, signal, Sender { info, source: Some(source) })
}

/// Returns whether the signal was queued.
fn deliver(
    process: &Rc<Process>,
    thread: Option<&Rc<Thread>>,
    signal: Signal,
    sent: Sender,
) -> SysResult<bool> {
    if process.is_exiting() || process.has_flag(Flags::INIT) {
        return Ok(false);
    }
    if thread.is_some_and(|thread| thread.has_exited()) {
        return Ok(false);
    }
    if signal == Signal::SIGKILL {
        process.kill_with_report();
        return Ok(false);
    }
    process.note_job_control(signal);
    if is_dropped(process, thread, signal) {
        return Ok(false);
    }
    let account = Account {
        limits: &process.kernel().queued_signals,
        uid: process.uid(),
        maximum: process.limit(rlimit::SIGPENDING).map_or(0, |limit| limit.current),
    };
    match thread {
        Some(thread) => {
            thread.pending_queue().push(signal, sent.info, sent.source, account)?;
            thread.publish_pending();
            if thread.takes(signal) {
                thread.machine().kick();
            }
        }
        None => {
            process.signals.pending.push(signal, sent.info, sent.source, account)?;
            process.publish_pending();
            process.kick_one(signal);
        }
    }
    process.signals.arrived.wake(PollEvents::READABLE);
    Ok(true)
}

/// Whether a signal has no effect and need not be queued. A blocked one is kept: the disposition
/// may change before it is unblocked, and `sigwait` may want it; one that is not blocked is lost even
/// to who waits for it.
fn is_dropped(process: &Process, thread: Option<&Rc<Thread>>, signal: Signal) -> bool {
    if !process.signals.ignores(signal) {
        return false;
    }
    let target = thread.cloned().or_else(|| process.any_thread());
    target.is_none_or(|target| {
        // A tracer sees also those that have no effect.
        !target.is_traced() && !target.mask().contains(signal)
    })
}

impl Process {
    /// Tells the shims of all threads what they answer by themselves.
    pub(crate) fn publish_ids(&self) {
        for thread in self.threads() {
            thread.publish_ids();
        }
    }

    /// Tells the shims of all threads what waits for them.
    pub(crate) fn publish_pending(&self) {
        for thread in self.threads() {
            thread.publish_pending();
        }
    }

    /// Makes one thread that does not block `signal` take it: the first one if it can.
    pub(crate) fn kick_one(&self, signal: Signal) {
        let first = self.any_thread().filter(|thread| thread.takes(signal));
        let chosen =
            first.or_else(|| self.threads().into_iter().find(|thread| thread.takes(signal)));
        if let Some(thread) = chosen {
            thread.machine().kick();
        }
    }
}
