//! `flock(2)`.

use std::rc::Rc;

use kernel_core::wait::PollEvents;
use kernel_files::locks::{self, LockKind};
use kernel_tasks::Thread;
use linux_abi::files::lock;
use linux_abi::{Errno, Fd, Restart, WaitResult};

use super::caller::real_file;

/// Locks or unlocks a file as a whole, for the open file and not for the process.
pub(crate) async fn flock(thread: Rc<Thread>, fd: Fd, operation: u32) -> WaitResult<()> {
    let kind = match operation & !lock::NONBLOCK {
        lock::SHARED => Some(LockKind::Shared),
        lock::EXCLUSIVE => Some(LockKind::Exclusive),
        lock::UN => None,
        _ => return Err(Errno::EINVAL.into()),
    };
    let file = real_file(&thread, fd)?;
    let locks = locks::of(&file);
    loop {
        match locks.set_whole(file.id(), kind) {
            Err(Errno::EAGAIN) if operation & lock::NONBLOCK == 0 => {
                thread.interruptible(Restart::IfAsked, locks.queue.wait(PollEvents::MSG)).await?;
            }
            result => return Ok(result?),
        }
    }
}
