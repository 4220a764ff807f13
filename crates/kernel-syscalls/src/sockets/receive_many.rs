//! `recvmmsg(2)`.
//!
//! The time limit is looked at only between messages, as in Linux: a call that waits for its
//! first message waits for as long as it takes.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::timers::{self, Instant};
use kernel_sockets::Socket;
use kernel_tasks::Thread;
use linux_abi::sockets::{MessageFlags, MmsgHdr, MsgHdr, UIO_MAXIOV};
use linux_abi::time::Timespec;
use linux_abi::{Errno, Fd, Interrupted, WaitResult};

use super::receive::receive_message;
use super::waiting::Limit;

/// Receives up to `n` messages. An error after the first is left for the next call.
pub(crate) async fn recvmmsg(
    thread: Rc<Thread>,
    fd: Fd,
    messages: UserPtr<MmsgHdr>,
    n: u32,
    flags: u32,
    timeout: UserPtr<Timespec>,
) -> WaitResult<usize> {
    let mut flags = MessageFlags::from_bits_retain(flags);
    if flags.contains(MessageFlags::CMSG_COMPAT) {
        return Err(Errno::EINVAL.into());
    }
    let deadline = match timeout.non_null() {
        Some(timeout) => {
            let nanos = timeout.read(&thread.memory())?.to_nanos().ok_or(Errno::EINVAL)?;
            Some(timers::now().after(nanos))
        }
        None => None,
    };
    let file = thread.file(fd)?;
    let socket = Socket::of(&file)?;
    socket.common().take_error()?;
    let n = usize::try_from(n).unwrap_or(UIO_MAXIOV).min(UIO_MAXIOV);
    let waits_for_one = flags.contains(MessageFlags::WAITFORONE);
    flags.remove(MessageFlags::WAITFORONE);
    let mut n_received = 0;
    while n_received < n {
        let message = messages.offset(n_received);
        let limit = Limit::of_receiving(&file, &**socket, flags);
        let received =
            receive_message(&thread, &file, message.cast::<MsgHdr>(), flags, limit).await;
        let length = match received {
            Ok(length) => u32::try_from(length).unwrap_or(u32::MAX),
            Err(error) if n_received == 0 => return Err(error),
            Err(Interrupted::Errno(errno)) if errno != Errno::EAGAIN => {
                socket.common().set_error(errno);
                break;
            }
            Err(_) => break,
        };
        let at = UserPtr::new(message.address() + size_of::<MsgHdr>() as u64);
        at.write(&thread.memory(), &length)?;
        n_received += 1;
        if waits_for_one {
            flags |= MessageFlags::DONTWAIT;
        }
        if deadline.is_some_and(|deadline| timers::now() >= deadline) {
            break;
        }
    }
    if let Some(deadline) = deadline {
        write_rest(&thread, timeout, deadline)?;
    }
    Ok(n_received)
}

fn write_rest(thread: &Rc<Thread>, timeout: UserPtr<Timespec>, deadline: Instant) -> WaitResult {
    let rest = deadline.0.saturating_sub(timers::now().0);
    Ok(timeout.write(&thread.memory(), &Timespec::from_nanos(rest))?)
}
