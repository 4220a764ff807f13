//! The porter: decides what may leave a sandbox, and makes the connections.
//!
//! A porter is a small process on the host's side, one per sandbox that may reach something. The
//! sandbox's kernel process asks it for connections ([`protocol`]) and gets sockets, never the
//! means to make one. It alone knows the rules ([`policy`]): which destinations are allowed, which
//! addresses are public ([`special`]), and which names an address was given for ([`ties`]). It is
//! also the name server that guests see ([`names`], [`dns`]), it holds the published ports, and it
//! writes down every decision ([`ledger`], [`audit_log`]). [`porter`] puts all this together.
//!
//! See `docs/adr/0006-a-porter-makes-the-connections.md`.

#![forbid(unsafe_code)]

pub mod audit_log;
pub mod dns;
pub mod ledger;
pub mod names;
pub mod policy;
pub mod porter;
pub mod protocol;
pub mod special;
pub mod ties;
