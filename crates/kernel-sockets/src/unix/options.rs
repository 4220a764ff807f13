//! Options and requests that are special to Unix sockets.

use kernel_core::memory::UserPtr;
use kernel_files::Ioctl;
use linux_abi::sockets::{Ucred, sioc, so, sock, sol};
use linux_abi::{Errno, SysResult};
use zerocopy::IntoBytes;

use super::UnixSocket;
use super::socket::{Inbox, State};
use crate::options::{self, bytes_of, int_bytes};
use crate::{Caller, SocketOps};

/// Reads an option.
pub(super) fn get(socket: &UnixSocket, level: i32, name: i32) -> SysResult<Vec<u8>> {
    if level != sol::SOCKET {
        return Err(Errno::EOPNOTSUPP);
    }
    match name {
        so::PEERCRED => {
            let identity = socket.peer_identity.borrow();
            let nobody = Ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
            Ok(bytes_of(&identity.as_ref().map_or(nobody, |identity| identity.ucred)))
        }
        so::PEERGROUPS => {
            let identity = socket.peer_identity.borrow();
            let identity = identity.as_ref().ok_or(Errno::ENODATA)?;
            Ok(identity.groups.as_bytes().to_vec())
        }
        so::PEERNAME => socket.peer_name().map(|name| name.to_vec()),
        so::ACCEPTCONN => Ok(int_bytes(i32::from(socket.state.get() == State::Listening))),
        _ => options::get(socket.common(), name),
    }
}

/// Sets an option.
pub(super) fn set(
    socket: &UnixSocket,
    caller: &dyn Caller,
    level: i32,
    name: i32,
    value: &[u8],
) -> SysResult<()> {
    if level != sol::SOCKET {
        return Err(Errno::EOPNOTSUPP);
    }
    match name {
        so::REUSEPORT if options::int_value(value)? != 0 => Err(Errno::EOPNOTSUPP),
        so::ZEROCOPY => Err(Errno::EOPNOTSUPP),
        _ => options::set(socket.common(), caller, name, value),
    }
}

/// Answers an `ioctl`.
pub(super) fn ioctl(socket: &UnixSocket, ioctl: &Ioctl<'_>) -> SysResult<u64> {
    let n_bytes = match ioctl.command {
        sioc::SIOCINQ if socket.state.get() == State::Listening => return Err(Errno::EINVAL),
        sioc::SIOCINQ => match &socket.inbox {
            Inbox::Stream(inbox) => inbox.borrow().len(),
            Inbox::Packets(inbox) if socket.common().kind == sock::SEQPACKET => {
                inbox.borrow().n_bytes()
            }
            Inbox::Packets(inbox) => inbox.borrow().first_len(),
        },
        sioc::SIOCOUTQ => socket.n_unread(),
        sioc::SIOCATMARK => 0,
        // Any socket can be asked about interfaces, and `if_nametoindex(3)` asks one of these.
        _ => return crate::inet::interface_request(socket.common(), ioctl),
    };
    let n_bytes = i32::try_from(n_bytes).unwrap_or(i32::MAX);
    UserPtr::new(ioctl.argument).write(ioctl.memory, &n_bytes)?;
    Ok(0)
}
