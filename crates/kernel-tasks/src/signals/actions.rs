//! What a process does with each signal.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use kernel_core::wait::WaitQueue;
use linux_abi::signals::{SIG_DFL, SIG_IGN, SigAction, SigSet, Signal};

use super::queue::{QueueLimits, SignalQueue};

/// How many signals there are.
const COUNT: usize = 64;

type Actions = [SigAction; COUNT];

/// What happens if nothing else was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultAction {
    /// The process ends.
    Terminate,
    /// The process ends, in the way that dumps core.
    Core,
    /// Nothing.
    Ignore,
    /// The process stops.
    Stop,
}

impl DefaultAction {
    /// The default action of a signal, see signal(7).
    pub const fn of(signal: Signal) -> Self {
        match signal {
            Signal::SIGCHLD | Signal::SIGCONT | Signal::SIGURG | Signal::SIGWINCH => Self::Ignore,
            Signal::SIGSTOP | Signal::SIGTSTP | Signal::SIGTTIN | Signal::SIGTTOU => Self::Stop,
            Signal::SIGQUIT
            | Signal::SIGILL
            | Signal::SIGTRAP
            | Signal::SIGABRT
            | Signal::SIGBUS
            | Signal::SIGFPE
            | Signal::SIGSEGV
            | Signal::SIGXCPU
            | Signal::SIGXFSZ
            | Signal::SIGSYS => Self::Core,
            _ => Self::Terminate,
        }
    }
}

/// The signals of a process: its dispositions, its queue, and job control.
pub struct ProcessSignals {
    /// Shared only between processes that `clone` made with `CLONE_SIGHAND`.
    actions: RefCell<Rc<RefCell<Actions>>>,
    /// What was sent to the process as a whole.
    pub(crate) pending: SignalQueue,
    /// The signal that stopped the process, while it is stopped.
    pub(crate) stop: Cell<Option<Signal>>,
    /// A stop that the parent has not waited for.
    pub(crate) stop_to_report: Cell<Option<Signal>>,
    /// A continuation that the parent has not waited for.
    pub(crate) continue_to_report: Cell<bool>,
    /// Woken when the process continues.
    pub(crate) continued: WaitQueue,
    /// Woken when a signal arrives for the process or any of its threads (for `signalfd`).
    pub(crate) arrived: WaitQueue,
}

impl Default for ProcessSignals {
    fn default() -> Self {
        Self {
            actions: RefCell::new(Rc::new(RefCell::new([SigAction::default(); COUNT]))),
            pending: SignalQueue::default(),
            stop: Cell::default(),
            stop_to_report: Cell::default(),
            continue_to_report: Cell::default(),
            continued: WaitQueue::new(),
            arrived: WaitQueue::new(),
        }
    }
}

impl ProcessSignals {
    /// What is done with a signal.
    pub fn action(&self, signal: Signal) -> SigAction {
        self.actions.borrow().borrow().get(signal.index()).copied().unwrap_or_default()
    }

    /// Replaces what is done with a signal. See also
    /// [`Thread::set_action`](crate::Thread::set_action), which obeys all of `sigaction(2)`.
    pub fn set_action(&self, signal: Signal, action: SigAction) {
        if let Some(place) = self.actions.borrow().borrow_mut().get_mut(signal.index()) {
            *place = action;
        }
    }

    /// The signals whose action is as in a new program. None while another process could change
    /// that.
    pub(crate) fn plain_actions(&self) -> SigSet {
        let actions = self.actions.borrow();
        if Rc::strong_count(&actions) > 1 {
            return SigSet::EMPTY;
        }
        let mut plain = SigSet::EMPTY;
        for (action, number) in actions.borrow().iter().zip(1..) {
            if *action == SigAction::default()
                && let Some(signal) = Signal::new(number)
            {
                plain = plain.with(signal);
            }
        }
        plain
    }

    /// Takes a copy of the dispositions of another process, as `fork` does.
    pub(crate) fn copy_actions(&self, from: &Self) {
        let copy = *from.actions.borrow().borrow();
        *self.actions.borrow_mut() = Rc::new(RefCell::new(copy));
    }

    /// Shares the dispositions of another process (`CLONE_SIGHAND`).
    pub(crate) fn share_actions(&self, from: &Self) {
        *self.actions.borrow_mut() = Rc::clone(&from.actions.borrow());
    }

    /// Caught signals get their default action, ignored ones stay ignored, as `execve` wants. What
    /// was shared is shared no more.
    pub(crate) fn reset_caught(&self) {
        let mut actions = *self.actions.borrow().borrow();
        for action in &mut actions {
            let handler = if action.handler == SIG_IGN { SIG_IGN } else { SIG_DFL };
            *action = SigAction { handler, ..SigAction::default() };
        }
        *self.actions.borrow_mut() = Rc::new(RefCell::new(actions));
    }

    /// Whether a signal has no effect if it is not blocked.
    pub fn ignores(&self, signal: Signal) -> bool {
        match self.action(signal).handler {
            SIG_IGN => !SigSet::UNBLOCKABLE.contains(signal),
            SIG_DFL => DefaultAction::of(signal) == DefaultAction::Ignore,
            _ => false,
        }
    }

    /// The signals that are ignored and those that are caught, for `/proc/<pid>/status`.
    pub fn ignored_and_caught(&self) -> (SigSet, SigSet) {
        let mut sets = (SigSet::EMPTY, SigSet::EMPTY);
        for (action, number) in self.actions.borrow().borrow().iter().zip(1..) {
            let Some(signal) = Signal::new(number) else { continue };
            match action.handler {
                SIG_DFL => {}
                SIG_IGN => sets.0 = sets.0.with(signal),
                _ => sets.1 = sets.1.with(signal),
            }
        }
        sets
    }

    /// The signals that wait for the process as a whole.
    pub fn pending(&self) -> SigSet {
        self.pending.set()
    }

    /// Woken when a signal arrives for the process or any of its threads.
    pub fn arrived(&self) -> &WaitQueue {
        &self.arrived
    }

    pub(crate) fn forget_all(&self, limits: &QueueLimits) {
        self.pending.discard(SigSet(u64::MAX), limits);
        self.stop.set(None);
        self.stop_to_report.set(None);
        self.continue_to_report.set(false);
    }
}
