//! What a thread does with the signals that wait for it.

use std::rc::Rc;

use kernel_core::wait::PollEvents;
use linux_abi::Restart;
use linux_abi::signals::{SIG_DFL, SIG_IGN, SigAction, SigActionFlags, SigInfo, SigSet, Signal};
use linux_abi::tasks::ExitStatus;

use super::actions::DefaultAction;
use super::send::send_to_thread;
use crate::process::Flags;
use crate::{Thread, ptrace};

/// A handler that the shim shall run.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// The signal.
    pub signal: Signal,
    /// The handler's second argument.
    pub info: SigInfo,
    /// Handler, flags and restorer.
    pub action: SigAction,
    /// The mask for the frame: in force again when the handler returns. The mask for the handler
    /// itself is set already.
    pub saved_mask: SigSet,
}

/// What to do with a call that a signal has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterInterruption {
    /// The guest sees `EINTR`.
    Eintr,
    /// The call is made again with its old registers.
    Again,
    /// `restart_syscall` is made instead.
    Continue,
}

/// What becomes of an interrupted call, given the first handler that runs, if any.
pub fn after_interruption(restart: Restart, delivery: Option<&Delivery>) -> AfterInterruption {
    let Some(delivery) = delivery else {
        return match restart {
            Restart::Continuation => AfterInterruption::Continue,
            Restart::IfAsked | Restart::Always | Restart::IfNoHandler => AfterInterruption::Again,
        };
    };
    let asked = delivery.action.flags().contains(SigActionFlags::RESTART);
    match restart {
        Restart::Always => AfterInterruption::Again,
        Restart::IfAsked if asked => AfterInterruption::Again,
        Restart::IfAsked | Restart::IfNoHandler | Restart::Continuation => AfterInterruption::Eintr,
    }
}

/// Takes signals until there is a handler to run, or none is left. Default actions happen inside:
/// a process that stops waits here for `SIGCONT`, one that ends has no use for the answer.
///
/// The backend calls this when a shim asks, and after each call that ended with
/// [`Interrupted::Signal`](linux_abi::Interrupted::Signal).
pub async fn next_signal(thread: Rc<Thread>) -> Option<Delivery> {
    let delivery = take_until_handler(&thread).await;
    thread.prepare_step();
    delivery
}

async fn take_until_handler(thread: &Rc<Thread>) -> Option<Delivery> {
    loop {
        let process = thread.process();
        thread.serve_events(false).await;
        if thread.has_exited() || thread.exit_if_ordered().await {
            return None;
        }
        if thread.is_traced() {
            if thread.stop_if_asked().await {
                thread.publish_pending();
                continue;
            }
            if process.has_flag(Flags::FROZEN) {
                process.signals.continued.wait(PollEvents::IN).await;
                continue;
            }
        } else if process.is_held() {
            process.signals.continued.wait(PollEvents::IN).await;
            if thread.is_traced() {
                return None; // it asks again, and shows its tracer how it stands
            }
            continue;
        }
        let Some((signal, info)) = thread.take_signal(SigSet(!thread.mask().0)) else {
            thread.restore_mask();
            thread.publish_pending();
            thread.hand_on_blocked();
            return None;
        };
        let Some((signal, info)) = thread.stop_for_signal(signal, info).await else { continue };
        let action = process.signals.action(signal);
        match action.handler {
            SIG_IGN => {}
            SIG_DFL => act_by_default(thread, signal).await,
            _ => return Some(thread.prepare_handler(signal, info, action)),
        }
    }
}

async fn act_by_default(thread: &Rc<Thread>, signal: Signal) {
    let process = thread.process();
    match DefaultAction::of(signal) {
        DefaultAction::Ignore => {}
        DefaultAction::Stop => {
            // Nobody could continue an orphaned group; only SIGSTOP stops it all the same.
            if signal == Signal::SIGSTOP || !process.group().is_orphaned() {
                process.stop(signal);
            }
        }
        // No core is ever written, so none is claimed: as on Linux with `RLIMIT_CORE` at zero.
        DefaultAction::Terminate | DefaultAction::Core => {
            let status = ExitStatus::signaled(signal, false);
            ptrace::end_process(Rc::clone(thread), status).await;
        }
    }
}

/// The processor raised a signal in guest code. It cannot wait: if the thread blocks or ignores
/// it, the process ends by it. The backend then calls [`next_signal`].
pub fn fault(thread: &Rc<Thread>, signal: Signal, info: SigInfo) {
    let signals = &thread.process().signals;
    let blocked = thread.mask().contains(signal);
    if blocked || signals.action(signal).handler == SIG_IGN {
        signals.set_action(signal, SigAction::default());
        thread.set_mask(thread.mask().without(SigSet::of(signal)));
    }
    // Never refused: a standard signal with a positive code is exempt from limits.
    let _ = send_to_thread(thread, signal, info);
}

impl Thread {
    /// Changes what the process does with a signal, as `sigaction(2)`. What waits is thrown away
    /// if it is ignored from now on, even if it is blocked.
    pub fn set_action(&self, signal: Signal, action: SigAction) {
        let process = self.process();
        let was_plain = process.signals.action(signal) == SigAction::default();
        process.signals.set_action(signal, action);
        if was_plain && action != SigAction::default() {
            process.publish_ids();
        }
        if process.signals.ignores(signal) {
            process.discard_pending(SigSet::of(signal));
            process.publish_pending();
        }
    }

    /// Takes the next of the `wanted` signals: the thread's own before the process's.
    pub fn take_signal(&self, wanted: SigSet) -> Option<(Signal, SigInfo)> {
        let limits = &self.kernel().queued_signals;
        let taken = self
            .pending_queue()
            .take(wanted, limits)
            .or_else(|| self.process().signals.pending.take(wanted, limits))?;
        self.process().publish_pending();
        Some(taken)
    }

    fn prepare_handler(&self, signal: Signal, info: SigInfo, action: SigAction) -> Delivery {
        let flags = action.flags();
        if flags.contains(SigActionFlags::RESETHAND) {
            let reset = SigAction { handler: SIG_DFL, ..action };
            self.process().signals.set_action(signal, reset);
        }
        let now = self.mask();
        let saved_mask = self.saved_mask.take().unwrap_or(now);
        let mut during = now.union(action.mask);
        if !flags.contains(SigActionFlags::NODEFER) {
            during = during.with(signal);
        }
        self.set_mask(during);
        // What just became blocked may be for another thread now.
        self.hand_on_blocked();
        Delivery { signal, info, action, saved_mask }
    }

    /// Signals for the process that this thread blocks are for another thread to take.
    fn hand_on_blocked(&self) {
        let process = self.process();
        if process.n_threads() < 2 {
            return;
        }
        let mut others = process.signals.pending.set().and(self.mask());
        while let Some(signal) = others.lowest() {
            others = others.without(SigSet::of(signal));
            process.kick_one(signal);
        }
    }
}
