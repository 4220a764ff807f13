//! `mlock(2)`, `mlock2(2)`, `munlock(2)`, `mlockall(2)`, `munlockall(2)`.
//!
//! The limit is the guest's; no memory of the host is really locked, because a guest could then
//! keep it from everybody else. What a program can observe of that is time only.

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_tasks::Thread;
use linux_abi::tasks::rlimit;
use linux_abi::{Errno, SysResult};

const PAGE: u64 = 4096;
const MLOCK_ONFAULT: u32 = 1;
const MCL_CURRENT: u32 = 1;
const MCL_FUTURE: u32 = 2;
const MCL_ONFAULT: u32 = 4;

pub(crate) fn mlock(thread: &Rc<Thread>, address: u64, length: u64) -> SysResult<()> {
    lock(thread, address, length)
}

pub(crate) fn mlock2(thread: &Rc<Thread>, address: u64, length: u64, flags: u32) -> SysResult<()> {
    if flags & !MLOCK_ONFAULT != 0 {
        return Err(Errno::EINVAL);
    }
    lock(thread, address, length)
}

pub(crate) fn munlock(thread: &Rc<Thread>, address: u64, length: u64) -> SysResult<()> {
    let (start, end) = pages(address, length)?;
    check_mapped(thread, start, end, Needs::Mapping)
}

pub(crate) fn mlockall(thread: &Rc<Thread>, flags: u32) -> SysResult<()> {
    let known = MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT;
    if flags == 0 || flags & !known != 0 || flags == MCL_ONFAULT {
        return Err(Errno::EINVAL);
    }
    let limit = lock_limit(thread)?;
    if limit == 0 {
        return Err(Errno::EPERM);
    }
    let resident = thread.machine().resident_bytes();
    if flags & MCL_CURRENT != 0 && resident > limit {
        return Err(Errno::ENOMEM);
    }
    Ok(())
}

pub(crate) fn munlockall(_thread: &Rc<Thread>) -> SysResult<()> {
    Ok(())
}

fn lock(thread: &Rc<Thread>, address: u64, length: u64) -> SysResult<()> {
    let limit = lock_limit(thread)?;
    if limit == 0 {
        return Err(Errno::EPERM);
    }
    let (start, end) = pages(address, length)?;
    if end - start > limit {
        return Err(Errno::ENOMEM);
    }
    check_mapped(thread, start, end, Needs::Access)
}

/// `RLIMIT_MEMLOCK`; without bound for who has `CAP_IPC_LOCK`.
pub(super) fn lock_limit(thread: &Thread) -> SysResult<u64> {
    if thread.credentials().has(cap::IPC_LOCK) {
        return Ok(u64::MAX);
    }
    Ok(thread.process().limit(rlimit::MEMLOCK)?.current)
}

fn pages(address: u64, length: u64) -> SysResult<(u64, u64)> {
    let start = address / PAGE * PAGE;
    let end = address.checked_add(length).ok_or(Errno::EINVAL)?;
    let end = end.checked_next_multiple_of(PAGE).ok_or(Errno::EINVAL)?;
    Ok((start, end))
}

/// What every page of a range must have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// It is mapped.
    Mapping,
    /// It is mapped and can be brought into memory, as one without any access cannot.
    Access,
}

/// `ENOMEM` if any page of the range has not what it needs.
fn check_mapped(thread: &Thread, start: u64, end: u64, needs: Needs) -> SysResult<()> {
    let text = thread.machine().maps_text();
    let mut at = start;
    for line in text.split(|&byte| byte == b'\n') {
        let Some((from, to)) = range_of(line) else { continue };
        if from <= at && at < to {
            let is_closed = line.windows(5).any(|word| word == b" ---p" || word == b" ---s");
            if is_closed && needs == Needs::Access {
                return Err(Errno::ENOMEM);
            }
            at = to;
        }
        if at >= end {
            return Ok(());
        }
    }
    if at >= end { Ok(()) } else { Err(Errno::ENOMEM) }
}

/// The addresses at the start of a line of `/proc/<pid>/maps`.
fn range_of(line: &[u8]) -> Option<(u64, u64)> {
    let text = std::str::from_utf8(line.split(|&byte| byte == b' ').next()?).ok()?;
    let (from, to) = text.split_once('-')?;
    Some((u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?))
}
