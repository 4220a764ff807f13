//! `pipe(2)`, `pipe2(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_events::pipe::Owner;
use kernel_tasks::Thread;
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, Fd, SysResult};

/// Makes a pipe; the two descriptors are written to `fds`, the reading one first.
pub(crate) fn pipe(thread: &Rc<Thread>, fds: UserPtr<[i32; 2]>) -> SysResult<()> {
    pipe2(thread, fds, 0)
}

/// Like [`pipe`], with `O_CLOEXEC`, `O_NONBLOCK` and `O_DIRECT` (packets).
pub(crate) fn pipe2(thread: &Rc<Thread>, fds: UserPtr<[i32; 2]>, flags: u32) -> SysResult<()> {
    // `O_NOTIFICATION_PIPE` (which is `O_EXCL`) needs the key service, which no sandbox has.
    let known = OpenFlags::CLOEXEC | OpenFlags::NONBLOCK | OpenFlags::DIRECT;
    let flags = OpenFlags::from_bits(flags).ok_or(Errno::EINVAL)?;
    if !known.contains(flags) {
        return Err(Errno::EINVAL);
    }
    let close_on_exec = flags.contains(OpenFlags::CLOEXEC);
    let who = thread.credentials();
    let owner = Owner { uid: who.fsuid, gid: who.fsgid };
    let (reader, writer) = kernel_events::pipe::pipe(flags, owner);
    let reading = thread.add_file(reader, close_on_exec)?;
    let writing =
        thread.add_file(writer, close_on_exec).inspect_err(|_| remove(thread, reading))?;
    fds.write(&thread.memory(), &[reading.0, writing.0]).inspect_err(|_| {
        remove(thread, reading);
        remove(thread, writing);
    })
}

/// Takes a descriptor back that the guest has not seen.
fn remove(thread: &Rc<Thread>, fd: Fd) {
    // The table must not be borrowed when the file is dropped: that may wake others.
    let file = thread.files().borrow_mut().remove(fd);
    drop(file);
}
