//! Waiting for children.

use std::rc::Rc;

use linux_abi::signals::{SigInfo, Signal, code};
use linux_abi::tasks::ExitStatus;
use linux_abi::{Errno, Pid, SysResult};

use super::Process;

/// Which children are meant.
#[derive(Clone, Debug)]
pub enum ChildSelector {
    /// All of them.
    Any,
    /// The one with this id.
    Pid(Pid),
    /// Those in this process group.
    Group(Pid),
}

bitflags::bitflags! {
    /// What a waiter wants to hear of.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct WaitFor: u32 {
        /// The end (`WEXITED`).
        const END = 1;
        /// Stops (`WUNTRACED`, `WSTOPPED`).
        const STOP = 2;
        /// Continuations (`WCONTINUED`).
        const CONTINUE = 4;
        /// Leave it to be heard again (`WNOWAIT`).
        const PEEK = 8;
        /// Only children that send no `SIGCHLD` (`__WCLONE`).
        const CLONES = 16;
        /// Children of both kinds (`__WALL`).
        const ALL_KINDS = 32;
        /// Only children of the calling thread (`__WNOTHREAD`).
        const OWN = 64;
    }
}

/// What became of a child.
#[derive(Clone, Debug)]
pub struct ChildEvent {
    /// The id to tell: that of the child, or of a thread that is traced.
    pub pid: Pid,
    /// The child. If the event is its end, it is reaped unless the waiter only peeked.
    pub child: Rc<Process>,
    /// The status word of `wait4`.
    pub status: ExitStatus,
    /// What `waitid` tells.
    pub info: SigInfo,
}

impl ChildSelector {
    /// Whether a thread of `process` with this id is meant.
    pub(crate) fn fits(&self, tid: Pid, process: &Process) -> bool {
        match self {
            Self::Any => true,
            Self::Pid(pid) => *pid == tid,
            Self::Group(pgid) => process.group().pgid == *pgid,
        }
    }
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process").field("pid", &self.pid.0).finish_non_exhaustive()
    }
}

impl Process {
    /// Looks for an event of a child once, without waiting. `Ok(None)` if there may be one later;
    /// `ECHILD` if no child fits.
    pub fn take_child_event(
        &self,
        selector: &ChildSelector,
        wanted: WaitFor,
        waiter: Pid,
    ) -> SysResult<Option<ChildEvent>> {
        let candidates = match selector {
            ChildSelector::Pid(pid) => {
                self.children.borrow().get(pid).cloned().into_iter().collect()
            }
            ChildSelector::Any | ChildSelector::Group(_) => self.children(),
        };
        let mut fits = false;
        for child in candidates {
            if !child.is_selected(selector, wanted) {
                continue;
            }
            if wanted.contains(WaitFor::OWN) && child.parent_thread.get() != waiter {
                continue;
            }
            // One that has ended is waited for by those who want to hear of ends, and is nobody's else.
            fits |= !child.is_dead() || wanted.contains(WaitFor::END);
            if let Some(event) = child.event(wanted) {
                return Ok(Some(event));
            }
        }
        match self.take_tracee_event(selector, wanted, waiter) {
            Ok(Some(event)) => Ok(Some(event)),
            Err(()) if !fits => Err(Errno::ECHILD),
            Ok(None) | Err(()) => Ok(None),
        }
    }

    fn is_selected(&self, selector: &ChildSelector, wanted: WaitFor) -> bool {
        let in_group = match selector {
            ChildSelector::Group(pgid) => self.group().pgid == *pgid,
            ChildSelector::Any | ChildSelector::Pid(_) => true,
        };
        let is_clone = self.exit_signal() != Some(Signal::SIGCHLD);
        let kind_fits =
            wanted.contains(WaitFor::ALL_KINDS) || is_clone == wanted.contains(WaitFor::CLONES);
        in_group && kind_fits
    }

    /// Takes one event of this process on behalf of its parent.
    fn event(self: &Rc<Self>, wanted: WaitFor) -> Option<ChildEvent> {
        let peek = wanted.contains(WaitFor::PEEK);
        if let Some(status) = self.status() {
            if self.is_the_tracers.get() || !wanted.contains(WaitFor::END) {
                return None;
            }
            let info = self.end_info(Signal::SIGCHLD);
            if !peek {
                self.reap();
            }
            return Some(ChildEvent { pid: self.pid, child: Rc::clone(self), status, info });
        }
        // Stops of a traced child are the tracer's to hear of.
        let is_traced = self.any_thread().is_some_and(|thread| thread.is_traced());
        if wanted.contains(WaitFor::STOP)
            && !is_traced
            && let Some(signal) = self.signals.stop_to_report.get()
        {
            if !peek {
                self.signals.stop_to_report.set(None);
            }
            let number = signal.number().cast_signed();
            let info = self.job_info(code::CLD_STOPPED, number);
            let status = ExitStatus::stopped(signal);
            return Some(ChildEvent { pid: self.pid, child: Rc::clone(self), status, info });
        }
        if wanted.contains(WaitFor::CONTINUE) && self.signals.continue_to_report.get() {
            if !peek {
                self.signals.continue_to_report.set(false);
            }
            let number = Signal::SIGCONT.number().cast_signed();
            let info = self.job_info(code::CLD_CONTINUED, number);
            let status = ExitStatus::CONTINUED;
            return Some(ChildEvent { pid: self.pid, child: Rc::clone(self), status, info });
        }
        None
    }

    /// The `siginfo_t` that tells of a stop or a continuation.
    pub(crate) fn job_info(&self, code: i32, status: i32) -> SigInfo {
        let ticks = self.cpu_times().ticks();
        SigInfo::child(Signal::SIGCHLD, code, self.pid, self.uid(), status, ticks)
    }
}
