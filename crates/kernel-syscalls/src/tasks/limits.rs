//! `getrlimit(2)`, `setrlimit(2)`, `prlimit64(2)`.

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_core::memory::UserPtr;
use kernel_files::descriptors::NR_OPEN;
use kernel_tasks::{Process, Thread};
use linux_abi::tasks::{Rlimit, rlimit};
use linux_abi::{Errno, Pid, SysResult};

/// Reads a limit of the caller.
pub(crate) fn getrlimit(
    thread: &Rc<Thread>,
    resource: u32,
    place: UserPtr<Rlimit>,
) -> SysResult<()> {
    let limit = thread.process().limit(resource as usize)?;
    place.write(&thread.memory(), &limit)
}

/// Changes a limit of the caller.
pub(crate) fn setrlimit(thread: &Rc<Thread>, resource: u32, new: UserPtr<Rlimit>) -> SysResult<()> {
    let new = new.read(&thread.memory())?;
    change(thread, thread.process(), resource as usize, new)
}

/// Reads and changes a limit of any process.
pub(crate) fn prlimit64(
    thread: &Rc<Thread>,
    pid: i32,
    resource: u32,
    new: UserPtr<Rlimit>,
    old: UserPtr<Rlimit>,
) -> SysResult<()> {
    let memory = thread.memory();
    let new = new.non_null().map(|new| new.read(&memory)).transpose()?;
    let process = target(thread, pid)?;
    let previous = process.limit(resource as usize)?;
    if let Some(new) = new {
        change(thread, &process, resource as usize, new)?;
    }
    old.write_if_wanted(&memory, &previous)
}

fn target(thread: &Rc<Thread>, pid: i32) -> SysResult<Rc<Process>> {
    if pid == 0 {
        return Ok(Rc::clone(thread.process()));
    }
    let pid = u32::try_from(pid).map_err(|_| Errno::ESRCH)?;
    let other = thread.kernel().ids.thread(Pid(pid)).ok_or(Errno::ESRCH)?;
    if !Rc::ptr_eq(other.process(), thread.process()) {
        let (mine, theirs) = (thread.credentials(), other.credentials());
        let same_user = [theirs.uid, theirs.euid, theirs.suid].iter().all(|&id| id == mine.uid);
        let same_group = [theirs.gid, theirs.egid, theirs.sgid].iter().all(|&id| id == mine.gid);
        if !(same_user && same_group || mine.has(cap::SYS_RESOURCE)) {
            return Err(Errno::EPERM);
        }
    }
    Ok(Rc::clone(other.process()))
}

fn change(
    thread: &Rc<Thread>,
    process: &Rc<Process>,
    resource: usize,
    mut new: Rlimit,
) -> SysResult<()> {
    let old = process.limit(resource)?;
    if new.current > new.maximum {
        return Err(Errno::EINVAL);
    }
    if resource == rlimit::NOFILE && new.maximum > u64::from(NR_OPEN) {
        return Err(Errno::EPERM);
    }
    if new.maximum > old.maximum && !thread.credentials().has(cap::SYS_RESOURCE) {
        return Err(Errno::EPERM);
    }
    if resource == rlimit::CPU && new.current == 0 {
        // Zero would mean that it is exceeded before it could be noticed.
        new.current = 1;
    }
    process.set_limit(resource, new);
    if matches!(resource, rlimit::AS | rlimit::DATA)
        && let Some(thread) = process.any_thread()
    {
        let current = |resource| process.limit(resource).map_or(u64::MAX, |limit| limit.current);
        thread.machine().set_memory_limits(current(rlimit::AS), current(rlimit::DATA));
    }
    Ok(())
}
