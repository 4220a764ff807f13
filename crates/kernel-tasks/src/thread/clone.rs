//! New threads and processes.

use std::cell::RefCell;
use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_core::supervisor::{self, ProcessEvent};
use kernel_files::FsContext;
use linux_abi::signals::Signal;
use linux_abi::tasks::{CloneFlags, rlimit};
use linux_abi::{Errno, Pid, SysResult};

use super::{Thread, ThreadParts};
use crate::cgroup::Cgroup;
use crate::machine::Start;
use crate::namespaces::Surroundings;
use crate::process::Flags;
use crate::{Machine, Process};

/// What kind of host task stands behind a new guest thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Thread,
    /// The thread of the parent plays the child.
    Vfork,
    /// A thread in the memory of the parent.
    Beside,
    Fork,
}

/// What `clone` was asked for. The flags have been checked for contradictions.
#[derive(Clone, Debug)]
pub struct CloneRequest {
    /// What to share.
    pub flags: CloneFlags,
    /// What the parent is sent when the child ends.
    pub exit_signal: Option<Signal>,
    /// The id that the child shall have.
    pub wanted_id: Option<Pid>,
    /// How the child begins.
    pub start: Start,
    /// The control group that the child begins in, if it is not the parent's.
    pub cgroup: Option<Rc<Cgroup>>,
}

impl Thread {
    /// Makes a thread, in this process or in a new one. It starts when the shim reads the reply of
    /// the call that is under way. Only the parts that `clone(2)` calls `CLONE_PARENT_SETTID` and
    /// `CLONE_PIDFD` are left to the caller.
    pub fn clone_with(self: &Rc<Self>, request: &CloneRequest) -> SysResult<Rc<Self>> {
        let flags = request.flags;
        let kind = if flags.contains(CloneFlags::THREAD) {
            Kind::Thread
        } else if flags.contains(CloneFlags::VM | CloneFlags::VFORK) && self.may_play_child() {
            Kind::Vfork
        } else if flags.contains(CloneFlags::VM) {
            Kind::Beside
        } else {
            Kind::Fork
        };
        self.check_task_limit()?;
        if !flags.contains(CloneFlags::FILES) {
            self.files().borrow().check_room_for_copy()?;
        }
        let surroundings = self.new_surroundings(flags)?;
        self.kernel.charge_task()?;
        let cgroup = request.cgroup.clone().unwrap_or_else(|| self.process.cgroup());
        if let Err(errno) = cgroup.charge_thread() {
            self.kernel.uncharge_task();
            return Err(errno);
        }
        let ids = &self.kernel.ids;
        let id = match request.wanted_id {
            Some(wanted) => ids.allocate_this(wanted),
            None => ids.allocate(),
        };
        let made = id.and_then(|id| {
            let machine = self.child_machine(kind, request.start);
            if machine.is_err() {
                ids.tidy(id);
            }
            Ok((id, machine?))
        });
        match made {
            Ok((id, machine)) => Ok(self.finish_clone(kind, id, machine, request, surroundings)),
            Err(errno) => {
                self.kernel.uncharge_task();
                cgroup.uncharge_thread();
                Err(errno)
            }
        }
    }

    /// Whether this thread can play the child of a `vfork` itself. Not if a tracer wants to see the
    /// two apart, nor if it plays one already.
    fn may_play_child(&self) -> bool {
        !self.traces_vfork() && !self.process.has_flag(Flags::IN_PARENTS_MEMORY)
    }

    fn check_task_limit(&self) -> SysResult<()> {
        let limit = self.process.limit(rlimit::NPROC)?.current;
        let who = self.credentials();
        let exempt = who.uid == 0 || who.has(cap::SYS_RESOURCE) || who.has(cap::SYS_ADMIN);
        if !exempt && u64::from(self.kernel.n_tasks()) >= limit {
            return Err(Errno::EAGAIN);
        }
        Ok(())
    }

    fn child_machine(&self, kind: Kind, start: Start) -> SysResult<Rc<dyn Machine>> {
        let machine = self.machine();
        match kind {
            Kind::Thread => machine.new_thread(start),
            Kind::Vfork => machine.vfork(start),
            Kind::Beside => machine.new_process_beside(start),
            Kind::Fork => machine.fork(start),
        }
    }

    fn finish_clone(
        self: &Rc<Self>,
        kind: Kind,
        id: Pid,
        machine: Rc<dyn Machine>,
        request: &CloneRequest,
        surroundings: Surroundings,
    ) -> Rc<Self> {
        let flags = request.flags;
        let process = match kind {
            Kind::Thread => Rc::clone(&self.process),
            Kind::Vfork | Kind::Beside | Kind::Fork => self.child_process(kind, id, request),
        };
        machine.set_signal_mask(self.machine().signal_mask());
        let files = if flags.contains(CloneFlags::FILES) {
            self.machine().forbid_later_close();
            self.files()
        } else {
            if matches!(kind, Kind::Thread | Kind::Beside) {
                self.machine().stop_lending();
            }
            Rc::new(RefCell::new(self.files().borrow().clone()))
        };
        let fs = match surroundings.fs {
            Some(fs) => fs,
            None if flags.contains(CloneFlags::FS) => self.fs(),
            None => self.fs().duplicate(),
        };
        let parts = ThreadParts {
            machine,
            credentials: surroundings.credentials,
            files,
            fs,
            namespaces: surroundings.namespaces,
            attributes: self.attributes().for_child(),
            call_filter: self.call_filter.borrow().clone(),
        };
        if kind == Kind::Fork {
            self.kernel.namespaces.process_forked(self.process.pid, id);
        }
        let thread = Self::new(id, &process, parts);
        thread.publish_pending();
        if kind != Kind::Thread {
            process.watch_cpu_limit();
        }
        let waits = kind != Kind::Vfork && flags.contains(CloneFlags::VFORK);
        if waits && kind != Kind::Thread {
            process.set_flag(Flags::HOLDS_PARENT, true);
        }
        self.child_was_made(&thread, flags, request.exit_signal, waits);
        thread
    }

    fn child_process(self: &Rc<Self>, kind: Kind, pid: Pid, request: &CloneRequest) -> Rc<Process> {
        let mine = &self.process;
        let flags = request.flags;
        let cgroup = request.cgroup.clone().unwrap_or_else(|| mine.cgroup());
        let child = Process::new(pid, &self.kernel, mine.group(), mine.limits(), cgroup);
        for flag in Flags::INHERITED.iter() {
            child.set_flag(flag, mine.has_flag(flag));
        }
        child.set_flag(Flags::IN_PARENTS_MEMORY, matches!(kind, Kind::Vfork | Kind::Beside));
        child.set_program(mine.program());
        child.set_executable_in_use(mine.executable_in_use());
        child.oom_score_adj.set(mine.oom_score_adj.get());
        child.core_filter.set(mine.core_filter.get());
        if flags.contains(CloneFlags::SIGHAND) {
            child.signals.share_actions(&mine.signals);
            mine.publish_ids();
        } else {
            child.signals.copy_actions(&mine.signals);
        }
        if flags.contains(CloneFlags::CLEAR_SIGHAND) {
            child.signals.reset_caught();
        }
        let parent = if flags.contains(CloneFlags::PARENT) { mine.parent() } else { None };
        if let Some(parent) = parent {
            child.set_exit_signal(mine.exit_signal());
            child.set_parent(&parent);
            child.set_parent_thread(parent.pid);
        } else {
            child.set_exit_signal(request.exit_signal);
            child.set_parent(mine);
            child.set_parent_thread(self.tid());
        }
        if let Some(supervisor) = supervisor::get() {
            supervisor.process(pid, ProcessEvent::Started(child.parent_pid()));
        }
        child
    }

    /// Gives the thread a root, working directory and `umask` of its own (`unshare(CLONE_FS)`).
    pub fn unshare_fs(&self) {
        let copy = self.fs().duplicate();
        self.set_fs(copy);
    }

    /// Gives the thread another root, working directory and mounts.
    pub fn set_fs(&self, fs: Rc<FsContext>) {
        *self.fs.borrow_mut() = fs;
    }

    /// Gives the thread a descriptor table of its own (`unshare(CLONE_FILES)`).
    pub fn unshare_files(&self) {
        let files = self.files();
        // One handle is this function's, one the thread's.
        if Rc::strong_count(&files) > 2 {
            self.machine().stop_lending();
            let copy = files.borrow().clone();
            *self.files.borrow_mut() = Rc::new(RefCell::new(copy));
        }
    }
}
