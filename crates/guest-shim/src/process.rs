//! What the shim keeps per process. A host fork copies it.

use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// A lock between threads of one process. Never held while guest code runs.
pub struct Lock(AtomicU32);

impl Lock {
    /// An open lock.
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Waits until the lock is this thread's.
    pub fn lock(&self) {
        while !self.try_lock() {
            crate::host::call3(crate::host::nr::SCHED_YIELD, 0, 0, 0);
        }
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> bool {
        self.0.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
    }

    /// Gives the lock back.
    pub fn unlock(&self) {
        self.0.store(0, Release);
    }
}

/// The heap, as `brk` sees it.
pub struct Heap {
    /// Held while the heap changes.
    pub lock: Lock,
    /// Where the heap starts.
    pub start: AtomicU64,
    /// Where it ends.
    pub end: AtomicU64,
}

/// The heap of this process.
pub static HEAP: Heap =
    Heap { lock: Lock::new(), start: AtomicU64::new(0), end: AtomicU64::new(0) };

/// Where the host put its vDSO; it is the same in every process of a sandbox.
pub static VDSO: AtomicU64 = AtomicU64::new(0);

/// Which parts of the extended processor state go into signal frames.
pub static XSAVE_MASK: AtomicU64 = AtomicU64::new(0);

/// How large that state is.
pub static XSAVE_SIZE: AtomicU64 = AtomicU64::new(0);

/// Not zero once the process has started a second thread.
pub static IS_THREADED: AtomicU32 = AtomicU32::new(0);
