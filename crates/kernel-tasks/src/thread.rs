//! A guest thread: what every system call is made for.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use kernel_core::credentials::Credentials;
use kernel_core::memory::UserMemory;
use kernel_core::timers::Instant;
use kernel_files::{FdTable, Intent, OpenFile};
use linux_abi::{Errno, Fd, Interrupted, Pid, Restart, SysResult, WaitResult};

use crate::{Kernel, Machine, Process};

/// A guest thread.
pub struct Thread {
    /// The thread id.
    pub tid: Pid,
    process: Rc<Process>,
    kernel: Rc<Kernel>,
    credentials: RefCell<Rc<Credentials>>,
    /// Shared with the threads that were created with `CLONE_FILES`.
    files: RefCell<Rc<RefCell<FdTable>>>,
    machine: RefCell<Rc<dyn Machine>>,
    /// Set when a signal may be deliverable; makes interruptible waits end.
    signal_pending: Cell<bool>,
}

impl Thread {
    /// The process it belongs to.
    pub fn process(&self) -> &Rc<Process> {
        &self.process
    }

    /// The kernel it runs on.
    pub fn kernel(&self) -> &Rc<Kernel> {
        &self.kernel
    }

    /// Its memory (that of its process).
    pub fn memory(&self) -> MemoryOf {
        MemoryOf(Rc::clone(&self.machine.borrow()))
    }

    /// Who it is.
    pub fn credentials(&self) -> Rc<Credentials> {
        Rc::clone(&self.credentials.borrow())
    }

    /// Its descriptor table.
    pub fn files(&self) -> Rc<RefCell<FdTable>> {
        Rc::clone(&self.files.borrow())
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
        1024
    }

    /// Whether a signal is ready to be delivered to this thread.
    pub fn has_signal(&self) -> bool {
        self.signal_pending.get()
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
        file.ops().admit(file, self, if writes { Intent::Write } else { Intent::Read })?;
        loop {
            match attempt() {
                Err(Errno::EAGAIN) if !file.is_nonblocking() => {}
                result => return Ok(result?),
            }
            let Some(queue) = file.ops().queue() else { return Err(Errno::EAGAIN.into()) };
            let wait = queue.wait(events);
            if self.interruptible_until(Restart::IfAsked, deadline, wait).await?.is_none() {
                return Err(Errno::EAGAIN.into());
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

    fn write_some(&self, address: u64, bytes: &[u8]) -> SysResult<usize> {
        self.0.memory().write_some(address, bytes)
    }
}
