//! Record locks.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::wait::PollEvents;
use kernel_files::OpenFile;
use kernel_files::locks::{self, FileLocks, LockKind, LockOwner, RangeLock, RecordLock};
use kernel_tasks::Thread;
use linux_abi::files::{FileLock, fcntl as command, lock};
use linux_abi::{Errno, Restart, SysResult, WaitResult};

/// The largest position.
const MAX_OFFSET: i128 = i64::MAX as i128;

struct Request {
    locks: Rc<FileLocks>,
    guest: FileLock,
    owner: LockOwner,
    range: RangeLock,
    /// `None` unlocks.
    kind: Option<LockKind>,
    pid: u32,
}

impl Request {
    fn record(&self) -> Option<RecordLock> {
        let Self { range, owner, pid, .. } = *self;
        self.kind.map(|kind| RecordLock { range, kind, owner, pid })
    }
}

fn is_of_file(request: u32) -> bool {
    matches!(request, command::OFD_GETLK | command::OFD_SETLK | command::OFD_SETLKW)
}

fn read(thread: &Thread, file: &OpenFile, request: u32, argument: u64) -> SysResult<Request> {
    let guest: FileLock = UserPtr::new(argument).read(&thread.memory())?;
    if is_of_file(request) && guest.l_pid != 0 {
        return Err(Errno::EINVAL);
    }
    let base = match guest.l_whence {
        0 => 0,
        1 => file.offset(),
        2 => file.metadata()?.size,
        _ => return Err(Errno::EINVAL),
    };
    let range = to_range(i128::from(base), guest.l_start, guest.l_len)?;
    let kind = match guest.l_type {
        lock::READ => Some(LockKind::Shared),
        lock::WRITE => Some(LockKind::Exclusive),
        lock::UNLOCK => None,
        _ => return Err(Errno::EINVAL),
    };
    let (owner, pid) = if is_of_file(request) {
        (LockOwner::File(file.id()), u32::MAX)
    } else {
        (LockOwner::Table(thread.files().borrow().id()), thread.process().pid.0)
    };
    Ok(Request { locks: locks::of(file), guest, owner, range, kind, pid })
}

fn to_range(base: i128, start: i64, length: i64) -> SysResult<RangeLock> {
    let start = base + i128::from(start);
    let length = i128::from(length);
    let (first, last) = match length {
        0 => (start, i128::from(u64::MAX)),
        1.. => (start, start + length - 1),
        _ => (start + length, start - 1),
    };
    if first < 0 {
        return Err(Errno::EINVAL);
    }
    if first > MAX_OFFSET || (length != 0 && last > MAX_OFFSET) {
        return Err(Errno::EOVERFLOW);
    }
    let bound = |n| u64::try_from(n).map_err(|_| Errno::EINVAL);
    Ok(RangeLock { first: bound(first)?, last: bound(last)? })
}

/// `F_GETLK`: who keeps the caller from having this lock.
pub(super) fn find(
    thread: &Thread,
    file: &OpenFile,
    request: u32,
    argument: u64,
) -> SysResult<u64> {
    let wanted = read(thread, file, request, argument)?;
    let record = wanted.record().ok_or(Errno::EINVAL)?;
    let mut answer = wanted.guest;
    match wanted.locks.find_conflict(&record) {
        None => answer.l_type = lock::UNLOCK,
        Some(other) => {
            answer.l_type = if other.kind == LockKind::Shared { lock::READ } else { lock::WRITE };
            answer.l_whence = 0;
            answer.l_start = other.range.first.cast_signed();
            answer.l_len = match other.range.last {
                u64::MAX => 0,
                last => (last - other.range.first + 1).cast_signed(),
            };
            answer.l_pid = other.pid.cast_signed();
        }
    }
    UserPtr::new(argument).write(&thread.memory(), &answer)?;
    Ok(0)
}

fn attempt(wanted: &Request, file: &OpenFile) -> SysResult<()> {
    let Some(record) = wanted.record() else {
        wanted.locks.unlock(wanted.owner, wanted.range);
        return Ok(());
    };
    let is_allowed = match record.kind {
        LockKind::Shared => file.flags().can_read(),
        LockKind::Exclusive => file.flags().can_write(),
    };
    if is_allowed { wanted.locks.lock(&record) } else { Err(Errno::EBADF) }
}

/// `F_SETLK`.
pub(super) fn set(thread: &Thread, file: &OpenFile, request: u32, argument: u64) -> SysResult<u64> {
    let wanted = read(thread, file, request, argument)?;
    attempt(&wanted, file)?;
    Ok(0)
}

/// `F_SETLKW`.
pub(super) async fn set_and_wait(
    thread: &Thread,
    file: &OpenFile,
    request: u32,
    argument: u64,
) -> WaitResult<()> {
    let wanted = read(thread, file, request, argument)?;
    loop {
        match attempt(&wanted, file) {
            Err(Errno::EAGAIN) => {}
            result => return Ok(result?),
        }
        let holder = wanted.record().and_then(|record| wanted.locks.find_conflict(&record));
        let Some(holder) = holder else { continue };
        // Open files may be shared, so that a circle of them proves nothing.
        let _waiting = match wanted.owner {
            LockOwner::Table(_) => Some(locks::wait_for(wanted.owner, holder.owner)?),
            LockOwner::File(_) => None,
        };
        let wait = wanted.locks.queue.wait(PollEvents::MSG);
        thread.interruptible(Restart::IfAsked, wait).await?;
    }
}
