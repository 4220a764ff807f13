//! What terminals ask about processes.

use std::any::Any;
use std::rc::{Rc, Weak};

use kernel_files::OpenFile;
use kernel_terminals::{Caller, JobControl, Terminal};
use linux_abi::signals::{SIG_IGN, SigInfo, Signal};
use linux_abi::{Fd, Pid, SysResult};

use crate::process::Flags;
use crate::signals::{send_to_group, send_to_process};
use crate::{Kernel, Process, Thread};

/// Answers terminals from the kernel's tables.
pub(crate) struct TerminalJobs {
    /// The kernel owns the terminals, so this must not own the kernel.
    pub(crate) kernel: Weak<Kernel>,
}

impl Process {
    /// Its controlling terminal.
    pub fn terminal(&self) -> Option<Rc<Terminal>> {
        if self.has_flag(Flags::LEFT_TERMINAL) { None } else { self.session().terminal() }
    }
}

impl JobControl for TerminalJobs {
    fn caller(&self, caller: &dyn Any) -> SysResult<Caller> {
        let thread = Thread::of_caller(caller)?;
        let process = thread.process();
        Ok(Caller {
            session: process.session().sid,
            group: process.group().pgid,
            is_session_leader: process.is_session_leader(),
            controlling: process.terminal(),
            credentials: thread.credentials(),
        })
    }

    fn ignores(&self, caller: &dyn Any, signal: Signal) -> bool {
        Thread::of_caller(caller).is_ok_and(|thread| {
            thread.mask().contains(signal)
                || thread.process().signals.action(signal).handler == SIG_IGN
        })
    }

    fn is_orphaned(&self, group: Pid) -> bool {
        let group = self.kernel.upgrade().and_then(|kernel| kernel.ids.group(group));
        group.is_none_or(|group| group.is_orphaned())
    }

    fn session_of_group(&self, group: Pid) -> Option<Pid> {
        Some(self.kernel.upgrade()?.ids.group(group)?.session().sid)
    }

    fn signal_group(&self, group: Pid, signal: Signal) {
        if let Some(group) = self.kernel.upgrade().and_then(|kernel| kernel.ids.group(group)) {
            send_to_group(&group, signal, SigInfo::kernel(signal));
        }
    }

    fn signal_session_leader(&self, session: Pid, signal: Signal) {
        let leader = self.kernel.upgrade().and_then(|kernel| kernel.ids.process(session));
        if let Some(leader) = leader.filter(|leader| !leader.is_dead()) {
            // A standard signal from the kernel is never refused.
            let _ = send_to_process(&leader, signal, SigInfo::kernel(signal));
        }
    }

    fn set_controlling_terminal(&self, session: Pid, terminal: Option<Rc<Terminal>>) {
        if let Some(session) = self.kernel.upgrade().and_then(|kernel| kernel.ids.session(session))
        {
            session.set_terminal(terminal);
        }
    }

    fn leave_controlling_terminal(&self, caller: &dyn Any) {
        if let Ok(thread) = Thread::of_caller(caller) {
            thread.process().set_flag(Flags::LEFT_TERMINAL, true);
        }
    }

    fn add_file(&self, caller: &dyn Any, file: Rc<OpenFile>, close_on_exec: bool) -> SysResult<Fd> {
        Thread::of_caller(caller)?.add_file(file, close_on_exec)
    }
}
