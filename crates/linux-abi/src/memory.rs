//! Memory: protection and mapping flags.

bitflags::bitflags! {
    /// `PROT_*`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Protection: u32 {
        /// Reading is allowed.
        const READ = 1;
        /// Writing is allowed.
        const WRITE = 2;
        /// Running code is allowed.
        const EXEC = 4;
    }

    /// `MAP_*`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct MapFlags: u32 {
        /// Changes are seen by everyone who maps the same file.
        const SHARED = 0x01;
        /// Changes are seen by nobody else.
        const PRIVATE = 0x02;
        /// Shared, and unknown flags are refused.
        const SHARED_VALIDATE = 0x03;
        /// At this address, whatever is there.
        const FIXED = 0x10;
        /// Not a file.
        const ANONYMOUS = 0x20;
        /// In the lower 2 GiB.
        const ADDRESS_32BIT = 0x40;
        /// A stack.
        const GROWSDOWN = 0x100;
        /// Once refused writing to the file; ignored.
        const DENYWRITE = 0x800;
        /// Once marked programs; ignored.
        const EXECUTABLE = 0x1000;
        /// Kept in memory.
        const LOCKED = 0x2000;
        /// Not counted against the host's commit limit.
        const NORESERVE = 0x4000;
        /// Filled at once.
        const POPULATE = 0x8000;
        /// With `POPULATE`: without waiting.
        const NONBLOCK = 0x10000;
        /// Once marked stacks; ignored.
        const STACK = 0x20000;
        /// Huge pages.
        const HUGETLB = 0x40000;
        /// With `SHARED_VALIDATE`: persistent memory.
        const SYNC = 0x80000;
        /// At this address if nothing is there.
        const FIXED_NOREPLACE = 0x10_0000;
    }
}

impl MapFlags {
    /// The bits that tell shared from private.
    pub const TYPE: u32 = 0x0f;
}
