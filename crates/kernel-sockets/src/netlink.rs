//! `AF_NETLINK`: what programs ask about interfaces, addresses and routes.
//!
//! [`NetlinkSocket`] is the socket, `route` answers, `builder` lays messages out. A socket of
//! `NETLINK_KOBJECT_UEVENT` can be made and bound, and never has anything to say: devices neither
//! come nor go in a sandbox.

mod builder;
mod route;
mod socket;
#[cfg(test)]
mod tests;

pub use socket::{NetlinkPorts, NetlinkSocket};
