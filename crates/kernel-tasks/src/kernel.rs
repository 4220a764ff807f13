//! What all processes of a sandbox share.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use kernel_core::credentials::Credentials;
use kernel_core::disk::Disk;
use kernel_core::host_events::HostEvents;
use kernel_core::supervisor::{self, ProcessEvent};
use kernel_core::timers::{self, Instant, Timers};
use kernel_core::wait::{PollEvents, WaitQueue};
use kernel_files::{FdTable, FsContext};
use kernel_loader::PreparedInterpreters;
use kernel_sockets::Network;
use kernel_terminals::Terminals;
use linux_abi::sockets::Ucred;
use linux_abi::tasks::ExitStatus;
use linux_abi::{Errno, SysResult};

use crate::bpf::Programs;
use crate::call_filter::CallFilter;
use crate::cgroup::{Cgroup, Cgroups};
use crate::ids::IdTable;
use crate::limits::Limits;
use crate::mapped_paths::MappedPaths;
use crate::namespaces::{NamespaceRegistry, Namespaces};
use crate::process::CpuTimes;
use crate::signals::QueueLimits;
use crate::terminal_jobs::TerminalJobs;
use crate::thread::{Attributes, ThreadParts};
use crate::{Machine, Process, ProcessGroup, Session, Thread};

/// The release that `uname` shows: that of a Linux with the calls that we have.
pub const RELEASE: &str = "6.18.0-belljar";
/// The version that `uname` shows.
pub const VERSION: &str = "#1 SMP PREEMPT_DYNAMIC";

/// What a sandbox's kernel is told at its start.
#[derive(Clone, Debug)]
pub struct KernelOptions {
    /// The name that `uname` shows.
    pub hostname: Vec<u8>,
    /// How many threads, in all processes together, may live at a time.
    pub max_tasks: u32,
    /// How much memory guests are told that there is, in bytes; the host's if `None`.
    pub memory_limit: Option<u64>,
}

impl Default for KernelOptions {
    fn default() -> Self {
        Self { hostname: b"belljar".to_vec(), max_tasks: 4096, memory_limit: None }
    }
}

/// The state of one sandbox's kernel.
pub struct Kernel {
    /// Everything that waits for a time.
    pub timers: Timers,
    /// What all sockets share.
    pub network: Rc<Network>,
    /// The host descriptors that are watched.
    pub host_events: HostEvents,
    /// Where files are brought to last.
    pub disk: Disk,
    /// Which thread, process, group and session each number names.
    pub ids: IdTable,
    /// The terminals.
    pub terminals: Terminals,
    /// By which paths guests know the host files that they have mapped.
    pub mapped_paths: MappedPaths,
    /// Copies of interpreters that start faster.
    pub interpreters: PreparedInterpreters,
    /// The control groups.
    pub cgroups: Cgroups,
    /// Programs that guests have given to the kernel.
    pub programs: Rc<Programs>,
    /// What is kept of all namespaces.
    pub namespaces: NamespaceRegistry,
    /// When the sandbox started.
    pub started: Instant,
    /// How many signals are queued for each user.
    pub(crate) queued_signals: QueueLimits,
    pub(crate) first_namespaces: Rc<Namespaces>,
    max_tasks: u32,
    memory_limit: Option<u64>,
    n_tasks: Cell<u32>,
    n_forks: Cell<u64>,
    ended_times: Cell<CpuTimes>,
    most_resident: Cell<u64>,
    /// The parent of orphans. It has no thread: the kernel itself plays it, and forgets its
    /// children as soon as they end.
    init: RefCell<Option<Rc<Process>>>,
    first: RefCell<Option<Rc<Process>>>,
    first_status: Cell<Option<ExitStatus>>,
    first_ended: WaitQueue,
}

impl Kernel {
    /// A kernel with no guest yet, but with its own process 1.
    ///
    /// Process 1 is the kernel's: orphans become its children and are reaped at once. So the
    /// first guest program (process 2) sees the same children as it would on the host, whether it
    /// reaps orphans or not.
    pub fn new(options: KernelOptions, host_events: HostEvents) -> SysResult<Rc<Self>> {
        let timers = Timers::new();
        let network = Network::new(timers.clone(), identify);
        let namespaces = NamespaceRegistry::default();
        let cgroups = Cgroups { root: Cgroup::root(), delegates: Cell::new(true) };
        let first_namespaces =
            Rc::new(namespaces.initial(options.hostname, &network, &cgroups.root)?);
        let kernel = Rc::new_cyclic(|kernel| Self {
            terminals: Terminals::new(
                Rc::new(TerminalJobs { kernel: kernel.clone() }),
                timers.clone(),
            ),
            network,
            timers,
            mapped_paths: MappedPaths::default(),
            interpreters: PreparedInterpreters::default(),
            disk: Disk::new(host_events.clone()),
            host_events,
            ids: IdTable::default(),
            cgroups,
            programs: Rc::default(),
            namespaces,
            first_namespaces,
            started: timers::now(),
            queued_signals: QueueLimits::default(),
            max_tasks: options.max_tasks,
            memory_limit: options.memory_limit,
            n_tasks: Cell::new(0),
            n_forks: Cell::new(0),
            ended_times: Cell::default(),
            most_resident: Cell::default(),
            init: RefCell::default(),
            first: RefCell::default(),
            first_status: Cell::default(),
            first_ended: WaitQueue::new(),
        });
        kernel.network.set_host_events(kernel.host_events.clone());
        let init = kernel.new_session_leader()?;
        init.become_init();
        *kernel.init.borrow_mut() = Some(init);
        Ok(kernel)
    }

    /// Makes the first guest process, a job in the session of process 1 as if a shell had started
    /// it, with one thread on `machine`. When
    /// it ends, everything ends: see [`wait_for_end`](Self::wait_for_end).
    pub fn spawn_first(
        self: &Rc<Self>,
        machine: Rc<dyn Machine>,
        credentials: Rc<Credentials>,
        files: Rc<RefCell<FdTable>>,
        fs: Rc<FsContext>,
    ) -> SysResult<Rc<Thread>> {
        if self.first.borrow().is_some() {
            return Err(Errno::EEXIST);
        }
        self.charge_task()?;
        let init = self.init()?;
        let pid = self.ids.allocate()?;
        let group = ProcessGroup::new(pid, init.session(), &self.ids);
        let process = Process::new(
            pid,
            self,
            group,
            Limits::new(self.max_tasks),
            Rc::clone(&self.cgroups.root),
        );
        self.cgroups.root.charge_thread()?;
        process.set_parent(&init);
        if let Some(supervisor) = supervisor::get() {
            supervisor.process(pid, ProcessEvent::Started(init.pid));
        }
        let parts = ThreadParts {
            machine,
            credentials,
            files,
            fs,
            namespaces: self.first_namespaces(),
            attributes: Attributes::new(),
            call_filter: CallFilter::None,
        };
        let thread = Thread::new(process.pid, &process, parts);
        *self.first.borrow_mut() = Some(process);
        Ok(thread)
    }

    fn new_session_leader(self: &Rc<Self>) -> SysResult<Rc<Process>> {
        let pid = self.ids.allocate()?;
        let session = Session::new(pid, &self.ids);
        let group = ProcessGroup::new(pid, session, &self.ids);
        Ok(Process::new(
            pid,
            self,
            group,
            Limits::new(self.max_tasks),
            Rc::clone(&self.cgroups.root),
        ))
    }

    /// Process 1.
    pub fn init(&self) -> SysResult<Rc<Process>> {
        // There from the end of `new` on.
        self.init.borrow().clone().ok_or(Errno::ESRCH)
    }

    /// The first guest process.
    pub fn first(&self) -> Option<Rc<Process>> {
        self.first.borrow().clone()
    }

    /// Completes when the first guest process has ended, with how it ended.
    pub async fn wait_for_end(&self) -> ExitStatus {
        loop {
            if let Some(status) = self.first_status.get() {
                return status;
            }
            self.first_ended.wait(PollEvents::IN).await;
        }
    }

    /// How the first guest process ended, if it has.
    pub fn first_status(&self) -> Option<ExitStatus> {
        self.first_status.get()
    }

    /// A process ended. If it was the first one, so do all others.
    pub(crate) fn process_ended(&self, process: &Process, status: ExitStatus) {
        let is_first = self.first.borrow().as_ref().is_some_and(|first| first.pid == process.pid);
        if !is_first || self.first_status.get().is_some() {
            return;
        }
        self.first_status.set(Some(status));
        for other in self.ids.processes() {
            other.kill();
        }
        self.first_ended.wake(PollEvents::IN);
    }

    /// Ends every guest process at once, as `SIGKILL` to all does.
    pub fn kill_all(&self) {
        for process in self.ids.processes() {
            process.kill();
        }
    }

    /// Counts one more thread; `EAGAIN` if there are too many.
    pub(crate) fn charge_task(&self) -> SysResult<()> {
        let n = self.n_tasks.get();
        if n >= self.max_tasks {
            return Err(Errno::EAGAIN);
        }
        self.n_tasks.set(n + 1);
        self.n_forks.set(self.n_forks.get() + 1);
        Ok(())
    }

    pub(crate) fn uncharge_task(&self) {
        self.n_tasks.set(self.n_tasks.get().saturating_sub(1));
    }

    /// How many threads live.
    pub fn n_tasks(&self) -> u32 {
        self.n_tasks.get()
    }

    /// How many threads were ever made (`processes` in `/proc/stat`).
    pub fn n_forks(&self) -> u64 {
        self.n_forks.get()
    }

    /// The CPU time of all guest processes so far.
    pub fn cpu_times(&self) -> CpuTimes {
        let living = self.ids.processes();
        let living = living.iter().filter(|process| process.status().is_none());
        living.fold(self.ended_times.get(), |sum, process| sum.plus(process.cpu_times()))
    }

    /// A process that has used so much has ended.
    pub(crate) fn add_cpu_times_of_ended(&self, times: CpuTimes) {
        self.ended_times.set(self.ended_times.get().plus(times));
    }

    /// A process that had so much memory at one time has ended.
    pub(crate) fn note_resident_of_ended(&self, bytes: u64) {
        self.most_resident.set(self.most_resident.get().max(bytes));
    }

    /// The most memory that one of the processes that have ended had, in bytes, by its own word.
    pub fn most_resident(&self) -> u64 {
        self.most_resident.get()
    }

    /// How many threads may live at a time.
    pub fn max_tasks(&self) -> u32 {
        self.max_tasks
    }

    /// How much memory guests are told that there is, if it is not the host's.
    pub fn memory_limit(&self) -> Option<u64> {
        self.memory_limit
    }
}

/// Who a caller is, for sockets, which know no threads.
fn identify(caller: &dyn Any) -> Option<Ucred> {
    let thread: &Thread = caller.downcast_ref()?;
    let credentials = thread.credentials();
    Some(Ucred { pid: thread.process().pid.0, uid: credentials.uid, gid: credentials.gid })
}
