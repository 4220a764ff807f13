//! Beginning and ending to trace.

use std::rc::{Rc, Weak};

use kernel_core::credentials::cap;
use kernel_core::wait::PollEvents;
use linux_abi::signals::{SigInfo, Signal};
use linux_abi::tasks::ptrace::{TraceOptions, event};
use linux_abi::{Errno, SysResult};

use super::permission::may_attach;
use super::{Event, Mode};
use crate::process::Flags;
use crate::{Thread, signals};

impl Thread {
    /// Lets the parent trace this thread (`PTRACE_TRACEME`).
    pub fn trace_me(self: &Rc<Self>) -> SysResult<()> {
        if self.is_traced() {
            return Err(Errno::EPERM);
        }
        let parent = self.process().parent().ok_or(Errno::EPERM)?;
        let maker = parent.thread(self.process().parent_thread());
        let Some(tracer) = maker.or_else(|| parent.any_thread()) else { return Ok(()) };
        self.become_traced(&tracer, false, TraceOptions::empty());
        Ok(())
    }

    /// Begins to trace `other`: stops it, or with `seize` does not disturb it.
    pub fn attach_to(
        self: &Rc<Self>,
        other: &Rc<Thread>,
        seize: Option<TraceOptions>,
    ) -> SysResult<()> {
        let is_own = Rc::ptr_eq(self.process(), other.process());
        if is_own || !may_attach(self, other) || other.is_traced() {
            return Err(Errno::EPERM);
        }
        if other.has_exited() || other.process().has_flag(Flags::INIT) {
            return Err(Errno::EPERM);
        }
        other.become_traced(self, seize.is_some(), seize.unwrap_or_default());
        if other.process().is_stopped() {
            other.tracing.wants_group_stop.set(true);
        }
        if seize.is_none() {
            // Never refused: a standard signal from the kernel.
            let _ =
                signals::send_to_thread(other, Signal::SIGSTOP, SigInfo::kernel(Signal::SIGSTOP));
        }
        other.publish_pending();
        // A thread that job control has stopped stops again, for its tracer.
        other.process().signals.continued.wake(PollEvents::IN);
        Ok(())
    }

    fn become_traced(self: &Rc<Self>, tracer: &Rc<Thread>, seized: bool, options: TraceOptions) {
        let tracing = &self.tracing;
        *tracing.tracer.borrow_mut() = Rc::downgrade(tracer);
        tracing.is_seized.set(seized);
        tracing.options.set(options);
        tracing.mode.set(Mode::Run);
        tracing.message.set(0);
        tracer.process().tracees.borrow_mut().push(Rc::clone(self));
        self.publish_watch();
    }

    /// A thread that this one has made is traced as well, if the tracer wants that.
    /// `asked` is `CLONE_PTRACE`.
    pub(crate) fn trace_child(self: &Rc<Self>, child: &Rc<Thread>, event: u32, asked: bool) {
        let Some(tracer) = self.tracer() else { return };
        let wanted = self.trace_options().contains(TraceOptions::for_event(event));
        if wanted {
            self.push_event(Event::Stop(event, child.tid().0.into()));
        }
        if !wanted && !asked {
            return;
        }
        child.become_traced(&tracer, self.is_seized(), self.trace_options());
        if self.is_seized() {
            child.tracing.wants_interrupt.set(true);
        } else {
            let info = SigInfo::kernel(Signal::SIGSTOP);
            let _ = signals::send_to_thread(child, Signal::SIGSTOP, info);
        }
        child.publish_pending();
    }

    /// Stops to be traced; goes on with `signal`, if any.
    pub fn detach(self: &Rc<Self>, signal: Option<Signal>) {
        let tracer = self.tracing.tracer.replace(Weak::new()).upgrade();
        if let Some(tracer) = tracer {
            tracer.process().forget_tracee(self);
        }
        let tracing = &self.tracing;
        tracing.options.set(TraceOptions::empty());
        tracing.is_listening.set(false);
        tracing.wants_group_stop.set(false);
        tracing.wants_interrupt.set(false);
        tracing.has_notice.set(false);
        self.let_go(Mode::Run, signal);
        self.publish_pending();
        self.machine().kick();
    }

    /// Lets a stopped thread go on, with `signal` if any.
    pub fn let_go(&self, mode: Mode, signal: Option<Signal>) {
        let tracing = &self.tracing;
        tracing.mode.set(mode);
        tracing.given.set(signal);
        tracing.is_listening.set(false);
        self.publish_watch();
        tracing.stop.set(None);
        tracing.resumed.wake(PollEvents::IN);
    }

    /// Makes a seized thread stop soon (`PTRACE_INTERRUPT`).
    pub fn interrupt_for_tracer(self: &Rc<Self>) {
        let tracing = &self.tracing;
        if tracing.is_listening.get() {
            self.trap_again();
            return;
        }
        tracing.wants_interrupt.set(true);
        self.publish_pending();
        self.machine().kick();
    }

    /// Lets a thread that was stopped by job control stand still without serving its tracer
    /// (`PTRACE_LISTEN`). `EIO` if it is in no such stop.
    pub fn listen(&self) -> SysResult<()> {
        let tracing = &self.tracing;
        let stop = tracing.stop.get().filter(|stop| stop.code >> 8 == event::STOP);
        if !self.is_seized() || stop.is_none() {
            return Err(Errno::EIO);
        }
        tracing.is_listening.set(true);
        if tracing.has_notice.get() {
            self.trap_again();
        }
        Ok(())
    }

    /// This thread ends: it traces nobody any more.
    pub(crate) fn release_tracees(self: &Rc<Self>) {
        let tracees: Vec<_> = self.process().tracees.borrow().clone();
        for tracee in tracees {
            let is_mine = std::ptr::eq(tracee.tracing.tracer.borrow().as_ptr(), Rc::as_ptr(self));
            if !is_mine {
                continue;
            }
            let kill = tracee.trace_options().contains(TraceOptions::EXITKILL);
            tracee.detach(None);
            if kill {
                tracee.process().kill();
            }
        }
    }

    /// Whether `execve` may not give rights because a tracer without `CAP_SYS_PTRACE` watches.
    pub(crate) fn is_traced_by_the_powerless(&self) -> bool {
        self.tracer().is_some_and(|tracer| !tracer.credentials().has(cap::SYS_PTRACE))
    }
}
