//! Options and requests that are special to TCP.

use kernel_core::memory::UserPtr;
use kernel_files::Ioctl;
use linux_abi::sockets::inet::{ipv6, tcp};
use linux_abi::sockets::{sioc, so, sol};
use linux_abi::{Errno, SysResult};

use super::{State, TcpSocket};
use crate::inet::requests;
use crate::options::{self, int_bytes};
use crate::{Caller, Common, SocketOps};

/// The sizes that Linux shows: of a new socket, and of a connection after it has grown.
const SEND_BUFFER: usize = 16_384;
const GROWN_SEND_BUFFER: usize = 2_626_560;
const RECEIVE_BUFFER: usize = 131_072;

/// The largest segment on the loopback interface.
const LOOPBACK_SEGMENT: u32 = 65_483;

/// The length of `struct tcp_info` as far as we fill it.
const INFO_LENGTH: usize = 248;

/// The ways to handle congestion, as they are told. There is none, so that they do not differ.
const CONGESTION: [&[u8; 16]; 2] =
    [b"cubic\0\0\0\0\0\0\0\0\0\0\0", b"reno\0\0\0\0\0\0\0\0\0\0\0\0"];

/// The smallest segment that can be asked for, and the smallest window.
const LEAST_SEGMENT: i32 = 88;
const LEAST_WINDOW: i32 = 1152;

pub(super) fn set_initial_buffers(common: &Common) {
    common.options.send_buffer.set(SEND_BUFFER);
    common.options.receive_buffer.set(RECEIVE_BUFFER);
}

pub(super) fn grow_buffers(common: &Common) {
    if common.options.locked_buffers.get() & 1 == 0 {
        common.options.send_buffer.set(GROWN_SEND_BUFFER);
    }
}

/// Reads an option.
pub(super) fn get(socket: &TcpSocket, level: i32, name: i32) -> SysResult<Vec<u8>> {
    match (level, name) {
        (sol::SOCKET, so::ACCEPTCONN) => {
            Ok(int_bytes(i32::from(socket.state.get() == State::Listening)))
        }
        (sol::SOCKET, so::PEERNAME) => socket.peer_name().map(|name| name.to_vec()),
        (sol::SOCKET, _) => options::get(&socket.common, name),
        (sol::TCP, tcp::INFO) => Ok(info(socket)),
        (sol::TCP, tcp::CONGESTION) => {
            let chosen = socket.identity.options.number(level, name);
            let name = usize::try_from(chosen).ok().and_then(|at| CONGESTION.get(at));
            Ok(name.map_or_else(Vec::new, |name| name.to_vec()))
        }
        (sol::TCP, tcp::ULP) => Ok(Vec::new()),
        (sol::TCP, tcp::MAXSEG) => {
            let given = socket.identity.options.number(level, name);
            let shown =
                if given == 0 { if socket.is_connected() { 32_768 } else { 536 } } else { given };
            Ok(int_bytes(shown))
        }
        _ => requests::get_option(&socket.common, &socket.identity, level, name),
    }
}

fn info(socket: &TcpSocket) -> Vec<u8> {
    let mut info = vec![0; INFO_LENGTH];
    let mut put = |at: usize, value: u32| {
        if let Some(place) = info.get_mut(at..at + 4) {
            place.copy_from_slice(&value.to_ne_bytes());
        }
    };
    put(8, 200_000); // rto, in microseconds
    put(12, 40_000); // ato
    put(16, LOOPBACK_SEGMENT / 2); // snd_mss
    put(20, LOOPBACK_SEGMENT / 2); // rcv_mss
    put(60, 65_535); // pmtu
    put(68, 20); // rtt
    put(72, 10); // rttvar
    put(76, i32::MAX.cast_unsigned()); // snd_ssthresh
    put(80, 10); // snd_cwnd
    put(84, LOOPBACK_SEGMENT); // advmss
    put(88, 3); // reordering
    if let Some(state) = info.first_mut() {
        *state = socket.state_number();
    }
    info
}

/// Sets an option.
pub(super) fn set(
    socket: &TcpSocket,
    caller: &dyn Caller,
    level: i32,
    name: i32,
    value: &[u8],
) -> SysResult<()> {
    match (level, name) {
        (sol::SOCKET, so::REUSEADDR | so::REUSEPORT) => {
            options::set(&socket.common, caller, name, value)?;
            let ports = &socket.common.network.tcp_ports;
            socket.identity.update_sharing(&socket.common, ports, caller);
            Ok(())
        }
        (sol::SOCKET, _) => options::set(&socket.common, caller, name, value),
        (sol::TCP, tcp::CONGESTION) => {
            let end = value.iter().position(|&byte| byte == 0).unwrap_or(value.len());
            let chosen = value.get(..end).filter(|name| !name.is_empty());
            let chosen = chosen.ok_or(Errno::ENOENT)?;
            let fits = |known: &&[u8; 16]| {
                known.strip_prefix(chosen).is_some_and(|rest| rest.first() == Some(&0))
            };
            let at = CONGESTION.iter().position(fits).ok_or(Errno::ENOENT)?;
            let at = int_bytes(i32::try_from(at).map_err(|_| Errno::ENOENT)?);
            socket.identity.options.set(caller, level, name, &at)
        }
        (sol::TCP, tcp::MAXSEG) => match options::int_value(value)? {
            1..LEAST_SEGMENT => Err(Errno::EINVAL),
            _ => socket.identity.options.set(caller, level, name, value),
        },
        (sol::TCP, tcp::CORK) => {
            socket.identity.options.set(caller, level, name, value)?;
            socket.is_corked.set(socket.identity.options.is_on(level, name));
            if !socket.is_corked.get() {
                socket.send_held();
            }
            Ok(())
        }
        (sol::TCP, tcp::NODELAY) => {
            socket.identity.options.set(caller, level, name, value)?;
            if socket.identity.options.is_on(level, name) {
                socket.send_held();
            }
            Ok(())
        }
        (sol::TCP, tcp::WINDOW_CLAMP) => {
            let window = match options::int_value(value)? {
                0 if socket.state.get() != State::Closed => return Err(Errno::EINVAL),
                0 => 0,
                other => other.max(LEAST_WINDOW),
            };
            socket.identity.options.set(caller, level, name, &int_bytes(window))
        }
        (sol::TCP, tcp::ULP) => Err(Errno::ENOENT),
        (sol::IPV6, ipv6::V6ONLY) if socket.identity.binding.get().is_some() => Err(Errno::EINVAL),
        _ => requests::set_option(&socket.common, &socket.identity, caller, level, name, value),
    }
}

/// Answers an `ioctl`.
pub(super) fn ioctl(socket: &TcpSocket, ioctl: &Ioctl<'_>) -> SysResult<u64> {
    let number = match ioctl.command {
        sioc::SIOCINQ | sioc::SIOCOUTQ | sioc::SIOCOUTQNSD
            if socket.state.get() == State::Listening =>
        {
            return Err(Errno::EINVAL);
        }
        sioc::SIOCINQ => match &*socket.host.borrow() {
            Some(host) => host.n_readable(),
            None => socket.n_arrived(),
        },
        sioc::SIOCOUTQ | sioc::SIOCOUTQNSD => socket.shown_state().1,
        sioc::SIOCATMARK => usize::from(matches!(socket.urgent.get(), Some((0, _)))),
        _ => return requests::ioctl(&socket.common, ioctl),
    };
    let number = i32::try_from(number).unwrap_or(i32::MAX);
    UserPtr::new(ioctl.argument).write(ioctl.memory, &number)?;
    Ok(0)
}
