//! What something in a tree is.

use rustix::fs::{FileType, Stat};

/// The kinds of files that Linux has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An ordinary file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A FIFO.
    Fifo,
    /// A socket.
    Socket,
    /// A device, of whichever kind.
    Device,
}

impl Kind {
    /// In words, for a message.
    pub fn words(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Link => "a link",
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::Device => "a device",
        }
    }

    pub(super) fn of(kind: FileType) -> Option<Self> {
        match kind {
            FileType::RegularFile => Some(Self::File),
            FileType::Directory => Some(Self::Folder),
            FileType::Symlink => Some(Self::Link),
            FileType::Fifo => Some(Self::Fifo),
            FileType::Socket => Some(Self::Socket),
            FileType::CharacterDevice | FileType::BlockDevice => Some(Self::Device),
            FileType::Unknown => None,
        }
    }
}

/// The unit of `st_blocks`.
const SECTOR: u64 = 512;

/// What is known of something without opening it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its kind.
    pub kind: Kind,
    /// Its permissions, with the set-id bits.
    pub mode: u32,
    /// Its owner.
    pub uid: u32,
    /// How many bytes it has.
    pub size: u64,
    /// How many bytes it takes on the disk, holes apart.
    pub allocated: u64,
    /// Which device it is, if it is a character device.
    pub character_device: Option<u64>,
    /// The file system and the number that it has there.
    pub identity: (u64, u64),
    /// When its bytes were changed: seconds and nanoseconds.
    pub modified: (i64, u64),
    /// When anything of it was changed.
    pub changed: (i64, u64),
}

impl Status {
    pub(super) fn of(stat: &Stat) -> Self {
        let kind = FileType::from_raw_mode(stat.st_mode);
        Self {
            // Whatever a later Linux has is nothing that we would open.
            kind: Kind::of(kind).unwrap_or(Kind::Device),
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            allocated: u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(SECTOR),
            character_device: (kind == FileType::CharacterDevice).then_some(stat.st_rdev),
            identity: (stat.st_dev, stat.st_ino),
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}
