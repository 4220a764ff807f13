//! The memory of a traced thread.

use kernel_core::memory::{UserMemory, UserPtr};
use kernel_core::wait::PollEvents;
use kernel_tasks::Thread;
use linux_abi::{Errno, SysResult};

/// Copies a word of `other` to `to`.
pub(super) fn peek(thread: &Thread, other: &Thread, address: u64, to: u64) -> SysResult<()> {
    let word = UserPtr::<u64>::new(address).read(&other.memory()).map_err(|_| Errno::EIO)?;
    UserPtr::new(to).write(&thread.memory(), &word)
}

/// Writes a word to the memory of `other`, also to pages that it may not write to itself.
pub(super) async fn poke(other: &Thread, address: u64, word: u64) -> SysResult<()> {
    let place = UserPtr::<u64>::new(address);
    if place.write(&other.memory(), &word).is_ok() {
        return Ok(());
    }
    let mut there = [0; size_of::<u64>()];
    other.memory().read(address, &mut there).map_err(|_| Errno::EIO)?;
    let machine = other.machine();
    machine.begin_poke(address, word).map_err(|_| Errno::EIO)?;
    loop {
        match machine.poke_outcome() {
            Some(outcome) => return outcome.map_err(|_| Errno::EIO),
            None => machine.poke_queue().wait(PollEvents::WRITABLE).await,
        }
    }
}
