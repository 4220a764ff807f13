//! A kernel with one guest thread, and a folder, that many inputs use one after the other: making
//! new ones would take longer than most parsers.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use kernel_core::memory::UserMemory;
use kernel_syscalls::{Body, Registers, SYSCALLS, Status};
use kernel_tasks::Thread;
use kernel_tasks::testing::MEMORY_START;

use crate::world::World;

/// A place for inputs.
pub struct Scratch {
    folder: tempfile::TempDir,
    world: World,
}

/// What a call answers that waits; no error has this number.
const WAITS: i64 = -1_000_000;

thread_local! {
    static SCRATCH: RefCell<Option<Scratch>> = const { RefCell::new(None) };
}

/// Does something with the scratch place of this thread.
pub fn with<T>(act: impl FnOnce(&mut Scratch) -> T) -> Option<T> {
    SCRATCH.with_borrow_mut(|scratch| {
        if scratch.as_ref().is_none_or(|scratch| scratch.world.is_over()) {
            *scratch = Scratch::new();
        }
        scratch.as_mut().map(act)
    })
}

impl Scratch {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().ok()?;
        let root = folder.path().join("root");
        std::fs::create_dir(&root).ok()?;
        crate::round::fill_root(&root).ok()?;
        Some(Self { world: World::new(&root, 0).ok()?, folder })
    }

    /// A path of the host's for an input.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The guest thread.
    pub fn thread(&self) -> Option<Rc<Thread>> {
        self.world.first()
    }

    /// Puts bytes into the guest's memory, so far from its start. Returns their address.
    pub fn put(&self, at: u64, bytes: &[u8]) -> u64 {
        let address = MEMORY_START + at;
        if let Some(thread) = self.thread() {
            // What does not fit is left out: inputs are small.
            let _ = thread.memory().write_some(address, bytes);
        }
        address
    }

    /// Makes a call. A negative answer is an error.
    pub fn call(&mut self, name: &str, arguments: &[u64]) -> i64 {
        let Some(call) = SYSCALLS.iter().find(|call| call.name == name) else { return -38 };
        let mut registers: Registers = Default::default();
        registers.iter_mut().zip(arguments).for_each(|(to, from)| *to = *from);
        let body: Body = match call.status {
            Status::Full(body) | Status::Partial(body, _) | Status::Stub(body, _) => body,
            Status::Shim(_) | Status::Refused(..) | Status::Missing => return -38,
        };
        match self.world.call(0, body, registers) {
            Some(Ok(value)) => value.cast_signed(),
            Some(Err(linux_abi::Interrupted::Errno(errno))) => -i64::from(errno.code()),
            Some(Err(linux_abi::Interrupted::Signal(_))) => -4,
            None => {
                self.world.abandon(0);
                WAITS
            }
        }
    }

    /// Closes what the guest has open.
    pub fn close_all(&mut self) {
        self.call("close_range", &[0, u64::from(u32::MAX), 0]);
    }
}
