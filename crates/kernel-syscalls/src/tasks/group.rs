//! `setpgid(2)`, `getpgid(2)`, `getpgrp(2)`, `setsid(2)`, `getsid(2)`, `getpid(2)`, `gettid(2)`,
//! `getppid(2)`.

use std::rc::Rc;

use kernel_tasks::process::Flags;
use kernel_tasks::{Process, Thread};
use linux_abi::{Errno, Pid, SysResult};

/// The process with this id, the caller's for 0. Any thread of a process names it.
fn process_of(thread: &Rc<Thread>, pid: i32) -> SysResult<Rc<Process>> {
    if pid == 0 {
        return Ok(Rc::clone(thread.process()));
    }
    let pid = Pid(u32::try_from(pid).map_err(|_| Errno::ESRCH)?);
    let ids = &thread.kernel().ids;
    let of_thread = || ids.thread(pid).map(|thread| Rc::clone(thread.process()));
    ids.process(pid).or_else(of_thread).ok_or(Errno::ESRCH)
}

/// Moves a process to a group, which is made if the group is to have the id of the process.
pub(crate) fn setpgid(thread: &Rc<Thread>, pid: i32, pgid: i32) -> SysResult<()> {
    let caller = thread.process();
    let pid = if pid == 0 { caller.pid.0.cast_signed() } else { pid };
    let pgid = if pgid == 0 { pid } else { pgid };
    let pgid = Pid(u32::try_from(pgid).map_err(|_| Errno::EINVAL)?);
    let pid = Pid(u32::try_from(pid).map_err(|_| Errno::ESRCH)?);
    let ids = &thread.kernel().ids;
    let target = match ids.process(pid) {
        Some(process) => process,
        None if ids.thread(pid).is_some() => return Err(Errno::EINVAL),
        None => return Err(Errno::ESRCH),
    };
    let is_child = target.parent().is_some_and(|parent| Rc::ptr_eq(&parent, caller));
    if is_child {
        if target.session().sid != caller.session().sid {
            return Err(Errno::EPERM);
        }
        if target.has_flag(Flags::EXECUTED) {
            return Err(Errno::EACCES);
        }
    } else if !Rc::ptr_eq(&target, caller) {
        return Err(Errno::ESRCH);
    }
    if target.is_session_leader() {
        return Err(Errno::EPERM);
    }
    match ids.group(pgid) {
        Some(group) if group.session().sid == caller.session().sid => target.set_group(&group),
        None if pgid == target.pid => target.lead_new_group(),
        _ => return Err(Errno::EPERM),
    }
    Ok(())
}

/// The group of a process.
pub(crate) fn getpgid(thread: &Rc<Thread>, pid: i32) -> SysResult<Pid> {
    Ok(process_of(thread, pid)?.group().pgid)
}

/// The caller's group.
pub(crate) fn getpgrp(thread: &Rc<Thread>) -> SysResult<Pid> {
    Ok(thread.process().group().pgid)
}

/// Makes a session with the caller as its leader.
pub(crate) fn setsid(thread: &Rc<Thread>) -> SysResult<Pid> {
    let process = thread.process();
    if process.is_session_leader() || thread.kernel().ids.group(process.pid).is_some() {
        return Err(Errno::EPERM);
    }
    process.lead_new_session();
    Ok(process.pid)
}

/// The session of a process.
pub(crate) fn getsid(thread: &Rc<Thread>, pid: i32) -> SysResult<Pid> {
    Ok(process_of(thread, pid)?.session().sid)
}

/// The caller's process id.
pub(crate) fn getpid(thread: &Rc<Thread>) -> SysResult<Pid> {
    Ok(thread.process().pid)
}

/// The caller's thread id.
pub(crate) fn gettid(thread: &Rc<Thread>) -> SysResult<Pid> {
    Ok(thread.tid())
}

/// The parent's process id.
pub(crate) fn getppid(thread: &Rc<Thread>) -> SysResult<Pid> {
    Ok(thread.process().parent_pid())
}
