//! What the threads of a process share.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use kernel_core::timers::{self, Instant};
use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_events::aio::AioContexts;
use kernel_files::Location;
use kernel_files::text_busy::InUse;
use linux_abi::signals::Signal;
use linux_abi::tasks::{ExitStatus, Rlimit, rlimit};
use linux_abi::{Errno, Pid, SysResult};

use crate::cgroup::Cgroup;
use crate::limits::Limits;
use crate::machine::Question;
use crate::process_timers::ProcessTimers;
use crate::ptrace::{AllowedTracer, EndedTracee};
use crate::signals::ProcessSignals;
use crate::thread::IoAccount;
use crate::{Kernel, Machine, ProcessGroup, Session, Thread};

mod exit;
mod family;
#[cfg(test)]
mod tests;
mod usage;
mod wait;

pub use usage::{CpuTimes, Usage};
pub use wait::{ChildEvent, ChildSelector, WaitFor};

/// What a core dump would hold if nothing else was said: see core(5).
const DEFAULT_CORE_FILTER: u32 = 0x33;

/// What `/proc` and `prctl` tell of the program that a process runs.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Where the executable is; `None` for a process that runs no program yet.
    pub location: Option<Location>,
    /// The path of the executable.
    pub executable: Vec<u8>,
    /// The arguments, each with its terminating zero.
    pub command_line: Vec<u8>,
    /// The environment at the start, each string with its terminating zero.
    pub environment: Vec<u8>,
    /// The auxiliary vector at the start, as bytes.
    pub auxiliary_vector: Vec<u8>,
    /// Where arguments and environment lie in memory: `arg_start`, `arg_end`, `env_start`,
    /// `env_end`.
    pub strings: [u64; 4],
    /// Where the heap starts.
    pub heap_start: u64,
}

/// A guest process (a thread group, in Linux's words).
pub struct Process {
    /// The process id, which is also the id of its first thread.
    pub pid: Pid,
    /// When it was made.
    pub started: Instant,
    /// `oom_score_adj`. Kept and told: the sandbox ends as a whole when memory runs out.
    pub oom_score_adj: Cell<i32>,
    /// `coredump_filter`. Kept and told: nothing dumps core.
    pub core_filter: Cell<u32>,
    /// Dispositions, the queue of signals for the process, job control.
    pub signals: ProcessSignals,
    /// Interval timers and POSIX timers.
    pub timers: ProcessTimers,
    /// Contexts of asynchronous input and output.
    pub aio: AioContexts,
    kernel: Rc<Kernel>,
    parent: RefCell<Weak<Process>>,
    /// The thread of the parent that made this process; its end brings `PR_SET_PDEATHSIG`.
    parent_thread: Cell<Pid>,
    children: RefCell<BTreeMap<Pid, Rc<Process>>>,
    threads: RefCell<BTreeMap<Pid, Rc<Thread>>>,
    group: RefCell<Rc<ProcessGroup>>,
    limits: RefCell<Limits>,
    program: RefCell<Rc<Program>>,
    /// Keeps others from writing to the executable while the process lives.
    executable_in_use: RefCell<Option<Rc<InUse>>>,
    /// What the parent is sent when this process ends; `None` for some children of `clone`.
    exit_signal: Cell<Option<Signal>>,
    /// The user who is named in signals about this process when it has no thread any more.
    last_uid: Cell<u32>,
    status: Cell<Option<ExitStatus>>,
    /// Set from the start of the end on, so that nothing ends twice.
    exiting: Cell<bool>,
    usage: RefCell<usage::Kept>,
    flags: Cell<Flags>,
    /// The control group that it is in, also after its end.
    pub(crate) cgroup: RefCell<Rc<Cgroup>>,
    /// Processor time that it had used when it came there.
    pub(crate) times_before_cgroup: Cell<(u64, u64)>,
    /// Woken when a child changes state.
    child_events: WaitQueue,
    /// Woken when this process ends.
    ended: WaitQueue,
    /// Woken when this process ends or runs another program.
    left_memory: WaitQueue,
    /// Woken when one of its threads ends.
    pub(crate) thread_ended: WaitQueue,
    /// The threads that its threads trace.
    pub(crate) tracees: RefCell<Vec<Rc<Thread>>>,
    /// Of these, those that have ended.
    pub(crate) ended_tracees: RefCell<Vec<EndedTracee>>,
    /// Who traced its first thread up to the end.
    pub(crate) end_tracer: RefCell<Option<Weak<Thread>>>,
    /// It has ended, and a tracer is to hear of that before the parent does.
    pub(crate) is_the_tracers: Cell<bool>,
    /// How many programs it has run.
    n_programs: Cell<u64>,
    /// How it asks about files that it has just opened, and will ask again: it is told beforehand.
    pub asks_about_opened: Cell<Option<Question>>,
    /// What threads that have ended had read and written.
    pub(crate) ended_io: Cell<IoAccount>,
    /// Whom it lets trace it.
    allowed_tracer: RefCell<AllowedTracer>,
}

bitflags::bitflags! {
    /// Facts about a process.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Flags: u32 {
        /// Orphaned descendants become its children (`PR_SET_CHILD_SUBREAPER`).
        const SUBREAPER = 1;
        /// Core dumps and inspection by others are allowed (`PR_SET_DUMPABLE`).
        const DUMPABLE = 2;
        /// It has called `execve` since it was made; then `setpgid` of the parent fails.
        const EXECUTED = 4;
        /// It is process 1, which the kernel plays.
        const INIT = 8;
        /// Transparent huge pages are off (`PR_SET_THP_DISABLE`).
        const THP_DISABLED = 16;
        /// Memory may not become executable once it was writable (`PR_SET_MDWE`).
        const DENY_WRITE_EXECUTE = 32;
        /// It has given up its session's controlling terminal for itself (`TIOCNOTTY`).
        const LEFT_TERMINAL = 64;
        /// It runs in the memory, and on the time, of its parent (`vfork`).
        const IN_PARENTS_MEMORY = 128;
        /// Its control group is frozen.
        const FROZEN = 256;
        /// Its parent waits until it ends or runs another program (`vfork`).
        const HOLDS_PARENT = 512;
    }
}

impl Flags {
    /// What a child process takes from its parent.
    pub(crate) const INHERITED: Self = Self::DUMPABLE
        .union(Self::THP_DISABLED)
        .union(Self::DENY_WRITE_EXECUTE)
        .union(Self::LEFT_TERMINAL);
}

impl Process {
    pub(crate) fn new(
        pid: Pid,
        kernel: &Rc<Kernel>,
        group: Rc<ProcessGroup>,
        limits: Limits,
        cgroup: Rc<Cgroup>,
    ) -> Rc<Self> {
        let process = Rc::new(Self {
            pid,
            started: timers::now(),
            oom_score_adj: Cell::new(0),
            core_filter: Cell::new(DEFAULT_CORE_FILTER),
            signals: ProcessSignals::default(),
            timers: ProcessTimers::default(),
            aio: AioContexts::default(),
            kernel: Rc::clone(kernel),
            parent: RefCell::default(),
            parent_thread: Cell::new(Pid(0)),
            children: RefCell::default(),
            threads: RefCell::default(),
            group: RefCell::new(Rc::clone(&group)),
            limits: RefCell::new(limits),
            program: RefCell::default(),
            executable_in_use: RefCell::default(),
            exit_signal: Cell::new(Some(Signal::SIGCHLD)),
            last_uid: Cell::new(0),
            status: Cell::default(),
            exiting: Cell::default(),
            usage: RefCell::default(),
            flags: Cell::new(Flags::DUMPABLE),
            cgroup: RefCell::new(cgroup),
            times_before_cgroup: Cell::default(),
            child_events: WaitQueue::new(),
            ended: WaitQueue::new(),
            left_memory: WaitQueue::new(),
            thread_ended: WaitQueue::new(),
            tracees: RefCell::default(),
            ended_tracees: RefCell::default(),
            end_tracer: RefCell::default(),
            is_the_tracers: Cell::default(),
            n_programs: Cell::default(),
            asks_about_opened: Cell::default(),
            ended_io: Cell::default(),
            allowed_tracer: RefCell::default(),
        });
        group.add(&process);
        kernel.ids.name_process(pid, &process);
        process.cgroup().enter(&process);
        process
    }

    /// The kernel it runs on.
    pub fn kernel(&self) -> &Rc<Kernel> {
        &self.kernel
    }

    /// Its parent; `None` for process 1.
    pub fn parent(&self) -> Option<Rc<Process>> {
        self.parent.borrow().upgrade()
    }

    /// The parent's id, 0 if there is none.
    pub fn parent_pid(&self) -> Pid {
        self.parent().map_or(Pid(0), |parent| parent.pid)
    }

    /// Whether it is the first guest process.
    pub(crate) fn is_first(&self) -> bool {
        self.kernel.first().is_some_and(|first| first.pid == self.pid)
    }

    /// How many programs it has run: whoever holds its memory sees by that whether it is still the
    /// same.
    pub fn n_programs(&self) -> u64 {
        self.n_programs.get()
    }

    /// What its threads have read and written.
    pub fn io_account(&self) -> IoAccount {
        let threads = self.threads.borrow();
        threads.values().fold(self.ended_io.get(), |sum, thread| sum.plus(thread.io_account()))
    }

    /// The children that one of its threads has made.
    pub fn children_of(&self, tid: Pid) -> Vec<Pid> {
        let children = self.children.borrow();
        let own = children.values().filter(|child| child.parent_thread.get() == tid);
        own.map(|child| child.pid).collect()
    }

    /// The thread of the parent that made it.
    pub(crate) fn parent_thread(&self) -> Pid {
        self.parent_thread.get()
    }

    /// Whom it lets trace it, beside its ancestors.
    pub fn allowed_tracer(&self) -> AllowedTracer {
        self.allowed_tracer.borrow().clone()
    }

    /// Says whom it lets trace it, beside its ancestors.
    pub fn allow_tracer(&self, allowed: AllowedTracer) {
        *self.allowed_tracer.borrow_mut() = allowed;
    }

    /// Its children, in order of id, dead ones that were not waited for included.
    pub fn children(&self) -> Vec<Rc<Process>> {
        self.children.borrow().values().cloned().collect()
    }

    /// Its living threads, in order of id.
    pub fn threads(&self) -> Vec<Rc<Thread>> {
        self.threads.borrow().values().cloned().collect()
    }

    /// How many threads live.
    pub fn n_threads(&self) -> usize {
        self.threads.borrow().len()
    }

    /// A thread of this process by its id.
    pub fn thread(&self, tid: Pid) -> Option<Rc<Thread>> {
        self.threads.borrow().get(&tid).cloned()
    }

    /// The first thread if it lives, else another living one.
    pub fn any_thread(&self) -> Option<Rc<Thread>> {
        let threads = self.threads.borrow();
        threads.get(&self.pid).or_else(|| threads.values().next()).cloned()
    }

    pub(crate) fn any_machine(&self) -> Option<Rc<dyn Machine>> {
        self.any_thread().map(|thread| thread.machine())
    }

    pub(crate) fn add_thread(&self, thread: &Rc<Thread>) {
        self.last_uid.set(thread.credentials().uid);
        self.threads.borrow_mut().insert(thread.tid(), Rc::clone(thread));
    }

    /// Takes a thread out of the process. `true` if it was the last one.
    pub(crate) fn remove_thread(&self, tid: Pid) -> bool {
        let mut threads = self.threads.borrow_mut();
        if let Some(thread) = threads.remove(&tid) {
            self.last_uid.set(thread.credentials().uid);
        }
        threads.is_empty()
    }

    /// The process group.
    pub fn group(&self) -> Rc<ProcessGroup> {
        Rc::clone(&self.group.borrow())
    }

    /// The session.
    pub fn session(&self) -> Rc<Session> {
        Rc::clone(self.group.borrow().session())
    }

    /// Whether it leads its session.
    pub fn is_session_leader(&self) -> bool {
        self.session().sid == self.pid
    }

    /// The limit on `resource`, one of [`rlimit`].
    pub fn limit(&self, resource: usize) -> SysResult<Rlimit> {
        self.limits.borrow().get(resource).ok_or(Errno::EINVAL)
    }

    /// Replaces the limit on `resource`. The caller has checked that it may.
    pub fn set_limit(self: &Rc<Self>, resource: usize, limit: Rlimit) {
        self.limits.borrow_mut().set(resource, limit);
        if resource == rlimit::CPU {
            self.watch_cpu_limit();
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits.borrow().clone()
    }

    /// `RLIMIT_NOFILE`, as a number of descriptors.
    pub fn descriptor_limit(&self) -> u32 {
        let limit = self.limits.borrow().get(rlimit::NOFILE).map_or(0, |limit| limit.current);
        u32::try_from(limit).unwrap_or(u32::MAX)
    }

    /// The program it runs.
    pub fn program(&self) -> Rc<Program> {
        Rc::clone(&self.program.borrow())
    }

    /// The right to run its executable; gone once it has ended.
    pub(crate) fn executable_in_use(&self) -> Option<Rc<InUse>> {
        self.executable_in_use.borrow().clone()
    }

    pub(crate) fn set_executable_in_use(&self, in_use: Option<Rc<InUse>>) {
        *self.executable_in_use.borrow_mut() = in_use;
    }

    /// Replaces what is told of the program.
    pub fn set_program(&self, program: Rc<Program>) {
        self.n_programs.set(self.n_programs.get() + 1);
        *self.program.borrow_mut() = program;
    }

    /// What the parent is sent when this process ends.
    pub fn exit_signal(&self) -> Option<Signal> {
        self.exit_signal.get()
    }

    pub(crate) fn set_exit_signal(&self, signal: Option<Signal>) {
        self.exit_signal.set(signal);
    }

    /// Its real user, also after its end.
    pub fn uid(&self) -> u32 {
        self.any_thread().map_or(self.last_uid.get(), |thread| thread.credentials().uid)
    }

    /// Whether one of the [`Flags`] is set.
    pub fn has_flag(&self, flag: Flags) -> bool {
        self.flags.get().contains(flag)
    }

    /// Sets or clears one of the [`Flags`].
    pub fn set_flag(&self, flag: Flags, on: bool) {
        let mut flags = self.flags.get();
        flags.set(flag, on);
        self.flags.set(flags);
    }

    /// Whether it has ended. It may still wait to be waited for.
    pub fn is_dead(&self) -> bool {
        self.status.get().is_some()
    }

    /// Whether it is on its way to the end or beyond.
    pub fn is_exiting(&self) -> bool {
        self.exiting.get()
    }

    /// How it ended, if it has.
    pub fn status(&self) -> Option<ExitStatus> {
        self.status.get()
    }

    /// Whether job control has stopped it.
    pub fn is_stopped(&self) -> bool {
        self.signals.stop.get().is_some()
    }

    /// Whether its threads shall wait: job control has stopped it, or its group is frozen.
    pub(crate) fn is_held(&self) -> bool {
        self.is_stopped() || self.has_flag(Flags::FROZEN)
    }

    /// Holds all its threads, as its control group wants, or lets them go on.
    pub(crate) fn set_frozen(self: &Rc<Self>, frozen: bool) {
        if self.has_flag(Flags::FROZEN) == frozen {
            return;
        }
        self.set_flag(Flags::FROZEN, frozen);
        for thread in self.threads() {
            thread.publish_pending();
            if frozen {
                thread.machine().kick();
            }
        }
        if !frozen {
            self.signals.continued.wake(PollEvents::IN);
        }
    }

    /// Woken when a child changes state.
    pub fn child_events(&self) -> &WaitQueue {
        &self.child_events
    }

    /// Woken when this process ends (a pidfd polls it).
    pub fn ended(&self) -> &WaitQueue {
        &self.ended
    }

    /// Woken when this process no longer uses the memory that it started with: it has ended or
    /// runs another program.
    pub fn left_memory(&self) -> &WaitQueue {
        &self.left_memory
    }
}
