//! `poll(2)`, `ppoll(2)`.
//!
//! `poll` that is interrupted without a handler goes on with the time that is left; `ppoll` starts
//! again, from the time that it has written back.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::wait::PollEvents;
use kernel_events::poll::{Entry, PollSet};
use kernel_tasks::Thread;
use linux_abi::events::PollFd;
use linux_abi::time::Timespec;
use linux_abi::{Errno, Fd, Interrupted, Restart, SysResult, WaitResult};

use super::wait_arguments::{Timeout, read_mask};

/// Waits until one of the descriptors is ready, for at most `timeout` milliseconds.
pub(crate) async fn poll(
    thread: Rc<Thread>,
    fds: UserPtr<PollFd>,
    n_fds: u32,
    timeout: i32,
) -> WaitResult<u64> {
    poll_until(thread, fds, n_fds, Timeout::from_millis(timeout)).await
}

async fn poll_until(
    thread: Rc<Thread>,
    fds: UserPtr<PollFd>,
    n_fds: u32,
    timeout: Timeout,
) -> WaitResult<u64> {
    let result = poll_files(&thread, fds, n_fds, timeout, Restart::Continuation).await;
    if result == Err(Interrupted::Signal(Restart::Continuation)) {
        thread.set_continuation(Box::new(move |thread| {
            Box::pin(poll_until(thread, fds, n_fds, timeout))
        }));
    }
    result
}

/// Like [`poll`], to the nanosecond, and under another signal mask.
pub(crate) async fn ppoll(
    thread: Rc<Thread>,
    fds: UserPtr<PollFd>,
    n_fds: u32,
    timespec: UserPtr<Timespec>,
    mask: UserPtr<u64>,
    mask_size: u64,
) -> WaitResult<u64> {
    let timeout = Timeout::from_timespec(&thread, timespec)?;
    let mask = read_mask(&thread, mask, mask_size)?;
    let call = poll_files(&thread, fds, n_fds, timeout, Restart::IfNoHandler);
    let result = thread.with_mask(mask, call).await;
    write_time_left(&thread, timespec, timeout, result)
}

/// Tells the guest how much of its time is left. If that cannot be written, the call cannot be
/// run again with it.
pub(super) fn write_time_left<T>(
    thread: &Rc<Thread>,
    timespec: UserPtr<Timespec>,
    timeout: Timeout,
    result: WaitResult<T>,
) -> WaitResult<T> {
    let Some(left) = timeout.left() else { return result };
    match timespec.write(&thread.memory(), &Timespec::from_nanos(left)) {
        Err(_) if matches!(result, Err(Interrupted::Signal(_))) => Err(Errno::EINTR.into()),
        _ => result,
    }
}

async fn poll_files(
    thread: &Rc<Thread>,
    fds: UserPtr<PollFd>,
    n_fds: u32,
    timeout: Timeout,
    restart: Restart,
) -> WaitResult<u64> {
    if n_fds > thread.descriptor_limit() {
        return Err(Errno::EINVAL.into());
    }
    let n_fds = usize::try_from(n_fds).map_err(|_| Errno::EINVAL)?;
    let mut asked = fds.read_many(&thread.memory(), n_fds)?;
    let mut set = PollSet::new(asked.iter().map(|poll_fd| entry(thread, poll_fd)).collect());
    if !set.scan() && timeout != Timeout::Zero {
        thread.interruptible_until(restart, timeout.deadline(), set.wait()).await?;
    }
    let mut n_ready = 0;
    for (poll_fd, entry) in asked.iter_mut().zip(&set.entries) {
        poll_fd.revents = u16::try_from(entry.ready.bits()).unwrap_or(0);
        n_ready += u64::from(poll_fd.revents != 0);
    }
    write_back(thread, fds, &asked)?;
    Ok(n_ready)
}

fn entry(thread: &Rc<Thread>, poll_fd: &PollFd) -> Entry {
    if poll_fd.fd < 0 {
        return Entry::settled(PollEvents::empty());
    }
    let asked = PollEvents::from_bits_truncate(poll_fd.events.into());
    match thread.file(Fd(poll_fd.fd)) {
        // What tells of itself that it cannot be polled (a bare path) counts as not open.
        Ok(file) => Entry::of_file(file, asked | PollEvents::NVAL),
        Err(_) => Entry::settled(PollEvents::NVAL),
    }
}

fn write_back(thread: &Rc<Thread>, fds: UserPtr<PollFd>, answers: &[PollFd]) -> SysResult<()> {
    if answers.is_empty() { Ok(()) } else { fds.write_many(&thread.memory(), answers) }
}
