//! uname, sysinfo, getrandom and other answers about the system.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The size of each string of [`Utsname`], with its zero.
pub const UTS_FIELD: usize = 65;

/// `struct new_utsname`.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Utsname {
    /// The name of the system.
    pub system: [u8; UTS_FIELD],
    /// The name of the machine on its network.
    pub node: [u8; UTS_FIELD],
    /// The release of the kernel.
    pub release: [u8; UTS_FIELD],
    /// The version of the release.
    pub version: [u8; UTS_FIELD],
    /// The architecture.
    pub machine: [u8; UTS_FIELD],
    /// The NIS domain.
    pub domain: [u8; UTS_FIELD],
}

/// `struct sysinfo`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Sysinfo {
    /// Seconds since the start.
    pub uptime: i64,
    /// Load averages over 1, 5 and 15 minutes, in units of 1/65536.
    pub loads: [u64; 3],
    /// Memory in units of `unit` bytes.
    pub total_ram: u64,
    /// Free memory.
    pub free_ram: u64,
    /// Memory shared between processes.
    pub shared_ram: u64,
    /// Memory in buffers.
    pub buffer_ram: u64,
    /// Swap space.
    pub total_swap: u64,
    /// Free swap space.
    pub free_swap: u64,
    /// How many threads there are.
    pub n_tasks: u16,
    /// Padding.
    pub padding: [u16; 3],
    /// Memory that is hard to reach; none on 64 bits.
    pub total_high: u64,
    /// Free memory of that kind.
    pub free_high: u64,
    /// The unit of all memory sizes, in bytes.
    pub unit: u32,
    /// Padding.
    pub padding2: u32,
}

/// Flags of `getrandom(2)`.
#[expect(missing_docs, reason = "the names are those of getrandom(2)")]
pub mod grnd {
    pub const NONBLOCK: u32 = 1;
    pub const RANDOM: u32 = 2;
    pub const INSECURE: u32 = 4;
}
