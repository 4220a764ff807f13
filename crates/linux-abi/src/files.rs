//! Files: open flags, modes, stat structures, directory entries, locks, ioctl numbers of files.

bitflags::bitflags! {
    /// `O_*`, as `open(2)` takes them and `F_GETFL` shows them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct OpenFlags: u32 {
        /// Write only.
        const WRONLY = 0o1;
        /// Read and write.
        const RDWR = 0o2;
        /// Create the file if it is not there.
        const CREAT = 0o100;
        /// Fail if the file is there.
        const EXCL = 0o200;
        /// Do not make a terminal the controlling one.
        const NOCTTY = 0o400;
        /// Empty the file.
        const TRUNC = 0o1000;
        /// Write at the end.
        const APPEND = 0o2000;
        /// Do not wait.
        const NONBLOCK = 0o4000;
        /// Write data through.
        const DSYNC = 0o10000;
        /// Signal-driven I/O.
        const ASYNC = 0o20000;
        /// Avoid the page cache; packet mode of pipes.
        const DIRECT = 0o40000;
        /// Files over 2 GiB; always in force on 64 bits.
        const LARGEFILE = 0o100000;
        /// Only a directory.
        const DIRECTORY = 0o200000;
        /// Not through a symbolic link.
        const NOFOLLOW = 0o400000;
        /// Leave the access time alone.
        const NOATIME = 0o1000000;
        /// Close on `execve`.
        const CLOEXEC = 0o2000000;
        /// Write data and metadata through.
        const SYNC = 0o4010000;
        /// Only a place in the tree, no access to the contents.
        const PATH = 0o10000000;
        /// A file without a name (with `DIRECTORY`).
        const TMPFILE = 0o20200000;
    }
}

impl OpenFlags {
    /// The bits that tell reading from writing.
    pub const ACCESS_MODE: u32 = 0o3;

    /// Whether the file may be read.
    pub const fn can_read(self) -> bool {
        !self.contains(Self::PATH) && self.bits() & Self::ACCESS_MODE != 1
    }

    /// Whether the file may be written.
    pub const fn can_write(self) -> bool {
        !self.contains(Self::PATH) && matches!(self.bits() & Self::ACCESS_MODE, 1 | 2)
    }
}
