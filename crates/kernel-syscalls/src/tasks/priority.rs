//! `getpriority(2)`, `setpriority(2)`, `ioprio_get(2)`, `ioprio_set(2)`.
//!
//! Nice values are kept and told; the host schedules guest threads as it likes.

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_tasks::{Process, Thread};
use linux_abi::tasks::{priority_target, rlimit};
use linux_abi::{Errno, Pid, SysResult};

/// The threads that a priority call is about.
fn targets(thread: &Rc<Thread>, which: i32, who: i32) -> SysResult<Vec<Rc<Thread>>> {
    let ids = &thread.kernel().ids;
    let number = u32::try_from(who).ok();
    let found: Vec<Rc<Thread>> = match which {
        priority_target::PROCESS if who == 0 => vec![Rc::clone(thread)],
        priority_target::PROCESS => {
            number.and_then(|pid| ids.thread(Pid(pid))).into_iter().collect()
        }
        priority_target::PGRP => {
            let group = match who {
                0 => Some(thread.process().group()),
                _ => number.and_then(|pgid| ids.group(Pid(pgid))),
            };
            let members = group.map(|group| group.members()).unwrap_or_default();
            members.iter().flat_map(|process| process.threads()).collect()
        }
        priority_target::USER => {
            let uid = if who == 0 { thread.credentials().uid } else { number.unwrap_or(u32::MAX) };
            let all = ids.processes().into_iter().flat_map(|process| process.threads());
            all.filter(|thread| thread.credentials().uid == uid).collect()
        }
        _ => return Err(Errno::EINVAL),
    };
    if found.is_empty() { Err(Errno::ESRCH) } else { Ok(found) }
}

/// The process that has ended but is not reaped yet, if the call is about one.
fn ended_target(thread: &Thread, which: i32, who: i32) -> Option<Rc<Process>> {
    let pid = Pid(u32::try_from(who).ok().filter(|_| which == priority_target::PROCESS)?);
    thread.kernel().ids.process(pid).filter(|process| process.is_dead())
}

/// The most favourable priority of the targets, as 20 minus the nice value.
pub(crate) fn getpriority(thread: &Rc<Thread>, which: i32, who: i32) -> SysResult<i32> {
    if ended_target(thread, which, who).is_some() {
        return Ok(20);
    }
    let nice =
        targets(thread, which, who)?.iter().map(|target| target.attributes().scheduling.nice).min();
    Ok(20 - nice.unwrap_or(0))
}

/// Sets the nice value of the targets.
pub(crate) fn setpriority(thread: &Rc<Thread>, which: i32, who: i32, nice: i32) -> SysResult<()> {
    let nice = nice.clamp(-20, 19);
    if let Some(ended) = ended_target(thread, which, who) {
        let mine = thread.credentials();
        let may = mine.has(cap::SYS_NICE) || ended.uid() == mine.euid;
        return if may { Ok(()) } else { Err(Errno::EPERM) };
    }
    let mut result = Ok(());
    for target in targets(thread, which, who)? {
        if let Err(errno) = renice(thread, &target, nice) {
            result = Err(errno);
        }
    }
    result
}

pub(super) fn renice(thread: &Thread, target: &Thread, nice: i32) -> SysResult<()> {
    let (mine, theirs) = (thread.credentials(), target.credentials());
    let privileged = mine.has(cap::SYS_NICE);
    if !privileged && ![theirs.uid, theirs.euid].contains(&mine.euid) {
        return Err(Errno::EPERM);
    }
    if nice < target.attributes().scheduling.nice && !may_raise_to(target, nice) && !privileged {
        return Err(Errno::EACCES);
    }
    target.change_attributes(|attributes| attributes.scheduling.nice = nice);
    Ok(())
}

/// Whether `RLIMIT_NICE` allows this nice value.
pub(super) fn may_raise_to(target: &Thread, nice: i32) -> bool {
    let limit = target.process().limit(rlimit::NICE).map_or(0, |limit| limit.current);
    u64::try_from(20 - nice).is_ok_and(|needed| needed <= limit)
}

const IOPRIO_WHO_PROCESS: i32 = 1;

/// The I/O priority of a thread.
pub(crate) fn ioprio_get(thread: &Rc<Thread>, which: i32, who: i32) -> SysResult<u32> {
    // `ioprio` counts its targets from one, `getpriority` from zero.
    let found = targets(thread, which.wrapping_sub(IOPRIO_WHO_PROCESS), who)?;
    let first = found.first().ok_or(Errno::ESRCH)?;
    Ok(first.attributes().scheduling.io_priority.into())
}

/// Sets the I/O priority of threads.
pub(crate) fn ioprio_set(thread: &Rc<Thread>, which: i32, who: i32, value: u32) -> SysResult<()> {
    const CLASS_SHIFT: u32 = 13;
    const CLASS_REAL_TIME: u32 = 1;
    let value = u16::try_from(value).map_err(|_| Errno::EINVAL)?;
    let (class, level) = (u32::from(value) >> CLASS_SHIFT, value & 0x7);
    match class {
        0 if level != 0 => return Err(Errno::EINVAL),
        CLASS_REAL_TIME
            if !thread.credentials().has(cap::SYS_ADMIN)
                && !thread.credentials().has(cap::SYS_NICE) =>
        {
            return Err(Errno::EPERM);
        }
        0..=3 => {}
        _ => return Err(Errno::EINVAL),
    }
    for target in targets(thread, which.wrapping_sub(IOPRIO_WHO_PROCESS), who)? {
        let (mine, theirs) = (thread.credentials(), target.credentials());
        if theirs.uid != mine.euid && theirs.uid != mine.uid && !mine.has(cap::SYS_NICE) {
            return Err(Errno::EPERM);
        }
        target.change_attributes(|attributes| attributes.scheduling.io_priority = value);
    }
    Ok(())
}
