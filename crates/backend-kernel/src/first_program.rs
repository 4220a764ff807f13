//! The first program of a sandbox.

use std::cell::Cell;
use std::rc::{Rc, Weak};

use kernel_core::memory::UserMemory;
use kernel_tasks::machine::{Ids, Image, Start};
use kernel_tasks::{Machine, Thread};
use linux_abi::{Errno, SysResult};

use crate::engine::{Engine, Place};
use crate::machine::GuestMachine;

/// What stands behind the first thread until it has a program: nothing.
pub struct NoMachine {
    engine: Weak<Engine>,
    mask: Cell<u64>,
}

impl NoMachine {
    /// For a thread that is about to execute its first program.
    pub fn new(engine: &Rc<Engine>) -> Rc<Self> {
        Rc::new(Self { engine: Rc::downgrade(engine), mask: Cell::new(0) })
    }
}

impl UserMemory for NoMachine {
    fn read_some(&self, _address: u64, _buffer: &mut [u8]) -> SysResult<usize> {
        Err(Errno::EFAULT)
    }

    fn write_some(&self, _address: u64, _bytes: &[u8]) -> SysResult<usize> {
        Err(Errno::EFAULT)
    }
}

impl Machine for NoMachine {
    fn memory(&self) -> &dyn UserMemory {
        self
    }

    fn signal_mask(&self) -> u64 {
        self.mask.get()
    }

    fn set_signal_mask(&self, mask: u64) {
        self.mask.set(mask);
    }

    fn set_pending_signals(&self, _pending: u64) {}

    fn kick(&self) {}

    fn kill_process(&self) {}

    fn kill_thread(&self) {}

    fn thread_cpu_time(&self) -> (u64, u64) {
        (0, 0)
    }

    fn process_cpu_time(&self) -> (u64, u64) {
        (0, 0)
    }

    fn resident_bytes(&self) -> u64 {
        0
    }

    fn publish_ids(&self, _ids: Ids) {}

    fn attach(&self, _thread: &Rc<Thread>) {}

    fn fork(&self, _start: Start) -> SysResult<Rc<dyn Machine>> {
        Err(Errno::ENOSYS)
    }

    fn vfork(&self, _start: Start) -> SysResult<Rc<dyn Machine>> {
        Err(Errno::ENOSYS)
    }

    fn new_thread(&self, _start: Start) -> SysResult<Rc<dyn Machine>> {
        Err(Errno::ENOSYS)
    }

    fn exec(&self, image: Image) -> SysResult<Rc<dyn Machine>> {
        let engine = self.engine.upgrade().ok_or(Errno::ESRCH)?;
        let space = engine.start_program(image)?;
        Ok(GuestMachine::new(&engine, Place { space, index: 0 }))
    }
}
