//! A program on its way to a fresh host process: at the start of the data area of slot 0.

/// How many mappings an image can have.
pub const MAX_SEGMENTS: usize = 48;
/// How many descriptors come with an image.
pub const MAX_FILES: usize = 8;
/// The largest stack that travels in the data area. A larger one comes as a descriptor.
pub const MAX_INLINE_STACK: usize = 40 << 10;
/// The room for trampolines of prepared code.
pub const TRAMPOLINES_SIZE: u64 = 64 << 10;
/// No file: zeroes.
pub const NO_FILE: u32 = u32::MAX;

/// One mapping.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Segment {
    /// Where.
    pub address: u64,
    /// How long, in bytes.
    pub length: u64,
    /// From where in the file.
    pub offset: u64,
    /// `PROT_*`.
    pub protection: u32,
    /// The index of the descriptor that came with the image, or [`NO_FILE`].
    pub file: u32,
    /// Clear from here to the end of the page; 0 for nothing.
    pub zero_from: u64,
}

/// A program.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Image {
    /// How many segments there are.
    pub n_segments: u32,
    /// How many descriptors came.
    pub n_files: u32,
    /// Where to start.
    pub entry: u64,
    /// The initial stack pointer.
    pub stack_pointer: u64,
    /// Where the heap starts.
    pub brk: u64,
    /// How many bytes go to the initial stack pointer. They follow this structure, or are the
    /// contents of the last descriptor, from `stack_offset` on.
    pub stack_length: u64,
    /// Not zero if the stack is in the last descriptor.
    pub stack_in_file: u64,
    /// Where breakpoints stand for `cpuid`: the first address and the first one after it.
    pub prepared_code: [u64; 2],
    /// Trampolines that came with the program; 0 for none. They have the form that the shim gives
    /// its own.
    pub trampolines: u64,
    /// The segments.
    pub segments: [Segment; MAX_SEGMENTS],
}
