//! The shim, as a program.

/// The static program that `build.rs` made from the crate `guest-shim`.
pub static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shim"));
