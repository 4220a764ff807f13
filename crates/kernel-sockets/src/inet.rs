//! `AF_INET` and `AF_INET6`, inside the sandbox.
//!
//! There are no packets. A TCP connection between two guests is two queues of bytes ([`tcp`]), a
//! datagram goes straight into its receiver's queue ([`udp`]). [`ports`] knows who is bound where,
//! [`interfaces`] which addresses are ours. What is not ours goes to the egress, if there is one.

pub mod address;
mod icmp;
mod identity;
pub mod interfaces;
pub mod options;
pub mod ports;
mod requests;
pub mod tcp;
mod time_wait;
pub mod udp;

pub use icmp::IcmpSocket;
pub use identity::Identity;
pub(crate) use requests::ioctl as interface_request;
pub use tcp::TcpSocket;
pub use udp::UdpSocket;
