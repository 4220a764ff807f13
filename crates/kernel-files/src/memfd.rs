//! `memfd_create`: files in memory without a name, which can be sealed.
//!
//! They are memfds of the host from the start, so that the host, which knows all mappings,
//! enforces the seals.

use std::any::Any;
use std::cell::Cell;
use std::os::fd::AsFd;
use std::rc::Rc;

use host_sys::{errno_of, rustix};
use kernel_core::io::{Sink, Source};
use kernel_core::ledger;
use linux_abi::files::OpenFlags;
use linux_abi::time::Timespec;
use linux_abi::{Errno, SysResult};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags, SeekFrom};

use crate::anonymous::detached;
use crate::attachments::Attachments;
use crate::host_memory::HostMemory;
use crate::inode::{Allocate, Content, Extent, Inode, WriteAt, Xattrs};
use crate::metadata::{AttributeChange, DeviceNumber, FileKind, Metadata, timestamp};
use crate::open_file::{MapRequest, MappedFile, OpenFile};
use crate::regular_file::RegularFile;
use crate::xattr_map::XattrMap;

/// A file in memory without a name.
pub struct Memfd {
    memory: HostMemory,
    mode: Cell<u32>,
    uid: Cell<u32>,
    gid: Cell<u32>,
    modified: Cell<Timespec>,
    xattrs: XattrMap,
    attachments: Attachments,
}

/// What a new memfd shall be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemfdOptions {
    /// Seals may be added.
    pub may_be_sealed: bool,
    /// It may not be run, nor become runnable.
    pub no_exec: bool,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

impl Memfd {
    /// A new empty file, open for reading and writing.
    pub fn open(name: &[u8], options: MemfdOptions) -> SysResult<Rc<OpenFile>> {
        let mut flags = MemfdFlags::CLOEXEC;
        if options.may_be_sealed || options.no_exec {
            flags |= MemfdFlags::ALLOW_SEALING;
        }
        let host = rustix::fs::memfd_create("belljar", flags).map_err(errno_of)?;
        let inode = Rc::new(Self {
            memory: HostMemory::new(host, None),
            mode: Cell::new(if options.no_exec { 0o666 } else { 0o777 }),
            uid: Cell::new(options.uid),
            gid: Cell::new(options.gid),
            modified: Cell::new(timestamp()),
            xattrs: XattrMap::default(),
            attachments: Attachments::default(),
        });
        let shown = [b"/memfd:", name, b" (deleted)"].concat();
        let location = detached(&shown, Rc::clone(&inode) as Rc<dyn Inode>);
        let ops = Rc::new(RegularFile::new(inode, None, None));
        Ok(OpenFile::at(ops, OpenFlags::RDWR | OpenFlags::LARGEFILE, location))
    }

    /// Whether all of a range has its blocks already.
    fn is_data(&self, offset: u64, length: u64) -> bool {
        let data = self.seek_extent(Extent::Data, offset);
        let hole = self.seek_extent(Extent::Hole, offset);
        data == Ok(offset) && hole.is_ok_and(|hole| hole >= offset.saturating_add(length))
    }

    fn touch(&self) {
        self.modified.set(timestamp());
    }
}

fn memfd_of(file: &OpenFile) -> SysResult<&Memfd> {
    file.inode().and_then(|inode| inode.as_any().downcast_ref()).ok_or(Errno::EINVAL)
}

/// The seals of a memfd; `EINVAL` for files that cannot have any.
pub fn seals(file: &OpenFile) -> SysResult<u32> {
    let seals = rustix::fs::fcntl_get_seals(memfd_of(file)?.memory.host()?).map_err(errno_of)?;
    Ok(seals.bits())
}

/// Adds seals to a memfd.
pub fn add_seals(file: &OpenFile, seals: u32) -> SysResult<()> {
    let memfd = memfd_of(file)?;
    if !file.flags().can_write() {
        return Err(Errno::EPERM);
    }
    let seals = SealFlags::from_bits(seals).ok_or(Errno::EINVAL)?;
    rustix::fs::fcntl_add_seals(memfd.memory.host()?, seals).map_err(errno_of)
}

impl Inode for Memfd {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn kind(&self) -> FileKind {
        FileKind::Regular
    }

    fn metadata(&self) -> SysResult<Metadata> {
        let stat = rustix::fs::fstat(self.memory.host()?).map_err(errno_of)?;
        let time = self.modified.get();
        Ok(Metadata {
            device: DeviceNumber::new(0, 1),
            inode: stat.st_ino,
            mode: FileKind::Regular.mode_bits() | self.mode.get(),
            n_links: 0,
            uid: self.uid.get(),
            gid: self.gid.get(),
            special: DeviceNumber::default(),
            size: stat.st_size.cast_unsigned(),
            block_size: 4096,
            n_blocks: stat.st_blocks.cast_unsigned(),
            accessed: time,
            modified: time,
            changed: time,
            created: None,
        })
    }

    fn set_attributes(&self, change: &AttributeChange) -> SysResult<()> {
        self.mode.set(change.mode.unwrap_or(self.mode.get()));
        self.uid.set(change.uid.unwrap_or(self.uid.get()));
        self.gid.set(change.gid.unwrap_or(self.gid.get()));
        self.modified.set(change.modified.unwrap_or(self.modified.get()));
        Ok(())
    }

    fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    fn content(&self) -> Option<&dyn Content> {
        Some(self)
    }

    fn xattrs(&self) -> Option<&dyn Xattrs> {
        Some(&self.xattrs)
    }
}

impl Content for Memfd {
    fn size(&self) -> SysResult<u64> {
        Ok(rustix::fs::fstat(self.memory.host()?).map_err(errno_of)?.st_size.cast_unsigned())
    }

    fn read(&self, sink: &mut dyn Sink, offset: u64) -> SysResult<usize> {
        let mut n_read = 0;
        while sink.remaining() > 0 {
            match sink.put_from_host(
                self.memory.host()?.as_fd(),
                Some(offset + n_read as u64),
                usize::MAX,
            ) {
                Ok(0) => break,
                Ok(n) => n_read += n,
                Err(errno) if n_read == 0 => return Err(errno),
                Err(_) => break,
            }
        }
        Ok(n_read)
    }

    fn write(&self, source: &mut dyn Source, at: WriteAt) -> SysResult<(usize, u64)> {
        let start = match at {
            WriteAt::Offset(offset) => offset,
            WriteAt::End => self.size()?,
        };
        let wanted = source.remaining() as u64;
        // What the file holds already can be written again.
        let room = match self.is_data(start, wanted) {
            true => wanted,
            false => ledger::room_for(wanted),
        };
        let most = usize::try_from(room).unwrap_or(usize::MAX);
        if most == 0 {
            return Err(Errno::ENOSPC);
        }
        let mut n_written = 0;
        while source.remaining() > 0 {
            let position = Some(start + n_written as u64);
            match source.take_to_host(self.memory.host()?.as_fd(), position, most - n_written) {
                Ok(0) => break,
                Ok(n) => n_written += n,
                Err(errno) if n_written == 0 => return Err(errno),
                Err(_) => break,
            }
        }
        self.memory.recount();
        self.touch();
        Ok((n_written, start + n_written as u64))
    }

    fn truncate(&self, size: u64) -> SysResult<()> {
        rustix::fs::ftruncate(self.memory.host()?, size).map_err(errno_of)?;
        self.memory.recount();
        self.touch();
        Ok(())
    }

    fn map(&self, request: MapRequest) -> SysResult<MappedFile> {
        if request.shared && request.writable {
            let sealed = SealFlags::WRITE | SealFlags::FUTURE_WRITE;
            let seals = rustix::fs::fcntl_get_seals(self.memory.host()?).map_err(errno_of)?;
            if seals.intersects(sealed) {
                return Err(Errno::EPERM);
            }
            return self.memory.map(true);
        }
        self.memory.map(false)
    }

    fn allocate(&self, what: Allocate, offset: u64, length: u64) -> SysResult<()> {
        let flags = match what {
            Allocate::Reserve { keep_size: true } => FallocateFlags::KEEP_SIZE,
            Allocate::Reserve { keep_size: false } => FallocateFlags::empty(),
            Allocate::PunchHole => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
            _ => return Err(Errno::EOPNOTSUPP),
        };
        if what != Allocate::PunchHole && ledger::room_for(length) < length {
            return Err(Errno::ENOSPC);
        }
        rustix::fs::fallocate(self.memory.host()?, flags, offset, length).map_err(errno_of)?;
        self.memory.recount();
        Ok(())
    }

    fn seek_extent(&self, extent: Extent, offset: u64) -> SysResult<u64> {
        let to = match extent {
            Extent::Data => SeekFrom::Data(offset),
            Extent::Hole => SeekFrom::Hole(offset),
        };
        rustix::fs::seek(self.memory.host()?, to).map_err(errno_of)
    }
}
