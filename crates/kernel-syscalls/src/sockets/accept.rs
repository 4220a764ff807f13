//! `listen(2)`, `accept(2)`, `accept4(2)`, `shutdown(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::wait::PollEvents;
use kernel_sockets::Socket;
use kernel_sockets::common::Shutdown;
use kernel_tasks::Thread;
use linux_abi::sockets::{MessageFlags, sock};
use linux_abi::{Errno, Fd, SysResult, WaitResult};

use super::caller::Calling;
use super::waiting::{Limit, retry};
use super::{create, name};

/// Lets others connect to a socket.
pub(crate) fn listen(thread: &Rc<Thread>, fd: Fd, backlog: i32) -> SysResult<()> {
    let file = thread.file(fd)?;
    // A negative number counts as a huge one.
    Socket::of(&file)?.listen(&Calling(thread), backlog.cast_unsigned())
}

/// Takes the next connection, and tells who made it.
pub(crate) async fn accept(
    thread: Rc<Thread>,
    fd: Fd,
    address: UserPtr<u8>,
    length: UserPtr<i32>,
) -> WaitResult<Fd> {
    accept4(thread, fd, address, length, 0).await
}

/// Like [`accept`], with `SOCK_NONBLOCK` and `SOCK_CLOEXEC` for the new socket.
pub(crate) async fn accept4(
    thread: Rc<Thread>,
    fd: Fd,
    address: UserPtr<u8>,
    length: UserPtr<i32>,
    flags: u32,
) -> WaitResult<Fd> {
    if flags & !(sock::CLOEXEC | sock::NONBLOCK) != 0 {
        return Err(Errno::EINVAL.into());
    }
    let file = thread.file(fd)?;
    let socket = Socket::of(&file)?;
    // Before a connection is taken that could then not be handed out.
    thread.files().borrow().find_free(0, thread.descriptor_limit())?;
    let limit = Limit::of_receiving(&file, &**socket, MessageFlags::empty());
    let accepted =
        retry(&thread, &**socket, PollEvents::READABLE, limit, || socket.accept()).await?;
    let peer_name = if address.is_null() { None } else { Some(accepted.accepted_name()) };
    let new = create::open(&thread, accepted, flags)?;
    if let Some(peer_name) = peer_name {
        let written = peer_name
            .map_err(|_| Errno::ECONNABORTED)
            .and_then(|peer_name| name::write(&thread.memory(), &peer_name, address, length));
        if let Err(errno) = written {
            let removed = thread.files().borrow_mut().remove(new);
            drop(removed);
            return Err(errno.into());
        }
    }
    Ok(new)
}

/// Ends one half of a connection, or both.
pub(crate) fn shutdown(thread: &Rc<Thread>, fd: Fd, how: i32) -> SysResult<()> {
    let file = thread.file(fd)?;
    let socket = Socket::of(&file)?;
    socket.shutdown(Shutdown::from_guest(how)?)
}
