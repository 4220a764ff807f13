//! `exit(2)`, `exit_group(2)`.
//!
//! Neither returns to the guest: the host thread or process is gone when the handler is done.

use std::rc::Rc;

use kernel_tasks::Thread;
use linux_abi::SysResult;
use linux_abi::tasks::ExitStatus;

/// Ends the calling thread.
pub(crate) fn exit(thread: &Rc<Thread>, code: i32) -> SysResult<()> {
    thread.exit(ExitStatus::exited(code));
    Ok(())
}

/// Ends the process with all its threads.
pub(crate) fn exit_group(thread: &Rc<Thread>, code: i32) -> SysResult<()> {
    thread.process().exit(ExitStatus::exited(code));
    Ok(())
}
