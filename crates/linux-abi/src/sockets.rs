//! Socket families, types, options, addresses, control messages, netlink.
