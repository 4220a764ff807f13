//! What `stat` says of a file.

use kernel_core::facts;
use kernel_core::timers::real_time;
use linux_abi::files::mode;
use linux_abi::time::Timespec;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// Bytes.
    Regular,
    /// Names of other files.
    Directory,
    /// A path to another file.
    Symlink,
    /// A character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
    /// A named pipe.
    Fifo,
    /// The name of a Unix socket.
    Socket,
    /// None of those: the files behind `epoll`, `eventfd` and others have no kind.
    Anonymous,
}

impl FileKind {
    /// The kind that a mode names.
    pub const fn of_mode(bits: u32) -> Self {
        match bits & mode::KIND {
            mode::REGULAR => Self::Regular,
            mode::DIRECTORY => Self::Directory,
            mode::SYMLINK => Self::Symlink,
            mode::CHARACTER_DEVICE => Self::CharacterDevice,
            mode::BLOCK_DEVICE => Self::BlockDevice,
            mode::FIFO => Self::Fifo,
            mode::SOCKET => Self::Socket,
            _ => Self::Anonymous,
        }
    }

    /// The bits of a mode that mean this kind.
    pub const fn mode_bits(self) -> u32 {
        match self {
            Self::Regular => mode::REGULAR,
            Self::Directory => mode::DIRECTORY,
            Self::Symlink => mode::SYMLINK,
            Self::CharacterDevice => mode::CHARACTER_DEVICE,
            Self::BlockDevice => mode::BLOCK_DEVICE,
            Self::Fifo => mode::FIFO,
            Self::Socket => mode::SOCKET,
            Self::Anonymous => 0,
        }
    }

    /// The `d_type` of directory entries.
    #[expect(clippy::cast_possible_truncation, reason = "four bits are left")]
    pub const fn directory_entry_type(self) -> u8 {
        (self.mode_bits() >> 12) as u8
    }
}

/// A device number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct DeviceNumber {
    /// Which driver.
    pub major: u32,
    /// Which of its devices.
    pub minor: u32,
}

impl DeviceNumber {
    /// The device `major:minor`.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// The `dev_t` of glibc and of `struct stat`: the two numbers are interleaved.
    pub const fn encode(self) -> u64 {
        let (major, minor) = (self.major as u64, self.minor as u64);
        (minor & 0xff) | (major & 0xfff) << 8 | (minor & !0xff) << 12 | (major & 0xffff_f000) << 32
    }

    /// The device that a `dev_t` names.
    #[expect(clippy::cast_possible_truncation, reason = "masked")]
    pub const fn decode(bits: u64) -> Self {
        Self {
            major: ((bits >> 8 & 0xfff) | (bits >> 32 & 0xffff_f000)) as u32,
            minor: ((bits & 0xff) | (bits >> 12 & 0xffff_ff00)) as u32,
        }
    }
}

/// Who may do what: the part of the metadata that every step of a path needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ownership {
    /// Kind and permissions.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

/// What `stat` says of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The device of its file system.
    pub device: DeviceNumber,
    /// Its number in its file system.
    pub inode: u64,
    /// Kind and permissions.
    pub mode: u32,
    /// How many names it has.
    pub n_links: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// What device it stands for, if it is a device node.
    pub special: DeviceNumber,
    /// Its length in bytes.
    pub size: u64,
    /// The best size for reads and writes.
    pub block_size: u32,
    /// How much storage it takes, in units of 512 bytes.
    pub n_blocks: u64,
    /// When it was last read.
    pub accessed: Timespec,
    /// When its contents last changed.
    pub modified: Timespec,
    /// When anything of it last changed.
    pub changed: Timespec,
    /// When it was made, if that is known.
    pub created: Option<Timespec>,
}

impl Metadata {
    /// What Linux says of a file that has no name: mode 0600, no kind, made now.
    pub fn anonymous(kind: FileKind, inode: u64) -> Self {
        let now = timestamp();
        Self {
            device: DeviceNumber::new(0, 15),
            inode,
            mode: kind.mode_bits() | 0o600,
            n_links: 1,
            uid: 0,
            gid: 0,
            special: DeviceNumber::default(),
            size: 0,
            block_size: 4096,
            n_blocks: 0,
            accessed: now,
            modified: now,
            changed: now,
            created: None,
        }
    }

    /// This, after a change.
    #[must_use]
    pub fn changed_by(self, change: &AttributeChange) -> Self {
        let bits = |mode| self.mode & !mode::CHANGEABLE | mode & mode::CHANGEABLE;
        Self {
            mode: change.mode.map_or(self.mode, bits),
            uid: change.uid.unwrap_or(self.uid),
            gid: change.gid.unwrap_or(self.gid),
            accessed: change.accessed.unwrap_or(self.accessed),
            modified: change.modified.unwrap_or(self.modified),
            changed: change.changed.unwrap_or(self.changed),
            ..self
        }
    }

    /// What the file is.
    pub const fn kind(&self) -> FileKind {
        FileKind::of_mode(self.mode)
    }

    /// Who may do what.
    pub const fn ownership(&self) -> Ownership {
        Ownership { mode: self.mode, uid: self.uid, gid: self.gid }
    }
}

/// Now, as a time stamp of a file.
pub fn timestamp() -> Timespec {
    Timespec::from_nanos(real_time())
}

/// What shall change in a file's metadata. Whether the caller may do so was checked before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttributeChange {
    /// New permission, set-id and sticky bits.
    pub mode: Option<u32>,
    /// A new owner.
    pub uid: Option<u32>,
    /// A new group.
    pub gid: Option<u32>,
    /// A new access time.
    pub accessed: Option<Timespec>,
    /// A new modification time.
    pub modified: Option<Timespec>,
    /// A new change time, which only the kernel itself may choose.
    pub changed: Option<Timespec>,
}

/// Attributes of a file of this kind have changed. Those of a directory say who may go through it.
pub(crate) fn attributes_changed(kind: FileKind) {
    match kind {
        FileKind::Directory => facts::changed(),
        _ => facts::files_changed(),
    }
}

/// What `statfs` says of a file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSystemUsage {
    /// The magic number of its type.
    pub magic: u64,
    /// The unit of the block counts.
    pub block_size: u64,
    /// How many blocks there are.
    pub n_blocks: u64,
    /// How many of them are free.
    pub n_free: u64,
    /// How many of them ordinary users may take.
    pub n_available: u64,
    /// How many files there may be.
    pub n_files: u64,
    /// How many more there may be.
    pub n_free_files: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_survive_their_encoding() {
        for device in [(1, 3), (8, 17), (136, 300), (4095, 0xf_ffff), (0, 0)] {
            let device = DeviceNumber::new(device.0, device.1);
            assert_eq!(DeviceNumber::decode(device.encode()), device);
        }
        assert_eq!(DeviceNumber::new(1, 3).encode(), 0x103);
    }
}
