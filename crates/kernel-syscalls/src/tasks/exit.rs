//! `exit(2)`, `exit_group(2)`.
//!
//! Neither returns to the guest: the host thread or process is gone when the handler is done.

use std::rc::Rc;

use kernel_tasks::Thread;
use kernel_tasks::ptrace::end_process;
use linux_abi::WaitResult;
use linux_abi::tasks::ExitStatus;

/// Ends the calling thread.
pub(crate) async fn exit(thread: Rc<Thread>, code: i32) -> WaitResult<()> {
    let status = ExitStatus::exited(code);
    thread.report_exit(status).await;
    thread.exit(status);
    Ok(())
}

/// Ends the process with all its threads.
pub(crate) async fn exit_group(thread: Rc<Thread>, code: i32) -> WaitResult<()> {
    end_process(thread, ExitStatus::exited(code)).await;
    Ok(())
}
