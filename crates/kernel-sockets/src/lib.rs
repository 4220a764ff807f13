//! Unix sockets, loopback TCP and UDP, netlink.

#![forbid(unsafe_code)]
