//! What `capget(2)` and `capset(2)` take.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Versions of the interface.
#[expect(missing_docs, reason = "the names are those of capget(2)")]
pub mod cap_version {
    pub const V1: u32 = 0x1998_0330;
    pub const V2: u32 = 0x2007_1026;
    pub const V3: u32 = 0x2008_0522;
}

/// `struct __user_cap_header_struct`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CapHeader {
    /// One of [`cap_version`].
    pub version: u32,
    /// Whose capabilities; 0 for the caller.
    pub pid: i32,
}

/// `struct __user_cap_data_struct`: 32 bits of each set. Versions 2 and 3 take two of them.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CapData {
    /// In force.
    pub effective: u32,
    /// May be put in force.
    pub permitted: u32,
    /// Kept over `execve`.
    pub inheritable: u32,
}
