//! Staging: which memory travels with a request.
//!
//! The kernel publishes one [`Entry`] per system call, made from its table. The shim copies what
//! an entry names into the slot's data area and marks it in `Slot::staged`; both sides compute
//! the same places from the entry and the arguments. It is a hint for speed: memory that is not
//! staged is fetched by the kernel itself.

/// How many system calls have an entry.
pub const CALLS: usize = 512;

/// What one argument points to.
pub mod kind {
    /// Nothing that is staged.
    pub const NONE: u8 = 0;
    /// A zero-terminated string, copied in.
    pub const PATH: u8 = 1;
    /// A structure of the given size, copied in.
    pub const IN: u8 = 2;
    /// A structure of the given size, copied out.
    pub const OUT: u8 = 3;
    /// Both.
    pub const IN_OUT: u8 = 4;
    /// A buffer whose length is another argument, copied in.
    pub const IN_BY: u8 = 5;
    /// A buffer whose length is another argument, copied out.
    pub const OUT_BY: u8 = 6;
}

/// What one argument points to, and how long that is (or which argument says so).
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Part {
    /// One of [`kind`].
    pub kind: u8,
    /// For `*_BY`: the index of the argument that holds the length.
    pub length_argument: u8,
    /// For the others: the length in bytes.
    pub length: u16,
}

/// The staging of one system call.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Entry {
    /// Bit n is set if argument n has a part: a quick way past calls without any.
    pub any: u8,
    /// Unused.
    pub reserved: [u8; 7],
    /// One part per argument.
    pub parts: [Part; 6],
}

/// The largest piece that is staged. Longer buffers are left to the kernel, but for the start of
/// those that are copied out ([`out_length`]).
pub const MAX_PIECE: usize = 48 << 10;

/// How much of a buffer that is copied out is staged: what is put there is often short, however
/// much room there is.
pub const fn out_length(room: usize) -> usize {
    if room < MAX_PIECE { room } else { MAX_PIECE }
}
/// The longest path that is staged, with its zero.
pub const MAX_PATH: usize = 4096;

/// Pieces start at multiples of this.
pub const ALIGN: usize = 16;

/// The place after `length` bytes at `offset`.
pub const fn next(offset: usize, length: usize) -> usize {
    (offset + length + ALIGN - 1) & !(ALIGN - 1)
}
