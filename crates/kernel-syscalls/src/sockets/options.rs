//! `getsockopt(2)`, `setsockopt(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_sockets::Socket;
use kernel_tasks::Thread;
use linux_abi::sockets::{so, sol};
use linux_abi::{Errno, Fd, SysResult};

use super::caller::Calling;

/// No option is longer.
const MAX_OPTION: usize = 16 << 10;

/// Reads an option.
pub(crate) fn getsockopt(
    thread: &Rc<Thread>,
    fd: Fd,
    level: i32,
    name: i32,
    value: UserPtr<u8>,
    length: UserPtr<i32>,
) -> SysResult<()> {
    let memory = thread.memory();
    let file = thread.file(fd)?;
    let socket = Socket::of(&file)?;
    let room = length.read(&memory)?;
    let room = usize::try_from(room).map_err(|_| Errno::EINVAL)?;
    let bytes = socket.get_option(level, name)?;
    let real_length = i32::try_from(bytes.len()).map_err(|_| Errno::EINVAL)?;
    if level == sol::SOCKET && room < bytes.len() {
        match name {
            so::PEERGROUPS => {
                length.write(&memory, &real_length)?;
                return Err(Errno::ERANGE);
            }
            so::PEERNAME | so::COOKIE | so::BINDTODEVICE => return Err(Errno::EINVAL),
            _ => {}
        }
    }
    let room = match room {
        // Small numbers of IPv4 fit into less than a number.
        1..4 if level == sol::IP && matches!(*bytes, [_, 0, 0, 0]) => 1,
        room => room,
    };
    let shown = bytes.get(..room.min(bytes.len())).unwrap_or_default();
    value.write_many(&memory, shown)?;
    length.write(&memory, &i32::try_from(shown.len()).unwrap_or(real_length))
}

/// Sets an option.
pub(crate) fn setsockopt(
    thread: &Rc<Thread>,
    fd: Fd,
    level: i32,
    name: i32,
    value: UserPtr<u8>,
    length: i32,
) -> SysResult<()> {
    let length = usize::try_from(length).map_err(|_| Errno::EINVAL)?;
    let file = thread.file(fd)?;
    let socket = Socket::of(&file)?;
    let bytes = value.read_many(&thread.memory(), length.min(MAX_OPTION))?;
    socket.set_option(&Calling(thread), level, name, &bytes)
}
