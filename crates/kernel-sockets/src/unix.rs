//! `AF_UNIX`.
//!
//! [`UnixSocket`] is a socket of any of the three types. A stream's data is a queue of bytes with
//! segments over it (`stream`), that of the other types a queue of packets (`packets`); both
//! belong to the receiver. `connections` is how sockets find each other, `in_flight` keeps track
//! of open files that were sent and not yet received. See unix(7).

mod connections;
mod in_flight;
mod name;
mod options;
mod packets;
mod pair;
mod socket;
mod stream;
#[cfg(test)]
mod tests;
mod transfer;

pub use in_flight::FilesInFlight;
pub use name::{AbstractNames, UnixName};
pub use pair::pair;
pub use socket::UnixSocket;
