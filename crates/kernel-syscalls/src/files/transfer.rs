//! What reading and writing have in common.

use kernel_core::io::Source;
use kernel_files::OpenFile;
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, SysResult};

bitflags::bitflags! {
    /// `RWF_*` of `preadv2(2)` and `pwritev2(2)`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct RwFlags: u32 {
        const HIPRI = 0x01;
        const DSYNC = 0x02;
        const SYNC = 0x04;
        const NOWAIT = 0x08;
        const APPEND = 0x10;
        const NOAPPEND = 0x20;
    }
}

impl RwFlags {
    /// The flags of a read, which cannot append.
    pub(super) fn for_reading(bits: u32) -> SysResult<Self> {
        let flags = Self::from_bits(bits).ok_or(Errno::EOPNOTSUPP)?;
        if flags.contains(Self::APPEND) { Err(Errno::EOPNOTSUPP) } else { Ok(flags) }
    }

    /// The flags of a write, which appends or does not.
    pub(super) fn for_writing(bits: u32) -> SysResult<Self> {
        let flags = Self::from_bits(bits).ok_or(Errno::EOPNOTSUPP)?;
        if flags.contains(Self::APPEND | Self::NOAPPEND) { Err(Errno::EINVAL) } else { Ok(flags) }
    }
}

/// Where data comes from or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// Where the file is, which moves.
    Current,
    /// Here, and the file's position stays.
    At(u64),
}

impl Position {
    /// `EINVAL` for what is negative.
    pub(super) fn from_guest(offset: i64) -> SysResult<Self> {
        u64::try_from(offset).map(Self::At).map_err(|_| Errno::EINVAL)
    }

    /// `ESPIPE` if the file has no positions and one is named; `EBADF` if it is but a place.
    pub(super) fn check(self, file: &OpenFile) -> SysResult<()> {
        if file.flags().contains(OpenFlags::PATH) {
            return Err(Errno::EBADF);
        }
        let needs_positions = matches!(self, Self::At(_));
        if needs_positions && !file.ops().is_seekable() { Err(Errno::ESPIPE) } else { Ok(()) }
    }
}

/// `EINVAL` if `length` bytes from here on would end beyond what an `off_t` holds.
pub(super) fn check_end(file: &OpenFile, position: Position, length: usize) -> SysResult<()> {
    let start = match position {
        Position::At(offset) => offset,
        Position::Current if file.ops().is_seekable() => file.offset(),
        Position::Current => return Ok(()),
    };
    let end = start.checked_add(length as u64).and_then(|end| i64::try_from(end).ok());
    end.map(|_| ()).ok_or(Errno::EINVAL)
}

/// The first part of a source.
pub(super) struct Limited<'a> {
    source: &'a mut dyn Source,
    left: usize,
}

impl<'a> Limited<'a> {
    pub(super) fn new(source: &'a mut dyn Source, left: usize) -> Self {
        Self { source, left }
    }
}

impl Source for Limited<'_> {
    fn remaining(&self) -> usize {
        self.source.remaining().min(self.left)
    }

    fn take(&mut self, buffer: &mut [u8]) -> SysResult<usize> {
        let wanted = buffer.len().min(self.left);
        let n = self.source.take(buffer.get_mut(..wanted).unwrap_or_default())?;
        self.left -= n.min(self.left);
        Ok(n)
    }
}
