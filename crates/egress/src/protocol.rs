//! What the kernel process and the porter say to each other: one JSON value a packet, with a
//! descriptor where one is handed over.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use host_sys::rustix::io::Errno;
use host_sys::rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use host_sys::rustix::{self, cmsg_space};
use serde::{Deserialize, Serialize};

/// The longest packet.
const MAX_PACKET: usize = 4096;

/// The name server that guests see: an address of the outward interface's network.
pub const NAME_SERVER: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 2, 3)), 53);

/// How something is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// From the kernel process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// A socket that is connected, or about to be.
    Connect {
        /// Names the connection. Each is used once.
        id: u64,
        /// How.
        transport: Transport,
        /// Where to.
        to: SocketAddr,
    },
    /// A connection has ended.
    Closed {
        /// Which.
        id: u64,
        /// Bytes that the guest sent.
        sent: u64,
        /// Bytes that it received.
        received: u64,
    },
}

/// From the porter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The socket that was asked for comes with this.
    Connected {
        /// Which.
        id: u64,
    },
    /// There is none.
    Refused {
        /// Which.
        id: u64,
        /// Why.
        errno: i32,
    },
    /// Somebody has connected to a published port; the connection comes with this.
    Arrived {
        /// Names the connection from now on.
        id: u64,
        /// The port inside.
        guest: u16,
        /// Who.
        from: SocketAddr,
    },
}

/// The two ends of a line: packets, in order, and an end that is seen.
pub fn pair() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

/// Sends a value, with a descriptor if there is one.
pub fn send<T: Serialize>(
    line: BorrowedFd<'_>,
    value: &T,
    descriptor: Option<BorrowedFd<'_>>,
    flags: SendFlags,
) -> rustix::io::Result<()> {
    let bytes = serde_json::to_vec(value).map_err(|_| Errno::INVAL)?;
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = descriptor.map(|descriptor| [descriptor]);
    if let Some(descriptors) = &descriptors {
        control.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    rustix::io::retry_on_intr(|| {
        sendmsg(line, &[IoSlice::new(&bytes)], &mut control, flags | SendFlags::NOSIGNAL)
    })?;
    Ok(())
}

/// Receives a value; `None` at the end of the line.
pub fn receive<T: for<'a> Deserialize<'a>>(
    line: BorrowedFd<'_>,
) -> rustix::io::Result<Option<(T, Option<OwnedFd>)>> {
    let mut bytes = [0; MAX_PACKET];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let message = rustix::io::retry_on_intr(|| {
        recvmsg(line.as_fd(), &mut [IoSliceMut::new(&mut bytes)], &mut control, flags)
    })?;
    if message.bytes == 0 {
        return Ok(None);
    }
    let descriptor = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let bytes = bytes.get(..message.bytes).unwrap_or_default();
    let value = serde_json::from_slice(bytes).map_err(|_| Errno::BADMSG)?;
    Ok(Some((value, descriptor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_comes_with_its_packet() {
        let (one, other) = pair().unwrap();
        let (first, second) = std::os::unix::net::UnixStream::pair().unwrap();
        let none = SendFlags::empty();
        let value = Answer::Connected { id: 7 };
        send(one.as_fd(), &value, Some(first.as_fd()), none).unwrap();
        send(one.as_fd(), &Answer::Refused { id: 8, errno: 13 }, None, none).unwrap();
        drop((one, first));
        let (got, descriptor) = receive::<Answer>(other.as_fd()).unwrap().unwrap();
        assert_eq!(got, value);
        drop(descriptor.unwrap());
        let mut byte = [0];
        assert_eq!(std::io::Read::read(&mut (&second), &mut byte).unwrap(), 0);
        let (got, descriptor) = receive::<Answer>(other.as_fd()).unwrap().unwrap();
        assert_eq!(got, Answer::Refused { id: 8, errno: 13 });
        assert!(descriptor.is_none());
        assert!(receive::<Answer>(other.as_fd()).unwrap().is_none());
    }
}
