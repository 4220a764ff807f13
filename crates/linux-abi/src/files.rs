//! Files: open flags, modes, stat structures, directory entries, locks, ioctl numbers of files.

mod control;
mod mounts;
mod stat;

pub use control::{FileLock, OpenHow, XattrArgs, at, fcntl, ioctl, lock, owner};
pub use mounts::{MountAttr, MountIdRequest, StatMount, mount_attr, statmount_mask};
pub use stat::{Stat, Statfs, Statx, StatxTimestamp, statx_mask};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `struct iovec`, as the guest lays it out.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct IoVec {
    /// The address of the buffer.
    pub base: u64,
    /// Its length.
    pub len: u64,
}

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

    /// What `F_GETFL` shows of the flags of `open`: not those that were for `open` alone.
    #[must_use]
    pub fn as_shown(self) -> Self {
        let only_for_open = Self::from_bits_retain(
            Self::CREAT.bits()
                | Self::EXCL.bits()
                | Self::NOCTTY.bits()
                | Self::TRUNC.bits()
                | Self::CLOEXEC.bits(),
        );
        self.difference(only_for_open) | Self::LARGEFILE
    }

    /// Whether the file may be read.
    pub const fn can_read(self) -> bool {
        !self.contains(Self::PATH) && matches!(self.bits() & Self::ACCESS_MODE, 0 | 2)
    }

    /// Whether the file may be written.
    pub const fn can_write(self) -> bool {
        !self.contains(Self::PATH) && matches!(self.bits() & Self::ACCESS_MODE, 1 | 2)
    }
}

/// The bits of a mode: the kind of a file and its permissions.
#[expect(missing_docs, reason = "the names are those of inode(7)")]
pub mod mode {
    pub const KIND: u32 = 0o170000;
    pub const SOCKET: u32 = 0o140000;
    pub const SYMLINK: u32 = 0o120000;
    pub const REGULAR: u32 = 0o100000;
    pub const BLOCK_DEVICE: u32 = 0o060000;
    pub const DIRECTORY: u32 = 0o040000;
    pub const CHARACTER_DEVICE: u32 = 0o020000;
    pub const FIFO: u32 = 0o010000;
    pub const SET_UID: u32 = 0o4000;
    pub const SET_GID: u32 = 0o2000;
    pub const STICKY: u32 = 0o1000;
    pub const OWNER_READ: u32 = 0o400;
    pub const GROUP_EXECUTE: u32 = 0o010;
    /// Set-id, sticky and permission bits together.
    pub const CHANGEABLE: u32 = 0o7777;
    /// The permission bits alone.
    pub const PERMISSIONS: u32 = 0o777;
}

bitflags::bitflags! {
    /// `RESOLVE_*` of `openat2(2)`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct ResolveFlags: u64 {
        /// Do not cross mount points.
        const NO_XDEV = 0x01;
        /// No magic links such as `/proc/self/fd/1`.
        const NO_MAGICLINKS = 0x02;
        /// No symbolic links at all.
        const NO_SYMLINKS = 0x04;
        /// Stay beneath the starting directory.
        const BENEATH = 0x08;
        /// The starting directory is the root.
        const IN_ROOT = 0x10;
        /// Only if it can be answered without waiting.
        const CACHED = 0x20;
    }

    /// `MS_*` of `mount(2)` that stay with a mount.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct MountFlags: u64 {
        /// Nothing is written through this mount.
        const READ_ONLY = 0x01;
        /// Set-id bits have no effect.
        const NO_SUID = 0x02;
        /// Device nodes cannot be opened.
        const NO_DEV = 0x04;
        /// Programs cannot be run.
        const NO_EXEC = 0x08;
        /// Access times stay as they are.
        const NO_ATIME = 0x400;
        /// Access times of directories stay as they are.
        const NO_DIR_ATIME = 0x800;
        /// Access times change only when they are older than the file.
        const RELATIVE_ATIME = 0x20_0000;
        /// Symbolic links are not followed.
        const NO_SYMLINK_FOLLOW = 0x100;
    }
}

/// The longest name of one file.
pub const NAME_MAX: usize = 255;

/// How many symbolic links one path may lead through.
pub const MAX_SYMLINKS: u32 = 40;

/// The highest link count that a file may reach here, well within what programs can hold.
pub const LINK_MAX: u32 = 65_000;
