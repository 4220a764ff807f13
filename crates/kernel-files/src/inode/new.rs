//! Files that shall be made.

use crate::metadata::{DeviceNumber, FileKind};

/// A file that shall be made.
#[derive(Clone, Copy, Debug)]
pub struct NewInode<'a> {
    /// What it shall be.
    pub kind: NewKind<'a>,
    /// Its permission, set-id and sticky bits, `umask` already taken off.
    pub mode: u32,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
}

/// What a new file shall be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewKind<'a> {
    /// An empty regular file.
    Regular,
    /// An empty directory.
    Directory,
    /// A symbolic link to this path.
    Symlink(&'a [u8]),
    /// A named pipe.
    Fifo,
    /// The name of a socket.
    Socket,
    /// A character device.
    CharacterDevice(DeviceNumber),
    /// A block device.
    BlockDevice(DeviceNumber),
}

impl NewKind<'_> {
    /// The kind of file.
    pub const fn kind(&self) -> FileKind {
        match self {
            Self::Regular => FileKind::Regular,
            Self::Directory => FileKind::Directory,
            Self::Symlink(_) => FileKind::Symlink,
            Self::Fifo => FileKind::Fifo,
            Self::Socket => FileKind::Socket,
            Self::CharacterDevice(_) => FileKind::CharacterDevice,
            Self::BlockDevice(_) => FileKind::BlockDevice,
        }
    }

    /// The device that the node stands for; zero for what is none.
    pub const fn special(&self) -> DeviceNumber {
        match self {
            Self::CharacterDevice(device) | Self::BlockDevice(device) => *device,
            _ => DeviceNumber::new(0, 0),
        }
    }
}
