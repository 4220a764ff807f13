//! The memory by which guests wake the kernel and each other.

use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use channel_abi::Bell;
use channel_abi::layout::{BELL_SIZE, SLEEP_WORDS};
use rustix::io::Errno;

use crate::shared::SharedMemory;

/// The bell of one sandbox.
#[derive(Debug)]
pub struct SharedBell {
    memory: SharedMemory,
}

impl SharedBell {
    /// A silent bell.
    pub fn new() -> Result<Self, Errno> {
        Ok(Self { memory: SharedMemory::new("bell", BELL_SIZE)? })
    }

    /// The bell itself. All of it is hints.
    pub fn get(&self) -> &Bell {
        self.memory.at(0)
    }

    /// The descriptor to hand to the zygote.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.memory.file()
    }

    /// Changes a word that threads sleep on, so that whoever is about to sleep does not.
    pub fn bump(&self, word: u32) -> Option<&AtomicU32> {
        let word = self.get().words.get(word as usize % SLEEP_WORDS)?;
        word.fetch_add(1, SeqCst);
        Some(word)
    }

    /// Wakes every thread that sleeps on a word.
    pub fn wake(&self, word: &AtomicU32) {
        // Fails only if nobody can be woken, which is as good.
        let _ =
            rustix::thread::futex::wake(word, rustix::thread::futex::Flags::empty(), u32::MAX >> 1);
    }
}
