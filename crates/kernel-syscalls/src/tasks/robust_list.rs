//! `get_robust_list(2)` of other threads.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_tasks::Thread;
use linux_abi::{Errno, Pid, SysResult};

/// The shim of each thread keeps its list and answers for itself. Nobody can be asked for the list
/// of another thread, so the answer is that of one who may not look.
pub(crate) fn get_robust_list(
    thread: &Rc<Thread>,
    tid: i32,
    _head: UserPtr<u64>,
    _length: UserPtr<u64>,
) -> SysResult<()> {
    let tid = u32::try_from(tid).map_err(|_| Errno::ESRCH)?;
    thread.kernel().ids.thread(Pid(tid)).ok_or(Errno::ESRCH)?;
    Err(Errno::EPERM)
}
