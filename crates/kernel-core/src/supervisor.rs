//! Who looks on at what guests do, and may say no.
//!
//! Most sandboxes have no supervisor, and then each call in here is one comparison. There is one
//! per kernel, which has one thread.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;

use linux_abi::tasks::ExitStatus;
use linux_abi::{Pid, SysResult};

/// What somebody wants to do with what a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Right {
    /// Read it.
    Read,
    /// Make, change, rename or remove it.
    Write,
    /// Run it.
    Run,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileEvent<'a> {
    /// It was opened to be read.
    Read,
    /// It is a folder and was opened to be listed.
    Listed,
    /// It was opened to be written, or its length or metadata were changed.
    Changed,
    /// It was made; whether it is a folder.
    Created(bool),
    /// It was removed.
    Removed,
    /// It has this path now; whether something else was there before.
    MovedTo(&'a [u8], bool),
}

/// What happened to a process.
#[derive(Clone, Copy, Debug)]
pub enum ProcessEvent<'a> {
    /// This parent made it.
    Started(Pid),
    /// It runs this program with these arguments, each with its terminating zero.
    Executed(&'a [u8], &'a [u8]),
    /// It ended, after so many nanoseconds of CPU time as user and in system calls.
    Ended(ExitStatus, u64, u64),
}

/// The protocol of an attempt to leave the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// Looks on, and may say no. Paths start at the top of the sandbox's tree and have no links in
/// them.
pub trait Supervisor {
    /// Whether there are rules that a path has to meet.
    fn has_rules(&self) -> bool;

    /// Fails with what the guest gets if it may not do this.
    fn check(&self, right: Right, path: &[u8]) -> SysResult<()>;

    /// Like [`check`](Self::check), for who asks what it may do and does nothing yet.
    fn ask(&self, right: Right, path: &[u8]) -> SysResult<()>;

    /// Something happened to a file.
    fn file(&self, path: &[u8], event: FileEvent<'_>);

    /// Somebody looked for a path, from the top, that is not there, or that it may not reach.
    fn missing(&self, path: &[u8]);

    /// Something happened to a process.
    fn process(&self, pid: Pid, event: ProcessEvent<'_>);

    /// The guest wanted to send something to an address outside, and there is no way out.
    fn unreachable(&self, transport: Transport, to: SocketAddr);
}

thread_local! {
    static IS_SET: Cell<bool> = const { Cell::new(false) };
    static SUPERVISOR: RefCell<Option<Rc<dyn Supervisor>>> = const { RefCell::new(None) };
}

/// Lets `supervisor` look on from now on, in place of whoever did before.
pub fn set(supervisor: Option<Rc<dyn Supervisor>>) {
    IS_SET.set(supervisor.is_some());
    SUPERVISOR.set(supervisor);
}

/// Who looks on, if anybody does.
pub fn get() -> Option<Rc<dyn Supervisor>> {
    if IS_SET.get() { SUPERVISOR.with_borrow(Clone::clone) } else { None }
}

/// Whether paths have to meet rules.
pub fn has_rules() -> bool {
    get().is_some_and(|supervisor| supervisor.has_rules())
}
