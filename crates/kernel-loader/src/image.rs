//! A program, ready to be mapped and entered.

use kernel_files::MappedFile;

/// A program, ready to be mapped and entered.
pub struct Image {
    /// What to map, in order; later ones may lie over earlier ones.
    pub segments: Vec<Segment>,
    /// Where to start.
    pub entry: u64,
    /// The initial stack pointer.
    pub stack_pointer: u64,
    /// The bytes at the initial stack pointer: `argc`, `argv`, `envp`, the auxiliary vector and
    /// the strings.
    pub stack: Vec<u8>,
    /// Where the heap starts.
    pub brk: u64,
    /// Where breakpoints in prepared code stand for `cpuid`: the first address and the first one
    /// after it; both zero if nothing is prepared.
    pub prepared_code: (u64, u64),
    /// Where the trampolines of prepared code are; zero if there are none.
    pub trampolines: u64,
}

/// One mapping of a program image.
pub struct Segment {
    /// Where it goes, page-aligned.
    pub address: u64,
    /// Its length, page-aligned.
    pub length: u64,
    /// `PROT_*`.
    pub protection: u32,
    /// The file and the offset in it; `None` for zeroes.
    pub file: Option<(MappedFile, u64)>,
    /// Clear from this address to the end of its page.
    pub zero_from: Option<u64>,
}
