//! Waiting for a socket.

use kernel_core::timers::{self, Instant};
use kernel_core::wait::PollEvents;
use kernel_files::OpenFile;
use kernel_sockets::SocketOps;
use kernel_sockets::socket::Patience;
use kernel_tasks::Thread;
use linux_abi::sockets::{MessageFlags, af};
use linux_abi::{Errno, Interrupted, Restart, SysResult, WaitResult};

/// For how long a call on a socket waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub(super) patience: Patience,
    /// When it gives up.
    deadline: Option<Instant>,
}

impl Limit {
    /// For a call that receives, or accepts.
    pub(super) fn of_receiving(
        file: &OpenFile,
        socket: &dyn SocketOps,
        flags: MessageFlags,
    ) -> Self {
        // Nobody waits for errors: there are some, or there are none.
        let is_inet = matches!(socket.common().domain, af::INET | af::INET6);
        let asks_for_errors = is_inet && flags.contains(MessageFlags::ERRQUEUE);
        let flags = if asks_for_errors { flags | MessageFlags::DONTWAIT } else { flags };
        Self::new(file, socket.common().options.receive_timeout.get(), flags)
    }

    /// For a call that sends, or connects.
    pub(super) fn of_sending(file: &OpenFile, socket: &dyn SocketOps, flags: MessageFlags) -> Self {
        Self::new(file, socket.common().options.send_timeout.get(), flags)
    }

    fn new(file: &OpenFile, nanos: u64, flags: MessageFlags) -> Self {
        let never = file.is_nonblocking() || flags.contains(MessageFlags::DONTWAIT);
        Self {
            patience: if never { Patience::Never } else { Patience::Waits },
            deadline: (nanos > 0 && !never).then(|| timers::now().after(nanos)),
        }
    }
}

/// Waits until `events` may be ready; `EAGAIN` if the call may not wait (any longer).
pub(super) async fn wait(
    thread: &Thread,
    socket: &dyn SocketOps,
    events: PollEvents,
    limit: Limit,
) -> WaitResult {
    if limit.patience == Patience::Never {
        return Err(Errno::EAGAIN.into());
    }
    let wait = socket.common().queue.wait_exclusive(events);
    match thread.interruptible_until(Restart::IfAsked, limit.deadline, wait).await {
        Ok(Some(())) => Ok(()),
        Ok(None) => Err(Errno::EAGAIN.into()),
        // A wait that has a limit is not begun anew after a signal; see signal(7).
        Err(Interrupted::Signal(_)) if limit.deadline.is_some() => Err(Errno::EINTR.into()),
        Err(interrupted) => Err(interrupted),
    }
}

/// Repeats `attempt` until it says something else than `EAGAIN`.
pub(super) async fn retry<T>(
    thread: &Thread,
    socket: &dyn SocketOps,
    events: PollEvents,
    limit: Limit,
    mut attempt: impl FnMut() -> SysResult<T>,
) -> WaitResult<T> {
    loop {
        match attempt() {
            Err(Errno::EAGAIN) => wait(thread, socket, events, limit).await?,
            result => return Ok(result?),
        }
    }
}
