//! `socket(2)`, `socketpair(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_sockets::{Socket, SocketOps, create, create_pair};
use kernel_tasks::Thread;
use linux_abi::files::OpenFlags;
use linux_abi::sockets::sock;
use linux_abi::{Errno, Fd, SysResult};

use super::caller::Calling;

/// Makes a socket.
pub(crate) fn socket(thread: &Rc<Thread>, family: i32, kind: u32, protocol: i32) -> SysResult<Fd> {
    let (kind, flags) = split(kind)?;
    let ops = create(&thread.network(), &Calling(thread), family, kind, protocol)?;
    open(thread, ops, flags)
}

/// Makes two sockets that are connected to each other.
pub(crate) fn socketpair(
    thread: &Rc<Thread>,
    family: i32,
    kind: u32,
    protocol: i32,
    fds: UserPtr<[i32; 2]>,
) -> SysResult<()> {
    let (kind, flags) = split(kind)?;
    let network = &thread.network();
    let (first, second) = create_pair(network, &Calling(thread), family, kind, protocol)?;
    let first = open(thread, first, flags)?;
    let second = open(thread, second, flags).inspect_err(|_| close(thread, first))?;
    fds.write(&thread.memory(), &[first.0, second.0]).inspect_err(|_| {
        close(thread, first);
        close(thread, second);
    })
}

/// The type, and the flags that came with it.
pub(super) fn split(kind: u32) -> SysResult<(u32, u32)> {
    let flags = kind & !sock::TYPE_MASK;
    if flags & !(sock::CLOEXEC | sock::NONBLOCK) != 0 {
        return Err(Errno::EINVAL);
    }
    Ok((kind & sock::TYPE_MASK, flags))
}

/// Gives a socket a descriptor. `flags` are `SOCK_NONBLOCK` and `SOCK_CLOEXEC`.
pub(super) fn open(thread: &Rc<Thread>, ops: Rc<dyn SocketOps>, flags: u32) -> SysResult<Fd> {
    let mut extra = OpenFlags::empty();
    extra.set(OpenFlags::NONBLOCK, flags & sock::NONBLOCK != 0);
    thread.add_file(Socket::open(ops, extra), flags & sock::CLOEXEC != 0)
}

fn close(thread: &Rc<Thread>, fd: Fd) {
    let removed = thread.files().borrow_mut().remove(fd);
    drop(removed);
}
