//! Options about the process.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_tasks::Thread;
use kernel_tasks::process::Flags;
use kernel_tasks::ptrace::AllowedTracer;
use linux_abi::{Errno, Pid, SysResult};

use super::{Arguments, unused};

pub(super) fn get_dumpable(thread: &Rc<Thread>) -> SysResult<u64> {
    Ok(thread.process().has_flag(Flags::DUMPABLE).into())
}

pub(super) fn set_dumpable(thread: &Rc<Thread>, mode: u64) -> SysResult<u64> {
    if mode > 1 {
        return Err(Errno::EINVAL);
    }
    thread.process().set_flag(Flags::DUMPABLE, mode == 1);
    Ok(0)
}

pub(super) fn set_child_subreaper(thread: &Rc<Thread>, on: u64) -> SysResult<u64> {
    thread.process().set_flag(Flags::SUBREAPER, on != 0);
    Ok(0)
}

pub(super) fn get_child_subreaper(thread: &Rc<Thread>, place: u64) -> SysResult<u64> {
    let on = i32::from(thread.process().has_flag(Flags::SUBREAPER));
    UserPtr::new(place).write(&thread.memory(), &on)?;
    Ok(0)
}

pub(super) fn set_thp_disable(thread: &Rc<Thread>, [on, rest @ ..]: Arguments) -> SysResult<u64> {
    unused(&rest)?;
    thread.process().set_flag(Flags::THP_DISABLED, on != 0);
    Ok(0)
}

pub(super) fn get_thp_disable(thread: &Rc<Thread>, arguments: Arguments) -> SysResult<u64> {
    unused(&arguments)?;
    Ok(thread.process().has_flag(Flags::THP_DISABLED).into())
}

const REFUSE_EXEC_GAIN: u64 = 1;

/// The wish is kept and told; `mprotect` is the host's and is not refused.
pub(super) fn set_deny_write_execute(
    thread: &Rc<Thread>,
    [bits, rest @ ..]: Arguments,
) -> SysResult<u64> {
    unused(&rest)?;
    if bits & !REFUSE_EXEC_GAIN != 0 {
        return Err(Errno::EINVAL);
    }
    let is_on = thread.process().has_flag(Flags::DENY_WRITE_EXECUTE);
    if is_on && bits == 0 {
        return Err(Errno::EPERM);
    }
    thread.process().set_flag(Flags::DENY_WRITE_EXECUTE, bits != 0);
    Ok(0)
}

pub(super) fn get_deny_write_execute(thread: &Rc<Thread>, arguments: Arguments) -> SysResult<u64> {
    unused(&arguments)?;
    Ok(thread.process().has_flag(Flags::DENY_WRITE_EXECUTE).into())
}

pub(super) fn set_ptracer(thread: &Rc<Thread>, pid: u64) -> SysResult<u64> {
    const ANYBODY: u64 = u32::MAX as u64;
    let allowed = match pid {
        0 => AllowedTracer::Nobody,
        // Only the lower half counts for this.
        pid if pid & ANYBODY == ANYBODY => AllowedTracer::Anybody,
        pid => {
            let pid = u32::try_from(pid).map_err(|_| Errno::EINVAL)?;
            let other = thread.kernel().ids.thread(Pid(pid)).ok_or(Errno::EINVAL)?;
            AllowedTracer::Only(Rc::downgrade(&other))
        }
    };
    thread.process().allow_tracer(allowed);
    Ok(0)
}
