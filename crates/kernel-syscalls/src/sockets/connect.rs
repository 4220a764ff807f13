//! `bind(2)`, `connect(2)`, `getsockname(2)`, `getpeername(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::wait::PollEvents;
use kernel_sockets::Socket;
use kernel_sockets::socket::Patience;
use kernel_tasks::Thread;
use linux_abi::sockets::MessageFlags;
use linux_abi::{Errno, Fd, Interrupted, SysResult, WaitResult};

use super::caller::Calling;
use super::name;
use super::waiting::{Limit, wait};

/// Gives a socket a name.
pub(crate) fn bind(
    thread: &Rc<Thread>,
    fd: Fd,
    address: UserPtr<u8>,
    length: i32,
) -> SysResult<()> {
    let file = thread.file(fd)?;
    let socket = Socket::of(&file)?;
    let name = name::read(&thread.memory(), address, length)?;
    socket.bind(&Calling(thread), &name)
}

/// Connects a socket. A connection that takes time is `EINPROGRESS` for those who do not wait.
pub(crate) async fn connect(
    thread: Rc<Thread>,
    fd: Fd,
    address: UserPtr<u8>,
    length: i32,
) -> WaitResult<()> {
    let file = thread.file(fd)?;
    let socket = Socket::of(&file)?;
    let name = name::read(&thread.memory(), address, length)?;
    let limit = Limit::of_sending(&file, &**socket, MessageFlags::empty());
    loop {
        let errno = match socket.connect(&Calling(&thread), &name, limit.patience) {
            Err(errno @ (Errno::EAGAIN | Errno::EINPROGRESS | Errno::EALREADY)) => errno,
            result => return Ok(result?),
        };
        if limit.patience == Patience::Never {
            return Err(errno.into());
        }
        let events = PollEvents::WRITABLE;
        match wait(&thread, &**socket, events, limit).await {
            Err(Interrupted::Errno(Errno::EAGAIN)) if errno != Errno::EAGAIN => {
                return Err(Errno::EINPROGRESS.into());
            }
            result => result?,
        }
    }
}

/// A socket's own name.
pub(crate) fn getsockname(
    thread: &Rc<Thread>,
    fd: Fd,
    address: UserPtr<u8>,
    length: UserPtr<i32>,
) -> SysResult<()> {
    let file = thread.file(fd)?;
    let name = Socket::of(&file)?.local_name()?;
    name::write(&thread.memory(), &name, address, length)
}

/// The name at the other end of a connection.
pub(crate) fn getpeername(
    thread: &Rc<Thread>,
    fd: Fd,
    address: UserPtr<u8>,
    length: UserPtr<i32>,
) -> SysResult<()> {
    let file = thread.file(fd)?;
    let name = Socket::of(&file)?.peer_name()?;
    name::write(&thread.memory(), &name, address, length)
}
