//! Lends files that are used much to the guest process, which then reads them by itself.

use kernel_files::OpenFile;
use kernel_tasks::Thread;
use linux_abi::{Errno, Fd, SysResult};

/// Lends the file behind `fd` if that is worth it. Returns whether the guest process does the call
/// under way by itself: there is nothing more to be done then.
pub(super) fn lend(thread: &Thread, fd: Fd, file: &OpenFile) -> bool {
    let Some(loan) = file.loan() else { return false };
    let attempt = || -> SysResult<bool> {
        let machine = thread.machine();
        let lender = machine.lender().ok_or(Errno::ENOSYS)?;
        if !thread.files().borrow_mut().serve(&lender) {
            return Ok(false);
        }
        let fd = u32::try_from(fd.0).map_err(|_| Errno::EBADF)?;
        machine.lend(fd, &loan, file.flags())
    };
    // What cannot be lent is read by the kernel, as before.
    attempt().unwrap_or(false)
}
