//! A guest thread: what every system call is made for.

use std::any::Any;
use std::cell::{Cell, Ref, RefCell};
use std::future::{Future, poll_fn};
use std::os::fd::BorrowedFd;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;

use kernel_core::credentials::Credentials;
use kernel_core::memory::UserMemory;
use kernel_core::timers::{self, Instant};
use kernel_files::{FdTable, FsContext, Intent, OpenFile};
use linux_abi::signals::{SigInfo, SigSet, Signal};
use linux_abi::tasks::ExitStatus;
use linux_abi::{Errno, Fd, Interrupted, Pid, Restart, SysResult, WaitResult};

use crate::call_filter::CallFilter;
use crate::machine::Ids;
use crate::namespaces::Namespaces;
use crate::ptrace::Tracing;
use crate::signals::SignalQueue;
use crate::{Kernel, Machine, Process};

mod attributes;
mod clone;
mod exec;
mod exit;
mod told;

pub use attributes::{Attributes, CpuSet, MemoryPolicy, Scheduling};
pub use clone::CloneRequest;
pub use exec::NewProgram;

/// How an interrupted call goes on in `restart_syscall`.
pub type Continuation =
    Box<dyn FnOnce(Rc<Thread>) -> Pin<Box<dyn Future<Output = WaitResult<u64>>>>>;

/// What a new thread is made of.
pub(crate) struct ThreadParts {
    pub machine: Rc<dyn Machine>,
    pub credentials: Rc<Credentials>,
    pub files: Rc<RefCell<FdTable>>,
    pub fs: Rc<FsContext>,
    pub namespaces: Rc<Namespaces>,
    pub attributes: Attributes,
    pub call_filter: CallFilter,
}

/// What a thread has read and written, for `/proc/<pid>/io`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoAccount {
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Calls that read.
    pub read_calls: u64,
    /// Calls that wrote.
    pub write_calls: u64,
}

impl IoAccount {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            bytes_read: self.bytes_read.saturating_add(other.bytes_read),
            bytes_written: self.bytes_written.saturating_add(other.bytes_written),
            read_calls: self.read_calls + other.read_calls,
            write_calls: self.write_calls + other.write_calls,
        }
    }
}

/// A guest thread.
pub struct Thread {
    tid: Cell<Pid>,
    process: Rc<Process>,
    kernel: Rc<Kernel>,
    credentials: RefCell<Rc<Credentials>>,
    /// Shared with the threads that were created with `CLONE_FILES`.
    files: RefCell<Rc<RefCell<FdTable>>>,
    /// Shared with the threads that were created with `CLONE_FS`.
    fs: RefCell<Rc<FsContext>>,
    pub(crate) namespaces: RefCell<Rc<Namespaces>>,
    machine: RefCell<Rc<dyn Machine>>,
    /// What was sent to this thread alone.
    pending: SignalQueue,
    /// Blocked signals that the thread waits for in `rt_sigtimedwait`.
    waits_for: Cell<SigSet>,
    /// The mask that comes back after a call with a temporary one.
    pub(crate) saved_mask: Cell<Option<SigSet>>,
    continuation: RefCell<Option<Continuation>>,
    attributes: RefCell<Attributes>,
    parent_death_signal: Cell<Option<Signal>>,
    exited: Cell<bool>,
    /// With what it called `exit`.
    pub(crate) exit_status: Cell<ExitStatus>,
    pub(crate) tracing: Tracing,
    /// What it has read and written.
    io: Cell<IoAccount>,
    /// What its calls have to pass.
    pub(crate) call_filter: RefCell<CallFilter>,
}

impl Thread {
    /// A new thread of `process`, known by its id from now on.
    pub(crate) fn new(tid: Pid, process: &Rc<Process>, parts: ThreadParts) -> Rc<Self> {
        let thread = Rc::new(Self {
            tid: Cell::new(tid),
            process: Rc::clone(process),
            kernel: Rc::clone(process.kernel()),
            credentials: RefCell::new(parts.credentials),
            files: RefCell::new(parts.files),
            fs: RefCell::new(parts.fs),
            namespaces: RefCell::new(parts.namespaces),
            machine: RefCell::new(parts.machine),
            pending: SignalQueue::default(),
            waits_for: Cell::default(),
            saved_mask: Cell::default(),
            continuation: RefCell::default(),
            attributes: RefCell::new(parts.attributes),
            parent_death_signal: Cell::default(),
            exited: Cell::default(),
            exit_status: Cell::new(ExitStatus::exited(0)),
            tracing: Tracing::default(),
            io: Cell::default(),
            call_filter: RefCell::new(parts.call_filter),
        });
        process.kernel().ids.name_thread(tid, &thread);
        process.add_thread(&thread);
        thread.machine().attach(&thread);
        thread.publish_ids();
        thread.publish_watch();
        thread
    }

    /// The thread behind the `caller` that files and inodes are given: always one, as itself or
    /// as its `Rc`.
    pub fn of_caller(caller: &dyn Any) -> SysResult<&Self> {
        caller
            .downcast_ref::<Self>()
            .or_else(|| caller.downcast_ref::<Rc<Self>>().map(Rc::as_ref))
            .ok_or(Errno::EIO)
    }

    /// The thread id.
    pub fn tid(&self) -> Pid {
        self.tid.get()
    }

    /// The process it belongs to.
    pub fn process(&self) -> &Rc<Process> {
        &self.process
    }

    /// The kernel it runs on.
    pub fn kernel(&self) -> &Rc<Kernel> {
        &self.kernel
    }

    /// The host's side of it.
    pub fn machine(&self) -> Rc<dyn Machine> {
        Rc::clone(&self.machine.borrow())
    }

    /// Its memory (that of its process).
    pub fn memory(&self) -> MemoryOf {
        MemoryOf(self.machine())
    }

    /// Who it is.
    pub fn credentials(&self) -> Rc<Credentials> {
        Rc::clone(&self.credentials.borrow())
    }

    /// Changes who it is. The caller has checked that it may.
    pub fn set_credentials(&self, credentials: Rc<Credentials>) {
        *self.credentials.borrow_mut() = credentials;
        self.publish_ids();
    }

    /// Its descriptor table.
    pub fn files(&self) -> Rc<RefCell<FdTable>> {
        Rc::clone(&self.files.borrow())
    }

    /// Root, working directory and `umask`.
    pub fn fs(&self) -> Rc<FsContext> {
        Rc::clone(&self.fs.borrow())
    }

    /// The open file behind a descriptor; `EBADF` if there is none.
    pub fn file(&self, fd: Fd) -> SysResult<Rc<OpenFile>> {
        self.files.borrow().borrow().get(fd).cloned()
    }

    /// Gives an open file the lowest free descriptor, within `RLIMIT_NOFILE`.
    pub fn add_file(&self, file: Rc<OpenFile>, close_on_exec: bool) -> SysResult<Fd> {
        let limit = self.descriptor_limit();
        self.files.borrow().borrow_mut().add(file, 0, limit, close_on_exec)
    }

    /// `RLIMIT_NOFILE`, as a number of descriptors.
    pub fn descriptor_limit(&self) -> u32 {
        self.process.descriptor_limit()
    }

    /// The name that `/proc` and `PR_GET_NAME` show, at most 15 bytes.
    pub fn name(&self) -> Vec<u8> {
        self.attributes.borrow().name.clone()
    }

    /// Replaces the name; what is longer than 15 bytes is cut.
    pub fn set_name(&self, name: &[u8]) {
        self.attributes.borrow_mut().name = name.iter().copied().take(15).collect();
    }

    /// What it hands on to the threads that it makes.
    pub fn attributes(&self) -> Ref<'_, Attributes> {
        self.attributes.borrow()
    }

    /// Changes what it hands on to the threads that it makes.
    pub fn change_attributes(&self, change: impl FnOnce(&mut Attributes)) {
        change(&mut self.attributes.borrow_mut());
    }

    /// What it wants to be sent when its parent's thread ends.
    pub fn parent_death_signal(&self) -> Option<Signal> {
        self.parent_death_signal.get()
    }

    /// Sets what it wants to be sent when its parent's thread ends.
    pub fn set_parent_death_signal(&self, signal: Option<Signal>) {
        self.parent_death_signal.set(signal);
    }

    /// Whether it has ended. Its calls need no answer any more.
    pub fn has_exited(&self) -> bool {
        self.exited.get()
    }

    /// What it has read and written by calls that came to the kernel.
    pub fn io_account(&self) -> IoAccount {
        self.io.get()
    }

    /// Counts one call that read (or, with `writes`, wrote) so many bytes.
    pub fn count_io(&self, writes: bool, bytes: u64) {
        let mut io = self.io.get();
        let (calls, total) = if writes {
            (&mut io.write_calls, &mut io.bytes_written)
        } else {
            (&mut io.read_calls, &mut io.bytes_read)
        };
        *calls += 1;
        *total = total.saturating_add(bytes);
        self.io.set(io);
    }

    /// What a signal from this thread says: `code` and who sent it.
    pub fn signal_info(&self, signal: Signal, code: i32) -> SigInfo {
        SigInfo::from_process(signal, code, self.process.pid, self.credentials().uid)
    }

    /// Tells the shim everything that it answers by itself, after another thread has sat in its
    /// place (`vfork`).
    pub fn publish(&self) {
        self.publish_ids();
        self.publish_pending();
        self.publish_watch();
    }

    /// Tells the shim the ids, and what else of the thread it answers by itself.
    pub(crate) fn publish_ids(&self) {
        let [uid, euid, gid, egid] = self.credentials().shown_ids();
        self.machine().publish_ids(Ids {
            pid: self.process.pid.0,
            tid: self.tid().0,
            ppid: self.process.parent_pid().0,
            uid,
            euid,
            gid,
            egid,
            plain_actions: self.process.signals.plain_actions(),
        });
    }

    pub(crate) fn pending_queue(&self) -> &SignalQueue {
        &self.pending
    }

    /// The signals that wait for this thread, whether it blocks them or not.
    pub fn pending_signals(&self) -> SigSet {
        self.pending.set().union(self.process.signals.pending())
    }

    /// The signals that were sent to this thread alone.
    pub fn own_pending_signals(&self) -> SigSet {
        self.pending.set()
    }

    /// Tells the shim what waits. A stop counts as `SIGSTOP`, which no mask hides.
    pub(crate) fn publish_pending(&self) {
        let mut pending = self.pending_signals();
        if self.shall_stop() {
            pending = pending.with(Signal::SIGSTOP);
        }
        self.machine().set_pending_signals(pending.0);
    }

    /// Whether `signal` would be taken by this thread now.
    pub(crate) fn takes(&self, signal: Signal) -> bool {
        !self.has_exited()
            && (!self.mask().contains(signal) || self.waits_for.get().contains(signal))
    }

    /// The blocked signals that the thread waits for in `rt_sigtimedwait`.
    pub fn waits_for(&self) -> SigSet {
        self.waits_for.get()
    }

    /// Sets what the thread waits for.
    pub fn set_waits_for(&self, signals: SigSet) {
        self.waits_for.set(signals);
    }

    /// Whether a signal is ready to be delivered to this thread, or it shall stop.
    pub fn has_signal(&self) -> bool {
        let pending = self.pending_signals();
        !pending.is_empty() && !pending.without(self.mask()).is_empty() || self.shall_stop()
    }

    /// Leaves behind how an interrupted call goes on. The call then ends with
    /// [`Restart::Continuation`].
    pub fn set_continuation(&self, continuation: Continuation) {
        *self.continuation.borrow_mut() = Some(continuation);
    }

    /// Takes what the last interrupted call has left.
    pub fn take_continuation(&self) -> Option<Continuation> {
        self.continuation.borrow_mut().take()
    }

    /// Waits for `future`, unless a signal comes first; then the call ends with `restart`.
    pub async fn interruptible<F: Future>(
        &self,
        restart: Restart,
        future: F,
    ) -> WaitResult<F::Output> {
        let mut future = pin!(future);
        poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending if self.has_signal() => Poll::Ready(Err(Interrupted::Signal(restart))),
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// Like [`interruptible`](Self::interruptible), but gives up at `deadline` with `None`.
    pub async fn interruptible_until<F: Future>(
        &self,
        restart: Restart,
        deadline: Option<Instant>,
        future: F,
    ) -> WaitResult<Option<F::Output>> {
        let mut sleep = pin!(self.kernel.timers.sleep_until(deadline.unwrap_or(Instant::NEVER)));
        let mut future = pin!(future);
        let either = poll_fn(|context| {
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            sleep.as_mut().poll(context).map(|()| None)
        });
        self.interruptible(restart, either).await
    }

    /// Repeats `attempt` until it says something else than `EAGAIN`, waiting on the file's queue
    /// for `events` in between; at once if the file does not block. The usual body of a call that
    /// may wait for a file.
    pub async fn retry<T>(
        &self,
        file: &OpenFile,
        events: kernel_core::wait::PollEvents,
        deadline: Option<Instant>,
        mut attempt: impl FnMut() -> SysResult<T>,
    ) -> WaitResult<T> {
        let writes = events.contains(kernel_core::wait::PollEvents::OUT);
        let intent = if writes { Intent::Write } else { Intent::Read };
        file.ops().admit(file, self, intent)?;
        let limit = file.ops().patience(intent);
        let deadline = deadline.or_else(|| limit.map(|nanos| timers::now().after(nanos)));
        loop {
            match attempt() {
                Err(Errno::EAGAIN) if !file.is_nonblocking() => {}
                result => return Ok(result?),
            }
            let Some(queue) = file.ops().queue() else { return Err(Errno::EAGAIN.into()) };
            let wait = queue.wait(events);
            match self.interruptible_until(Restart::IfAsked, deadline, wait).await {
                Ok(Some(())) => {}
                Ok(None) => return Err(Errno::EAGAIN.into()),
                // A wait that has a limit of its own is never begun anew; see signal(7).
                Err(Interrupted::Signal(_)) if limit.is_some() => return Err(Errno::EINTR.into()),
                Err(interrupted) => return Err(interrupted),
            }
        }
    }
}

/// A handle to the memory of a thread's process; use it as a `&dyn UserMemory`.
pub struct MemoryOf(Rc<dyn Machine>);

impl UserMemory for MemoryOf {
    fn read_some(&self, address: u64, buffer: &mut [u8]) -> SysResult<usize> {
        self.0.memory().read_some(address, buffer)
    }

    fn read_string_part(&self, address: u64, buffer: &mut [u8]) -> SysResult<usize> {
        self.0.memory().read_string_part(address, buffer)
    }

    fn write_some(&self, address: u64, bytes: &[u8]) -> SysResult<usize> {
        self.0.memory().write_some(address, bytes)
    }

    fn write_from_host(
        &self,
        address: u64,
        file: BorrowedFd<'_>,
        offset: Option<u64>,
        max: usize,
    ) -> Option<SysResult<usize>> {
        self.0.memory().write_from_host(address, file, offset, max)
    }
}
