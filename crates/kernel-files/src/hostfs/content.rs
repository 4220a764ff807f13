//! The bytes and the extended attributes of host files.

use std::io::IoSliceMut;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use host_sys::{errno_of, rustix};
use kernel_core::facts;
use kernel_core::io::{Sink, Source};
use linux_abi::files::{OpenFlags, mode};
use linux_abi::{Errno, SysResult};
use rustix::fs::{Advice, FallocateFlags, FileType, Mode, OFlags, SeekFrom, XattrFlags};
use rustix::io::ReadWriteFlags;

use super::beneath::open_in;
use super::budget::Mapped;
use super::inode::HostInode;
use super::place::Place;
use super::recent_files::{self, Afterwards};
use super::status::stat_handle;
use crate::inode::{Allocate, Content, Extent, Inode, OpenGuard, WriteAt, XattrMode, Xattrs};
use crate::late_closes;
use crate::metadata::FileKind;
use crate::open_file::{MapRequest, MappedFile};

/// The longest value and the longest list of extended attributes.
const MAX_XATTR: usize = 64 << 10;

/// Reads of this length or more are worth the question whether they would wait, each time.
const LARGE_READ: usize = 64 << 10;

/// How much is fetched from a disk at a time.
const LEAST_AHEAD: u64 = 128 << 10;
const MOST_AHEAD: u64 = 2 << 20;

impl HostInode {
    fn open_content(&self, flags: OFlags) -> SysResult<Rc<OwnedFd>> {
        let place = self.place().ok_or(Errno::EISDIR)?;
        self.where_it_is(&place, |place| self.open_content_at(place, flags))
    }

    fn open_content_at(&self, place: &Place, flags: OFlags) -> SysResult<Rc<OwnedFd>> {
        let parent = place.parent.directory_handle()?;
        let opened = open_in(&*parent, &place.name, flags, Mode::empty())?;
        if self.shared.is_immutable() {
            return Ok(Rc::new(opened)); // promised to be what it was
        }
        // The host may have put something else there since, which may have its number.
        let stat = rustix::fs::fstat(&opened).map_err(errno_of)?;
        let is_same = self.has_number(stat.st_dev, stat.st_ino)
            && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !is_same {
            return Err(Errno::ESTALE);
        }
        Ok(Rc::new(opened))
    }

    /// Uses a descriptor that can read and write, for as long as somebody else keeps it and a
    /// moment longer.
    pub(super) fn keep_open(&self, opened: &Rc<OwnedFd>) {
        *self.for_reading.borrow_mut() = Rc::downgrade(opened);
        *self.for_writing.borrow_mut() = Rc::downgrade(opened);
        late_closes::hold(opened);
    }

    /// The file has, or gets, a mode by which the host will not let us open it again. The guest's root
    /// may do that, and whoever is allowed to run it: it stays open for a longer while.
    pub(super) fn keep_from_being_shut_out(&self, bits: u32) {
        if bits & mode::OWNER_READ == 0 && self.kind() == FileKind::Regular {
            for open in [self.reading(), self.writing()].iter().flatten() {
                recent_files::add(open, Afterwards::Close);
            }
        }
    }

    /// A descriptor to read from, shared with all who have one.
    fn reading(&self) -> SysResult<Rc<OwnedFd>> {
        if let Some(open) = self.for_reading.borrow().upgrade() {
            return Ok(open);
        }
        let opened = self.open_content(OFlags::RDONLY)?;
        *self.for_reading.borrow_mut() = Rc::downgrade(&opened);
        if self.shared.is_immutable() {
            recent_files::add(&opened, Afterwards::Keep);
        }
        Ok(opened)
    }

    /// A descriptor to sync by: any will do.
    pub(super) fn to_sync(&self) -> SysResult<Option<Rc<OwnedFd>>> {
        if self.shared.options.read_only {
            return Ok(None);
        }
        match self.kind() {
            FileKind::Directory if self.handle_can_list() => self.directory_handle().map(Some),
            FileKind::Directory => Ok(Some(Rc::new(self.open_for_listing()?))),
            FileKind::Regular => {
                let open = self.for_writing.borrow().upgrade();
                open.map_or_else(|| self.reading(), Ok).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// A descriptor to write to, shared with all who have one.
    fn writing(&self) -> SysResult<Rc<OwnedFd>> {
        if self.shared.options.read_only {
            return Err(Errno::EROFS);
        }
        // Whoever asks for it changes the file.
        facts::files_changed();
        if let Some(open) = self.for_writing.borrow().upgrade() {
            return Ok(open);
        }
        let opened = match self.open_content(OFlags::RDWR) {
            Err(Errno::EACCES) => self.open_content(OFlags::WRONLY)?,
            result => result?,
        };
        *self.for_writing.borrow_mut() = Rc::downgrade(&opened);
        Ok(opened)
    }
}

/// What an open file keeps open.
struct Descriptors([Option<Rc<OwnedFd>>; 2]);

impl Drop for Descriptors {
    fn drop(&mut self) {
        for descriptor in &mut self.0 {
            descriptor.take().into_iter().for_each(late_closes::let_go);
        }
    }
}

impl Content for HostInode {
    fn size(&self) -> SysResult<u64> {
        Ok(self.metadata()?.size)
    }

    fn prepare_open(&self, flags: OpenFlags) -> SysResult<OpenGuard> {
        let reading = if flags.can_read() { Some(self.reading()?) } else { None };
        let writing = if flags.can_write() { Some(self.writing()?) } else { None };
        Ok(Some(Rc::new(Descriptors([reading, writing]))))
    }

    fn read(&self, sink: &mut dyn Sink, offset: u64) -> SysResult<usize> {
        let file = self.reading()?;
        // Where a file that does not change ends is known without asking.
        let size = if self.shared.is_immutable() { self.metadata()?.size } else { u64::MAX };
        let mut n_read = 0;
        while sink.remaining() > 0 && offset + (n_read as u64) < size {
            match sink.put_from_host(file.as_fd(), Some(offset + n_read as u64), usize::MAX) {
                Ok(0) => break,
                Ok(n) => n_read += n,
                Err(errno) if n_read == 0 => return Err(errno),
                Err(_) => break,
            }
        }
        Ok(n_read)
    }

    fn was_mapped(&self) -> bool {
        self.map_ids.get() != 0
    }

    fn is_cold(&self, offset: u64, length: usize) -> bool {
        if self.is_warm.get() && length < LARGE_READ {
            return false;
        }
        let Ok(file) = self.reading() else { return false };
        let mut byte = [0];
        let mut buffers = [IoSliceMut::new(&mut byte)];
        let result = rustix::io::preadv2(&*file, &mut buffers, offset, ReadWriteFlags::NOWAIT);
        if result != Err(rustix::io::Errno::AGAIN) {
            // What is there stays for a while, at the least; and much of a large file is read by
            // the guest itself.
            self.is_warm.set(true);
            return false;
        }
        let length = NonZeroU64::new((length as u64).clamp(LEAST_AHEAD, MOST_AHEAD));
        rustix::fs::fadvise(&*file, offset, length, Advice::WillNeed).is_ok()
    }

    fn read_if_warm(&self, buffer: &mut [u8]) -> bool {
        let Ok(file) = self.reading() else { return false };
        let wanted = buffer.len();
        let mut buffers = [IoSliceMut::new(buffer)];
        let result = rustix::io::preadv2(&*file, &mut buffers, 0, ReadWriteFlags::NOWAIT);
        if result == Ok(wanted) {
            self.is_warm.set(true);
            return true;
        }
        self.is_cold(0, wanted);
        false
    }

    fn write(&self, source: &mut dyn Source, at: WriteAt) -> SysResult<(usize, u64)> {
        let file = self.writing()?;
        let start = match at {
            WriteAt::Offset(offset) => offset,
            WriteAt::End => rustix::fs::fstat(&*file).map_err(errno_of)?.st_size.cast_unsigned(),
        };
        let most = self.writable_at(&file, start, source.remaining())?;
        let mut n_written = 0;
        while source.remaining() > 0 && n_written < most {
            let position = Some(start + n_written as u64);
            match source.take_to_host(file.as_fd(), position, most - n_written) {
                Ok(0) => break,
                Ok(n) => n_written += n,
                Err(errno) if n_written == 0 => return Err(errno),
                Err(_) => break,
            }
        }
        self.recount(&file)?;
        Ok((n_written, start + n_written as u64))
    }

    fn truncate(&self, size: u64) -> SysResult<()> {
        let file = self.writing()?;
        if let Some(budget) = &self.shared.budget
            && budget.mapped(self.id()) == Some(Mapped::ToWrite)
        {
            budget.require(size.saturating_sub(stat_handle(&file)?.stx_size))?;
        }
        rustix::fs::ftruncate(&*file, size).map_err(errno_of)?;
        self.recount(&file)
    }

    fn map(&self, request: MapRequest) -> SysResult<MappedFile> {
        self.charge_mapping(request)?;
        if request.shared && request.writable {
            self.is_mapped_to_write.set(true);
            facts::files_changed();
            return Ok(MappedFile {
                host: self.writing()?,
                id: self.map_ids(),
                is_for_once: false,
            });
        }
        Ok(MappedFile { host: self.reading()?, id: self.map_ids() + 1, is_for_once: false })
    }

    fn lend(&self) -> Option<OwnedFd> {
        Rc::into_inner(self.open_content(OFlags::RDONLY).ok()?)
    }

    fn allocate(&self, what: Allocate, offset: u64, length: u64) -> SysResult<()> {
        let keep = |keep_size| {
            if keep_size { FallocateFlags::KEEP_SIZE } else { FallocateFlags::empty() }
        };
        let flags = match what {
            Allocate::Reserve { keep_size } => keep(keep_size),
            Allocate::PunchHole => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
            Allocate::Zero { keep_size } => FallocateFlags::ZERO_RANGE | keep(keep_size),
            Allocate::Collapse => FallocateFlags::COLLAPSE_RANGE,
            Allocate::Insert => FallocateFlags::INSERT_RANGE,
        };
        let file = self.writing()?;
        if let Some(budget) = &self.shared.budget
            && matches!(what, Allocate::Reserve { .. } | Allocate::Zero { .. } | Allocate::Insert)
        {
            budget.require(length)?;
        }
        rustix::fs::fallocate(&*file, flags, offset, length).map_err(errno_of)?;
        self.recount(&file)
    }

    fn seek_extent(&self, extent: Extent, offset: u64) -> SysResult<u64> {
        let to = match extent {
            Extent::Data => SeekFrom::Data(offset),
            Extent::Hole => SeekFrom::Hole(offset),
        };
        rustix::fs::seek(&*self.reading()?, to).map_err(errno_of)
    }
}

impl HostInode {
    /// How many of `wanted` bytes may be written at `start`.
    fn writable_at(&self, file: &OwnedFd, start: u64, wanted: usize) -> SysResult<usize> {
        let Some(budget) = &self.shared.budget else { return Ok(wanted) };
        let n = budget.writable(start, wanted as u64, || stat_handle(file))?;
        Ok(usize::try_from(n).unwrap_or(wanted))
    }

    /// A file that can be written through a mapping counts as a whole from then on.
    fn charge_mapping(&self, request: MapRequest) -> SysResult<()> {
        let Some(budget) = &self.shared.budget else { return Ok(()) };
        let how = if request.shared && request.writable { Mapped::ToWrite } else { Mapped::ToRead };
        if budget.mapped(self.id()) >= Some(how) {
            return Ok(());
        }
        if how == Mapped::ToWrite {
            let stat = stat_handle(&*self.writing()?)?;
            let holes = stat.stx_size.saturating_sub(stat.stx_blocks.saturating_mul(512));
            if holes > budget.room() {
                return Err(budget.refuse(Errno::ENOMEM));
            }
        }
        budget.note_mapped(self.id(), how);
        if how == Mapped::ToWrite { self.recount(&*self.writing()?) } else { Ok(()) }
    }

    fn xattr_handle(&self) -> SysResult<Rc<OwnedFd>> {
        if self.kind() == FileKind::Directory {
            return Ok(Rc::new(self.open_for_listing()?));
        }
        self.reading()
    }
}

/// `EOPNOTSUPP` but for names that every user may set on the host. Others would act on the host.
fn check_namespace(name: &[u8]) -> SysResult<()> {
    if name.starts_with(b"user.") { Ok(()) } else { Err(Errno::EOPNOTSUPP) }
}

impl Xattrs for HostInode {
    fn get(&self, name: &[u8]) -> SysResult<Vec<u8>> {
        if check_namespace(name).is_err() {
            return Err(Errno::ENODATA);
        }
        let mut value = Vec::with_capacity(MAX_XATTR);
        let into = rustix::buffer::spare_capacity(&mut value);
        rustix::fs::fgetxattr(&*self.xattr_handle()?, name, into).map_err(errno_of)?;
        Ok(value)
    }

    fn set(&self, name: &[u8], value: &[u8], mode: XattrMode) -> SysResult<()> {
        if self.shared.options.read_only {
            return Err(Errno::EROFS);
        }
        check_namespace(name)?;
        let flags = match mode {
            XattrMode::CreateOrReplace => XattrFlags::empty(),
            XattrMode::Create => XattrFlags::CREATE,
            XattrMode::Replace => XattrFlags::REPLACE,
        };
        facts::changed();
        rustix::fs::fsetxattr(&*self.xattr_handle()?, name, value, flags).map_err(errno_of)
    }

    fn remove(&self, name: &[u8]) -> SysResult<()> {
        if self.shared.options.read_only {
            return Err(Errno::EROFS);
        }
        check_namespace(name)?;
        facts::changed();
        rustix::fs::fremovexattr(&*self.xattr_handle()?, name).map_err(errno_of)
    }

    fn list(&self) -> SysResult<Vec<Vec<u8>>> {
        let mut names = Vec::with_capacity(MAX_XATTR);
        let into = rustix::buffer::spare_capacity(&mut names);
        match rustix::fs::flistxattr(&*self.xattr_handle()?, into).map_err(errno_of) {
            Ok(_) => {}
            Err(Errno::EOPNOTSUPP) => return Ok(Vec::new()),
            Err(errno) => return Err(errno),
        }
        let names = names.split(|&byte| byte == 0);
        Ok(names.filter(|name| name.starts_with(b"user.")).map(<[u8]>::to_vec).collect())
    }
}
