//! `get_robust_list(2)` of other threads. The shim answers for its own.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_tasks::Thread;
use linux_abi::{Errno, Pid, SysResult};

/// The size of `struct robust_list_head`.
const HEAD_SIZE: u64 = 24;

/// Says where another thread has the list of its locks.
pub(crate) fn get_robust_list(
    thread: &Rc<Thread>,
    tid: i32,
    head: UserPtr<u64>,
    length: UserPtr<u64>,
) -> SysResult<()> {
    let tid = u32::try_from(tid).map_err(|_| Errno::ESRCH)?;
    let other = thread.kernel().ids.thread(Pid(tid)).ok_or(Errno::ESRCH)?;
    if !thread.may_inspect(&other) {
        return Err(Errno::EPERM);
    }
    let memory = thread.memory();
    length.write(&memory, &HEAD_SIZE)?;
    head.write(&memory, &other.machine().robust_list())
}
