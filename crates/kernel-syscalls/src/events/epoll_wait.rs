//! `epoll_wait(2)`, `epoll_pwait(2)`, `epoll_pwait2(2)`.
//!
//! An interrupted wait is `EINTR`, whatever the handler was installed with.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::wait::PollEvents;
use kernel_events::epoll::Epoll;
use kernel_files::OpenFile;
use kernel_tasks::Thread;
use linux_abi::events::EpollEvent;
use linux_abi::time::Timespec;
use linux_abi::{Errno, Fd, Interrupted, Restart, SysResult, WaitResult};

use super::epoll::epoll_of;
use super::wait_arguments::{Timeout, read_mask};

/// The most events that one call may ask for.
const MAX_EVENTS: usize = i32::MAX as usize / size_of::<EpollEvent>();

/// Waits until a watched file is ready, for at most `timeout` milliseconds.
pub(crate) async fn epoll_wait(
    thread: Rc<Thread>,
    epoll_fd: Fd,
    events: UserPtr<EpollEvent>,
    max: i32,
    timeout: i32,
) -> WaitResult<usize> {
    wait(&thread, epoll_fd, events, max, Timeout::from_millis(timeout)).await
}

/// Like [`epoll_wait`], under another signal mask.
pub(crate) async fn epoll_pwait(
    thread: Rc<Thread>,
    epoll_fd: Fd,
    events: UserPtr<EpollEvent>,
    max: i32,
    timeout: i32,
    mask: UserPtr<u64>,
    mask_size: u64,
) -> WaitResult<usize> {
    let mask = read_mask(&thread, mask, mask_size)?;
    let call = wait(&thread, epoll_fd, events, max, Timeout::from_millis(timeout));
    thread.with_mask(mask, call).await
}

/// Like [`epoll_pwait`], to the nanosecond.
pub(crate) async fn epoll_pwait2(
    thread: Rc<Thread>,
    epoll_fd: Fd,
    events: UserPtr<EpollEvent>,
    max: i32,
    timespec: UserPtr<Timespec>,
    mask: UserPtr<u64>,
    mask_size: u64,
) -> WaitResult<usize> {
    let timeout = Timeout::from_timespec(&thread, timespec)?;
    let mask = read_mask(&thread, mask, mask_size)?;
    let call = wait(&thread, epoll_fd, events, max, timeout);
    thread.with_mask(mask, call).await
}

async fn wait(
    thread: &Rc<Thread>,
    epoll_fd: Fd,
    events: UserPtr<EpollEvent>,
    max: i32,
    timeout: Timeout,
) -> WaitResult<usize> {
    let max = usize::try_from(max).map_err(|_| Errno::EINVAL)?;
    if max == 0 || max > MAX_EVENTS {
        return Err(Errno::EINVAL.into());
    }
    let file = thread.file(epoll_fd)?;
    let epoll = epoll_of(&file)?;
    let _leaving = PassOn(&file);
    loop {
        let n = deliver(thread, epoll, events, max)?;
        if n == 0 && timeout == Timeout::Zero {
            epoll.told_of_nothing();
        }
        if n > 0 || timeout == Timeout::Zero {
            return Ok(n);
        }
        let woken = epoll.wait_queue().wait_exclusive(PollEvents::READABLE);
        let waited = thread.interruptible_until(Restart::IfAsked, timeout.deadline(), woken).await;
        match waited {
            Ok(Some(())) => {}
            Ok(None) => return Ok(deliver(thread, epoll, events, max)?),
            Err(Interrupted::Signal(_)) => return Err(Errno::EINTR.into()),
            Err(error) => return Err(error),
        }
    }
}

/// Hands out what is ready. What does not reach the guest stays ready.
fn deliver(
    thread: &Rc<Thread>,
    epoll: &Epoll,
    events: UserPtr<EpollEvent>,
    max: usize,
) -> SysResult<usize> {
    if !epoll.may_be_ready() {
        return Ok(0);
    }
    let harvest = epoll.harvest(max);
    let n = harvest.events.len();
    if n == 0 {
        return Ok(0);
    }
    let written = events.write_many(&thread.memory(), &harvest.events);
    epoll.settle(harvest, if written.is_ok() { n } else { 0 });
    written.map(|()| n)
}

/// Passes a wake-up on to the next waiter when this one leaves.
struct PassOn<'a>(&'a OpenFile);

impl Drop for PassOn<'_> {
    fn drop(&mut self) {
        if let Some(epoll) = self.0.ops_as::<Epoll>() {
            epoll.pass_on();
        }
    }
}
