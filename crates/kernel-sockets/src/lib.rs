//! Unix sockets, loopback TCP and UDP, netlink.
//!
//! Start with [`socket`]: a [`Socket`] is what an open file of a socket can do, [`SocketOps`] is
//! what each family gives it. [`Network`] is what all sockets of a sandbox share: names, ports,
//! interfaces. [`unix`] and [`inet`] are the families. Nothing here makes packets: a connection
//! inside the sandbox is two queues of bytes.
//!
//! This crate knows no process. Who asks is a [`Caller`].

#![forbid(unsafe_code)]

pub mod blocked;
pub mod byte_queue;
pub mod caller;
pub mod common;
pub mod counts;
pub mod create;
pub mod egress;
mod host_stream;
pub mod inet;
pub mod message;
pub mod netlink;
pub mod network;
pub mod options;
pub mod proc_net;
pub mod publish;
pub mod socket;
#[cfg(test)]
mod testing;
pub mod unix;

pub use caller::Caller;
pub use common::Common;
pub use create::{create, create_pair};
pub use message::{Control, Incoming, Outgoing, OutgoingControl, RawName, Received};
pub use network::Network;
pub use socket::{Socket, SocketOps};
