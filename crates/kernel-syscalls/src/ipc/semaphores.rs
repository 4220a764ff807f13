//! `semget(2)`, `semop(2)`, `semtimedop(2)`.
//!
//! An interrupted operation is `EINTR`, whatever the handler was installed with.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::timers::{Instant, now};
use kernel_events::ipc::semaphores::SEMOPM;
use kernel_tasks::Thread;
use linux_abi::events::sysv::SemBuf;
use linux_abi::time::Timespec;
use linux_abi::{Errno, Interrupted, Restart, SysResult, WaitResult};

use super::id_of;

/// Finds or makes a set of semaphores.
pub(crate) fn semget(thread: &Rc<Thread>, key: i32, n: i32, flags: u32) -> SysResult<u32> {
    let n = usize::try_from(n).map_err(|_| Errno::EINVAL)?;
    thread.ipc().semaphores.get(key, n, flags, &thread.credentials())
}

/// Carries out operations on a set, all at once.
pub(crate) async fn semop(
    thread: Rc<Thread>,
    id: i32,
    operations: UserPtr<SemBuf>,
    n: u64,
) -> WaitResult<()> {
    operate(&thread, id, operations, n, UserPtr::new(0)).await
}

/// Like [`semop`], for at most so long.
pub(crate) async fn semtimedop(
    thread: Rc<Thread>,
    id: i32,
    operations: UserPtr<SemBuf>,
    n: u64,
    timeout: UserPtr<Timespec>,
) -> WaitResult<()> {
    operate(&thread, id, operations, n, timeout).await
}

async fn operate(
    thread: &Rc<Thread>,
    id: i32,
    operations: UserPtr<SemBuf>,
    n: u64,
    timeout: UserPtr<Timespec>,
) -> WaitResult<()> {
    let timeout = match timeout.non_null() {
        Some(timeout) => Some(timeout.read(&thread.memory())?),
        None => None,
    };
    let id = id_of(id)?;
    let n = usize::try_from(n).map_err(|_| Errno::E2BIG)?;
    match n {
        0 => return Err(Errno::EINVAL.into()),
        _ if n > SEMOPM => return Err(Errno::E2BIG.into()),
        _ => {}
    }
    let operations = operations.read_many(&thread.memory(), n)?;
    let deadline = deadline_of(timeout)?;
    let ipc = thread.ipc();
    let semaphores = &ipc.semaphores;
    let pid = thread.process().pid;
    let Some(wait) = semaphores.operate(id, operations, &thread.credentials(), pid)? else {
        return Ok(());
    };
    match thread.interruptible_until(Restart::IfAsked, deadline, wait.finished()).await {
        Ok(Some(result)) => Ok(result?),
        Ok(None) => Err(Errno::EAGAIN.into()),
        Err(Interrupted::Signal(_)) => Err(Errno::EINTR.into()),
        Err(error) => Err(error),
    }
}

fn deadline_of(timeout: Option<Timespec>) -> SysResult<Option<Instant>> {
    let Some(timeout) = timeout else { return Ok(None) };
    let nanos = timeout.to_nanos().ok_or(Errno::EINVAL)?;
    Ok(Some(now().after(nanos)))
}
