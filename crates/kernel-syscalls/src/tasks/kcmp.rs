//! `kcmp(2)`.

use std::cmp::Ordering;
use std::rc::Rc;

use kernel_tasks::Thread;
use linux_abi::{Errno, Fd, Pid, SysResult};

use super::pidfd::may_inspect_process;

const FILE: u32 = 0;
const VM: u32 = 1;
const FILES: u32 = 2;
const FS: u32 = 3;
const SIGHAND: u32 = 4;
const IO: u32 = 5;
const SYSVSEM: u32 = 6;

/// Says whether two threads share something: 0 for the same, 1 and 2 for an order of others.
pub(crate) fn kcmp(
    thread: &Rc<Thread>,
    first: i32,
    second: i32,
    what: u32,
    index1: u64,
    index2: u64,
) -> SysResult<u32> {
    let find = |pid: i32| {
        let pid = u32::try_from(pid).map_err(|_| Errno::ESRCH)?;
        thread.kernel().ids.thread(Pid(pid)).ok_or(Errno::ESRCH)
    };
    let (first, second) = (find(first)?, find(second)?);
    for other in [&first, &second] {
        if !may_inspect_process(thread, other.process()) {
            return Err(Errno::EPERM);
        }
    }
    let order = match what {
        FILE => {
            let fd = |index: u64| i32::try_from(index).map(Fd).map_err(|_| Errno::EBADF);
            first.file(fd(index1)?)?.id().cmp(&second.file(fd(index2)?)?.id())
        }
        FILES => Rc::as_ptr(&first.files()).cmp(&Rc::as_ptr(&second.files())),
        FS => Rc::as_ptr(&first.fs()).cmp(&Rc::as_ptr(&second.fs())),
        VM | SIGHAND => first.process().pid.cmp(&second.process().pid),
        // Neither I/O contexts nor undo lists are shared between processes here.
        IO | SYSVSEM => first.process().pid.cmp(&second.process().pid),
        _ => return Err(Errno::EINVAL),
    };
    Ok(match order {
        Ordering::Equal => 0,
        Ordering::Less => 1,
        Ordering::Greater => 2,
    })
}
