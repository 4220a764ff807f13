//! The kernel's side of channels, host processes and guest memory.
//!
//! This is one of the few crates with `unsafe`: it maps memory that guests write at the same time
//! ([`shared`]), reads and writes the memory of other processes ([`host_process`]), and starts the
//! zygote ([`zygote`]). What it offers upwards is safe: every value is a copy, every index is
//! checked. It knows nothing of system calls.

pub mod bell;
pub mod channel;
pub mod filter;
pub mod host_process;
pub mod shared;
pub mod shim;
pub mod staging;
pub mod zygote;

pub use bell::SharedBell;
pub use channel::{Channel, Reply, Request};
pub use host_process::HostProcess;
pub use shared::ProtocolValue;
pub use zygote::Zygote;
