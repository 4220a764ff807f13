//! A machine on plain memory, so that handlers can be tested without a host process.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails here shall say so")]
#![expect(clippy::missing_panics_doc, reason = "panics are how tests fail")]

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use kernel_core::credentials::Credentials;
use kernel_core::host_events::HostEvents;
use kernel_core::memory::{UserMemory, UserPtr};
use kernel_files::special::SpecialFiles;
use kernel_files::tmpfs::{Limits, Tmpfs};
use kernel_files::{FsContext, Mount, MountNamespace};
use linux_abi::files::MountFlags;
use linux_abi::signals::Signal;
use linux_abi::tasks::CloneFlags;
use linux_abi::{Errno, SysResult};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::machine::{Ids, Image, Machine, Start};
use crate::thread::CloneRequest;
use crate::{Kernel, KernelOptions, Thread};

/// Where the memory of a [`FakeMachine`] starts.
pub const MEMORY_START: u64 = 0x1_0000;
const MEMORY_SIZE: usize = 256 << 10;

/// One flat piece of guest memory.
pub struct FlatMemory(RefCell<Vec<u8>>);

impl FlatMemory {
    fn range(&self, address: u64, length: usize) -> SysResult<std::ops::Range<usize>> {
        if length == 0 {
            return Ok(0..0);
        }
        let start = address.checked_sub(MEMORY_START).ok_or(Errno::EFAULT)?;
        let start = usize::try_from(start).map_err(|_| Errno::EFAULT)?;
        let end = start.saturating_add(length).min(self.0.borrow().len());
        if start >= end { Err(Errno::EFAULT) } else { Ok(start..end) }
    }
}

impl UserMemory for FlatMemory {
    fn read_some(&self, address: u64, buffer: &mut [u8]) -> SysResult<usize> {
        let range = self.range(address, buffer.len())?;
        let n = range.len();
        buffer.get_mut(..n).unwrap().copy_from_slice(self.0.borrow().get(range).unwrap());
        Ok(n)
    }

    fn write_some(&self, address: u64, bytes: &[u8]) -> SysResult<usize> {
        let range = self.range(address, bytes.len())?;
        let n = range.len();
        self.0.borrow_mut().get_mut(range).unwrap().copy_from_slice(bytes.get(..n).unwrap());
        Ok(n)
    }
}

/// A machine that remembers what was asked of it.
pub struct FakeMachine {
    memory: Rc<FlatMemory>,
    /// The guest's signal mask.
    pub mask: Cell<u64>,
    /// What [`Machine::set_pending_signals`] said last.
    pub pending: Cell<u64>,
    /// How often it was kicked.
    pub kicks: Cell<u32>,
    /// Whether the host process was ended.
    pub process_killed: Cell<bool>,
    /// Whether the host thread was ended.
    pub thread_killed: Cell<bool>,
    /// What [`Machine::publish_ids`] said last.
    pub ids: Cell<Ids>,
    /// CPU time to tell.
    pub cpu_time: Cell<(u64, u64)>,
    /// How it began.
    pub start: Start,
}

impl FakeMachine {
    /// A machine with empty memory.
    pub fn new() -> Rc<Self> {
        Self::with_memory(Rc::new(FlatMemory(RefCell::new(vec![0; MEMORY_SIZE]))), Start::default())
    }

    fn with_memory(memory: Rc<FlatMemory>, start: Start) -> Rc<Self> {
        Rc::new(Self {
            memory,
            mask: Cell::default(),
            pending: Cell::default(),
            kicks: Cell::default(),
            process_killed: Cell::default(),
            thread_killed: Cell::default(),
            ids: Cell::default(),
            cpu_time: Cell::new((7_000_000, 3_000_000)),
            start,
        })
    }
}

impl Machine for FakeMachine {
    fn memory(&self) -> &dyn UserMemory {
        &*self.memory
    }
    fn signal_mask(&self) -> u64 {
        self.mask.get()
    }
    fn set_signal_mask(&self, mask: u64) {
        self.mask.set(mask);
    }
    fn set_pending_signals(&self, pending: u64) {
        self.pending.set(pending);
    }
    fn kick(&self) {
        self.kicks.set(self.kicks.get() + 1);
    }
    fn kill_process(&self) {
        self.process_killed.set(true);
    }
    fn kill_thread(&self) {
        self.thread_killed.set(true);
    }
    fn thread_cpu_time(&self) -> (u64, u64) {
        self.cpu_time.get()
    }
    fn process_cpu_time(&self) -> (u64, u64) {
        self.cpu_time.get()
    }
    fn resident_bytes(&self) -> u64 {
        4096
    }
    fn publish_ids(&self, ids: Ids) {
        self.ids.set(ids);
    }
    fn attach(&self, _thread: &Rc<Thread>) {}
    fn fork(&self, start: Start) -> SysResult<Rc<dyn Machine>> {
        let copy = self.memory.0.borrow().clone();
        Ok(Self::with_memory(Rc::new(FlatMemory(RefCell::new(copy))), start))
    }
    fn vfork(&self, start: Start) -> SysResult<Rc<dyn Machine>> {
        Ok(Self::with_memory(Rc::clone(&self.memory), start))
    }
    fn new_thread(&self, start: Start) -> SysResult<Rc<dyn Machine>> {
        Ok(Self::with_memory(Rc::clone(&self.memory), start))
    }
    fn exec(&self, _image: Image) -> SysResult<Rc<dyn Machine>> {
        Ok(Self::new())
    }
}

/// A kernel with one process of user 1000, on a [`FakeMachine`].
pub fn first_thread() -> Rc<Thread> {
    first_thread_of(1000)
}

/// A kernel with one process of this user, on a [`FakeMachine`].
pub fn first_thread_of(uid: u32) -> Rc<Thread> {
    let kernel = Kernel::new(KernelOptions::default(), HostEvents::new().unwrap()).unwrap();
    let credentials = Rc::new(Credentials::of_user(uid, uid));
    kernel.spawn_first(FakeMachine::new(), credentials, Rc::default(), empty_tree()).unwrap()
}

/// A tree in which nothing is.
fn empty_tree() -> Rc<FsContext> {
    let tmpfs = Tmpfs::new(Limits::default(), 0o755, 0, 0);
    let mount = Mount::of(tmpfs, b"none", MountFlags::empty());
    let root = mount.top();
    FsContext::new(MountNamespace::new(mount), root, SpecialFiles::new())
}

/// A child process, as `fork` makes it.
pub fn fork(parent: &Rc<Thread>) -> Rc<Thread> {
    clone(parent, CloneFlags::empty())
}

/// A thread of the same process.
pub fn spawn_thread(parent: &Rc<Thread>) -> Rc<Thread> {
    clone(parent, CloneFlags::VM | CloneFlags::SIGHAND | CloneFlags::THREAD | CloneFlags::FILES)
}

fn clone(parent: &Rc<Thread>, flags: CloneFlags) -> Rc<Thread> {
    let exit_signal = (!flags.contains(CloneFlags::THREAD)).then_some(Signal::SIGCHLD);
    let request =
        CloneRequest { flags, exit_signal, wanted_id: None, start: Start::default(), cgroup: None };
    parent.clone_with(&request).unwrap()
}

/// Polls a future once with a waker that does nothing.
pub fn poll_once<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Polls a future that must not have to wait.
pub fn now<F: Future>(future: F) -> F::Output {
    poll_once(future).expect("the future waits")
}

/// Puts a value into guest memory, `offset` bytes from its start, and gives its address.
pub fn put<T: IntoBytes + Immutable>(thread: &Thread, offset: u64, value: &T) -> u64 {
    let address = MEMORY_START + offset;
    UserPtr::new(address).write(&thread.memory(), value).unwrap();
    address
}

/// Reads a value from guest memory at `address`.
pub fn get<T: FromBytes + IntoBytes>(thread: &Thread, address: u64) -> T {
    UserPtr::new(address).read(&thread.memory()).unwrap()
}
