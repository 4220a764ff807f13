//! Sockets: one file per call or small family.

mod accept;
mod caller;
mod connect;
mod control;
mod create;
mod message;
mod name;
mod options;
mod receive;
mod receive_many;
mod send;
mod waiting;

pub(crate) use accept::{accept, accept4, listen, shutdown};
pub(crate) use connect::{bind, connect, getpeername, getsockname};
pub(crate) use create::{socket, socketpair};
pub(crate) use options::{getsockopt, setsockopt};
pub(crate) use receive::{recvfrom, recvmsg};
pub(crate) use receive_many::recvmmsg;
pub(crate) use send::{sendmmsg, sendmsg, sendto};
