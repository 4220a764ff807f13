//! Lends files that are used much to the guest process, which then uses them by itself.

use std::rc::Rc;

use kernel_events::pipe::PipeEnd;
use kernel_files::OpenFile;
use kernel_files::host_stream::HostStream;
use kernel_files::lending::Loan;
use kernel_tasks::Thread;
use linux_abi::{Errno, Fd, SysResult};

/// Lends the file behind `fd` if that is worth it. Returns whether the guest process does the call
/// under way by itself: there is nothing more to be done then.
pub(super) fn lend(thread: &Thread, fd: Fd, file: &OpenFile) -> bool {
    if !file.is_worth_lending() {
        return false;
    }
    let attempt = || -> SysResult<bool> {
        let machine = thread.machine();
        let lender = machine.lender().ok_or(Errno::ENOSYS)?;
        if !thread.files().borrow_mut().serve(&lender) {
            return Ok(false);
        }
        let fd = u32::try_from(fd.0).map_err(|_| Errno::EBADF)?;
        let Some(loan) = loan(thread, file) else { return Ok(false) };
        machine.lend(fd, &loan, file.flags())
    };
    // What cannot be lent is done by the kernel, as before.
    attempt().unwrap_or(false)
}

fn loan(thread: &Thread, file: &OpenFile) -> Option<Loan> {
    if let Some(end) = file.ops_as::<PipeEnd>() {
        let side = end.loan(file, &thread.kernel().host_events)?;
        return Some(Loan::Pipe(Rc::new(side)));
    }
    match file.ops_as::<HostStream>() {
        Some(stream) => stream.loan(file),
        None => file.loan(),
    }
}
