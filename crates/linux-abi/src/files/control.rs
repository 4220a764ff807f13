//! What `open`, `fcntl` and `ioctl` are told.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `struct open_how`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
#[expect(missing_docs, reason = "the names are those of open_how(2type)")]
pub struct OpenHow {
    pub flags: u64,
    pub mode: u64,
    pub resolve: u64,
}

/// `struct xattr_args`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
#[expect(missing_docs, reason = "the names are those of the kernel's header")]
pub struct XattrArgs {
    pub value: u64,
    pub size: u32,
    pub flags: u32,
}

/// `struct flock`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
#[expect(missing_docs, reason = "the names are those of fcntl_locking(2)")]
pub struct FileLock {
    pub l_type: i16,
    pub l_whence: i16,
    pub padding: u32,
    pub l_start: i64,
    pub l_len: i64,
    pub l_pid: i32,
    pub padding_end: u32,
}

/// The flags of calls that end in `at`, and the directory that means "here".
#[expect(missing_docs, reason = "the names are those of the man pages")]
pub mod at {
    pub const FDCWD: i32 = -100;
    pub const SYMLINK_NOFOLLOW: u32 = 0x100;
    pub const REMOVEDIR: u32 = 0x200;
    pub const EACCESS: u32 = 0x200;
    pub const SYMLINK_FOLLOW: u32 = 0x400;
    pub const NO_AUTOMOUNT: u32 = 0x800;
    pub const EMPTY_PATH: u32 = 0x1000;
    pub const STATX_SYNC_TYPE: u32 = 0x6000;
}

/// The commands of `fcntl`.
#[expect(missing_docs, reason = "the names are those of fcntl(2)")]
pub mod fcntl {
    pub const DUPFD: u32 = 0;
    pub const GETFD: u32 = 1;
    pub const SETFD: u32 = 2;
    pub const GETFL: u32 = 3;
    pub const SETFL: u32 = 4;
    pub const GETLK: u32 = 5;
    pub const SETLK: u32 = 6;
    pub const SETLKW: u32 = 7;
    pub const SETOWN: u32 = 8;
    pub const GETOWN: u32 = 9;
    pub const SETSIG: u32 = 10;
    pub const GETSIG: u32 = 11;
    pub const SETOWN_EX: u32 = 15;
    pub const GETOWN_EX: u32 = 16;
    pub const OFD_GETLK: u32 = 36;
    pub const OFD_SETLK: u32 = 37;
    pub const OFD_SETLKW: u32 = 38;
    pub const SETLEASE: u32 = 1024;
    pub const GETLEASE: u32 = 1025;
    pub const NOTIFY: u32 = 1026;
    /// Was the file made by opening it?
    pub const CREATED_QUERY: u32 = 1028;
    pub const DUPFD_QUERY: u32 = 1027;
    pub const DUPFD_CLOEXEC: u32 = 1030;
    pub const SETPIPE_SZ: u32 = 1031;
    pub const GETPIPE_SZ: u32 = 1032;
    pub const ADD_SEALS: u32 = 1033;
    pub const GET_SEALS: u32 = 1034;
    pub const GET_RW_HINT: u32 = 1035;
    pub const SET_RW_HINT: u32 = 1036;
    pub const GET_FILE_RW_HINT: u32 = 1037;
    pub const SET_FILE_RW_HINT: u32 = 1038;
    pub const FD_CLOEXEC: u32 = 1;
}

/// Who `F_SETOWN_EX` names.
#[expect(missing_docs, reason = "the names are those of fcntl(2)")]
pub mod owner {
    pub const TID: i32 = 0;
    pub const PID: i32 = 1;
    pub const PGRP: i32 = 2;
}

/// Kinds of locks.
#[expect(missing_docs, reason = "the names are those of fcntl(2) and flock(2)")]
pub mod lock {
    pub const READ: i16 = 0;
    pub const WRITE: i16 = 1;
    pub const UNLOCK: i16 = 2;
    pub const SHARED: u32 = 1;
    pub const EXCLUSIVE: u32 = 2;
    pub const NONBLOCK: u32 = 4;
    pub const UN: u32 = 8;
}

/// `ioctl` requests that every file answers.
#[expect(missing_docs, reason = "the names are those of ioctl_list(2)")]
pub mod ioctl {
    pub const FIONREAD: u32 = 0x541b;
    pub const FIONBIO: u32 = 0x5421;
    pub const FIONCLEX: u32 = 0x5450;
    pub const FIOCLEX: u32 = 0x5451;
    pub const FIOASYNC: u32 = 0x5452;
    pub const FIOSETOWN: u32 = 0x8901;
    pub const SIOCSPGRP: u32 = 0x8902;
    pub const FIOGETOWN: u32 = 0x8903;
    pub const SIOCGPGRP: u32 = 0x8904;
    pub const FIOQSIZE: u32 = 0x5460;
    pub const FIGETBSZ: u32 = 2;
    pub const FS_IOC_GETFLAGS: u32 = 0x8008_6601;
    pub const FS_IOC_SETFLAGS: u32 = 0x4008_6602;
    pub const FICLONE: u32 = 0x4004_9409;
    pub const FICLONERANGE: u32 = 0x4020_940d;
}
