//! The end of traced threads.

use std::rc::{Rc, Weak};

use kernel_core::wait::PollEvents;
use linux_abi::Pid;
use linux_abi::signals::{SigInfo, Signal, code};
use linux_abi::tasks::ExitStatus;
use linux_abi::tasks::ptrace::{TraceOptions, event};

use crate::process::{ChildEvent, ChildSelector, WaitFor};
use crate::{Process, Thread, signals};

/// A traced thread or process that has ended, and that its tracer has not waited for.
pub(crate) struct EndedTracee {
    tid: Pid,
    tracer: Pid,
    status: ExitStatus,
    process: Rc<Process>,
    info: SigInfo,
    /// It is the process as a whole, of which the parent is told afterwards.
    is_process: bool,
}

/// How many ends a tracer can leave unheard.
const MAX_ENDED: usize = 4096;

/// Ends the process of `thread`, as `exit_group` and a deadly signal do. Threads whose tracer asked
/// for it stop once more before.
pub async fn end_process(thread: Rc<Thread>, status: ExitStatus) {
    thread.report_exit(status).await;
    let process = Rc::clone(thread.process());
    let others = process.threads().into_iter().filter(|other| !Rc::ptr_eq(other, &thread));
    if others.clone().any(|other| other.reports_exit()) {
        for other in others {
            other.order_exit(status);
        }
        thread.exit(status);
    } else {
        process.exit(status);
    }
}

impl Process {
    /// Ends the process as `SIGKILL` does. Threads whose tracer asked for it stop once more before.
    pub(crate) fn kill_with_report(self: &Rc<Self>) {
        let status = ExitStatus::signaled(Signal::SIGKILL, false);
        if self.threads().iter().any(|thread| thread.reports_exit()) {
            for thread in self.threads() {
                thread.order_exit(status);
            }
        } else {
            self.exit(status);
        }
    }

    pub(crate) fn forget_tracee(&self, tracee: &Rc<Thread>) {
        self.tracees.borrow_mut().retain(|other| !Rc::ptr_eq(other, tracee));
    }

    /// The end of this process is for a tracer to hear of first. Returns whether there is one.
    pub(crate) fn tell_tracer_of_end(self: &Rc<Self>) -> bool {
        let tracer = self.end_tracer.take().and_then(|tracer| tracer.upgrade());
        let Some(tracer) = tracer.filter(|tracer| !tracer.has_exited()) else { return false };
        if self.parent_pid() == tracer.process().pid {
            return false; // who hears of it anyway
        }
        self.is_the_tracers.set(true);
        let ended = EndedTracee {
            tid: self.pid,
            tracer: tracer.tid(),
            status: self.status().unwrap_or(ExitStatus::exited(0)),
            process: Rc::clone(self),
            info: self.end_info(Signal::SIGCHLD),
            is_process: true,
        };
        tell(&tracer, ended);
        true
    }

    /// Takes an event of a thread that this process traces. `Ok(None)` if there may be one later,
    /// `Err` if no such thread fits.
    pub(crate) fn take_tracee_event(
        &self,
        selector: &ChildSelector,
        wanted: WaitFor,
        waiter: Pid,
    ) -> Result<Option<ChildEvent>, ()> {
        let peek = wanted.contains(WaitFor::PEEK);
        let own = |tracer: Pid| !wanted.contains(WaitFor::OWN) || tracer == waiter;
        let mut fits = false;
        let tracees: Vec<_> = self.tracees.borrow().clone();
        for tracee in tracees {
            let tracer = tracee.tracer().map_or(Pid(0), |tracer| tracer.tid());
            if !own(tracer) || !selector.fits(tracee.tid(), tracee.process()) {
                continue;
            }
            fits = true;
            if let Some(stop) = tracee.take_stop(peek) {
                return Ok(Some(ChildEvent {
                    pid: tracee.tid(),
                    child: Rc::clone(tracee.process()),
                    status: ExitStatus::trapped(stop.code),
                    info: tracee.stop_report(stop),
                }));
            }
        }
        let position = self
            .ended_tracees
            .borrow()
            .iter()
            .position(|ended| own(ended.tracer) && selector.fits(ended.tid, &ended.process));
        let Some(position) = position else { return if fits { Ok(None) } else { Err(()) } };
        if !wanted.contains(WaitFor::END) {
            return Ok(None);
        }
        let event = self.ended_tracees.borrow().get(position).map(|ended| ChildEvent {
            pid: ended.tid,
            child: Rc::clone(&ended.process),
            status: ended.status,
            info: ended.info,
        });
        if !peek {
            let ended = self.ended_tracees.borrow_mut().remove(position);
            ended.release();
        }
        Ok(event)
    }

    /// This process ends: what it has traced is its parents' to hear of.
    pub(crate) fn release_ended_tracees(&self) {
        for ended in self.ended_tracees.take() {
            ended.release();
        }
    }
}

impl EndedTracee {
    /// The tracer knows: now the parent is told.
    fn release(self) {
        if self.is_process {
            self.process.is_the_tracers.set(false);
            self.process.tell_parent_of_end();
        }
    }
}

fn tell(tracer: &Rc<Thread>, ended: EndedTracee) {
    let parent = tracer.process();
    let info = ended.info;
    let full = parent.ended_tracees.borrow().len() >= MAX_ENDED;
    if full {
        // A tracer that does not wait loses the oldest.
        let oldest = parent.ended_tracees.borrow_mut().remove(0);
        oldest.release();
    }
    parent.ended_tracees.borrow_mut().push(ended);
    // A standard signal from the kernel is never refused.
    let _ = signals::send_to_process(parent, Signal::SIGCHLD, info);
    parent.child_events().wake(PollEvents::IN);
}

impl Thread {
    fn reports_exit(&self) -> bool {
        self.is_traced() && self.trace_options().contains(TraceOptions::TRACEEXIT)
    }

    /// The last stop of a thread, if its tracer asked for it.
    pub async fn report_exit(self: &Rc<Self>, status: ExitStatus) {
        if self.reports_exit() && !self.has_exited() {
            self.stop_at_event(event::EXIT, status.0.into()).await;
        }
    }

    /// Makes the thread end as soon as it asks for signals, which is soon.
    pub(crate) fn order_exit(self: &Rc<Self>, status: ExitStatus) {
        let tracing = &self.tracing;
        if tracing.must_exit.get().is_some() {
            return;
        }
        tracing.must_exit.set(Some(status));
        let is_last = |stop: super::Stop| stop.code >> 8 == event::EXIT;
        if !tracing.stop.get().is_some_and(is_last) {
            tracing.is_listening.set(false);
            tracing.stop.set(None);
            tracing.resumed.wake(PollEvents::IN);
        }
        self.publish_pending();
        self.process().signals.continued.wake(PollEvents::IN);
        self.machine().kick();
    }

    /// Ends the thread if that was ordered. Returns whether it was.
    pub(crate) async fn exit_if_ordered(self: &Rc<Self>) -> bool {
        let Some(status) = self.tracing.must_exit.get() else { return false };
        self.report_exit(status).await;
        self.exit(status);
        true
    }

    /// Other threads whose tracer wants to see their end stop for that, before `execve` goes on.
    pub async fn end_others_with_report(self: &Rc<Self>) {
        for other in self.process().threads() {
            if Rc::ptr_eq(&other, self) || !other.reports_exit() {
                continue;
            }
            other.order_exit(ExitStatus::exited(0));
            while !other.has_exited() {
                self.process().thread_ended.wait(PollEvents::IN).await;
            }
        }
    }

    /// This thread has ended: its tracer hears of it.
    pub(crate) fn leave_tracing(self: &Rc<Self>) {
        self.release_tracees();
        let Some(tracer) = self.tracing.tracer.replace(Weak::new()).upgrade() else { return };
        tracer.process().forget_tracee(self);
        if tracer.has_exited() {
            return;
        }
        if self.tid() == self.process().pid {
            // Told when the whole process has ended.
            *self.process().end_tracer.borrow_mut() = Some(Rc::downgrade(&tracer));
            return;
        }
        let status = self.tracing.must_exit.get().or(self.process().status());
        let status = status.unwrap_or(self.exit_status.get());
        let (what, value) = match (status.code(), status.signal()) {
            (_, Some(deadly)) => (code::CLD_KILLED, deadly.number().cast_signed()),
            (exit_code, None) => (code::CLD_EXITED, exit_code.unwrap_or(0)),
        };
        let uid = self.credentials().uid;
        let info = SigInfo::child(Signal::SIGCHLD, what, self.tid(), uid, value, (0, 0));
        let ended = EndedTracee {
            tid: self.tid(),
            tracer: tracer.tid(),
            status,
            process: Rc::clone(self.process()),
            info,
            is_process: false,
        };
        tell(&tracer, ended);
    }
}
