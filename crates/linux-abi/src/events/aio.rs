//! Structures of `io_submit(2)` and its relatives.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `struct io_event`: the result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct IoEvent {
    /// `aio_data` of the request.
    pub data: u64,
    /// The address of the request.
    pub object: u64,
    /// What the call would have returned, or a negative error number.
    pub result: i64,
    /// Always zero.
    pub result2: i64,
}

/// `struct iocb`: a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Iocb {
    /// Comes back with the result.
    pub data: u64,
    /// The kernel's own.
    pub key: u32,
    /// `RWF_*`.
    pub rw_flags: u32,
    /// One of [`command`].
    pub opcode: u16,
    /// The priority, which is not looked at.
    pub priority: i16,
    /// The descriptor.
    pub fd: i32,
    /// The buffer, the vector, or what to poll for.
    pub buffer: u64,
    /// How many bytes, or how many buffers.
    pub count: u64,
    /// The position.
    pub offset: i64,
    /// Must be zero.
    pub reserved: u64,
    /// `IOCB_FLAG_*`.
    pub flags: u32,
    /// The eventfd that is told, with [`FLAG_RESFD`].
    pub event_fd: i32,
}

/// An eventfd is told of the result.
pub const FLAG_RESFD: u32 = 1;
/// The request has a priority.
pub const FLAG_IOPRIO: u32 = 2;

/// `IOCB_CMD_*`.
pub mod command {
    /// Read.
    pub const PREAD: u16 = 0;
    /// Write.
    pub const PWRITE: u16 = 1;
    /// Bring a file to where it lasts.
    pub const FSYNC: u16 = 2;
    /// Bring the data of a file to where it lasts.
    pub const FDSYNC: u16 = 3;
    /// Wait until a file is ready.
    pub const POLL: u16 = 5;
    /// Nothing, which is refused.
    pub const NOOP: u16 = 6;
    /// Read into several buffers.
    pub const PREADV: u16 = 7;
    /// Write several buffers.
    pub const PWRITEV: u16 = 8;
}
