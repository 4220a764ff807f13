//! The border of the sandbox: who decides what may leave, and makes the connections.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use linux_abi::SysResult;

/// What is wanted to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The protocol.
    pub protocol: Protocol,
    /// Where it goes.
    pub to: SocketAddr,
}

/// A protocol that may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Flow {
    /// A TCP connection to `to`.
    pub fn tcp(to: SocketAddr) -> Self {
        Self { protocol: Protocol::Tcp, to }
    }

    /// Datagrams to `to`.
    pub fn udp(to: SocketAddr) -> Self {
        Self { protocol: Protocol::Udp, to }
    }
}

/// Where an answer goes. It may be given at once, or later, on the kernel's thread.
pub type Reply<T> = Box<dyn FnOnce(SysResult<T>)>;

/// Who decides what may leave the sandbox. The product layer implements it; it also keeps the
/// audit log.
pub trait Egress {
    /// Makes a host socket for `flow`, if it is allowed: non-blocking, connected or about to be. A
    /// denied one is an error, `EACCES` if nothing fits better.
    fn connect(&self, flow: Flow, reply: Reply<OwnedFd>);

    /// Whether DNS queries to this address are answered by [`resolve`](Self::resolve) and stay
    /// inside.
    fn is_name_server(&self, address: SocketAddr) -> bool;

    /// Answers a DNS query (a whole message, without the length that TCP puts before it).
    fn resolve(&self, query: Vec<u8>, reply: Reply<Vec<u8>>);

    /// A flow that was allowed has ended, after so many bytes.
    fn ended(&self, flow: Flow, n_sent: u64, n_received: u64);
}
