//! The bytes of a memory file.
//!
//! They live in the kernel's own memory, where a `write` costs one copy. When a guest maps the
//! file, they move into a host memfd and stay there.

use std::cell::{Cell, RefCell};
use std::os::fd::AsFd;
use std::rc::Rc;

use host_sys::rustix::fs::FallocateFlags;
use kernel_core::io::{Sink, Source};
use linux_abi::{Errno, SysResult};

use super::memfile::MemFile;
use super::space::Space;
use super::sparse::Sparse;
use crate::inode::{Allocate, Extent, WriteAt};
use crate::open_file::{MapRequest, MappedFile};

/// The longest file, as on Linux.
const MAX_SIZE: u64 = i64::MAX as u64;

enum Store {
    Memory(Sparse),
    Host(MemFile),
}

/// The bytes of a memory file.
pub struct Data {
    store: RefCell<Store>,
    size: Cell<u64>,
    space: Rc<Space>,
}

impl Data {
    /// No bytes.
    pub fn new(space: Rc<Space>) -> Self {
        Self { store: RefCell::new(Store::Memory(Sparse::default())), size: Cell::new(0), space }
    }

    /// The length.
    pub fn size(&self) -> u64 {
        self.size.get()
    }

    /// Whether guests have mapped it, now or before.
    pub fn is_mapped(&self) -> bool {
        matches!(&*self.store.borrow(), Store::Host(_))
    }

    /// The storage taken, in units of 512 bytes.
    pub fn n_blocks(&self) -> u64 {
        let pages = match &*self.store.borrow() {
            Store::Memory(sparse) => sparse.n_pages(),
            Store::Host(file) => file.recount(),
        };
        pages * 8
    }

    /// Hands bytes over.
    pub fn read(&self, sink: &mut dyn Sink, offset: u64) -> SysResult<usize> {
        let size = self.size.get();
        if offset >= size {
            return Ok(0);
        }
        match &*self.store.borrow() {
            Store::Memory(sparse) => sparse.read(sink, offset, size),
            Store::Host(file) => read_host(file, sink, offset, size),
        }
    }

    /// Takes bytes. Returns how many, and the position after them.
    pub fn write(&self, source: &mut dyn Source, at: WriteAt) -> SysResult<(usize, u64)> {
        let offset = match at {
            WriteAt::Offset(offset) => offset,
            WriteAt::End => self.size.get(),
        };
        if source.remaining() == 0 {
            return Ok((0, offset));
        }
        if offset.saturating_add(source.remaining() as u64) > MAX_SIZE {
            return Err(Errno::EFBIG);
        }
        let n = match &mut *self.store.borrow_mut() {
            Store::Memory(sparse) => sparse.write(source, offset, &self.space)?,
            Store::Host(file) => write_host(file, source, offset, &self.space)?,
        };
        let end = offset + n as u64;
        self.size.set(self.size.get().max(end));
        Ok((n, end))
    }

    /// Changes the length.
    pub fn truncate(&self, size: u64) -> SysResult<()> {
        if size > MAX_SIZE {
            return Err(Errno::EFBIG);
        }
        match &mut *self.store.borrow_mut() {
            Store::Memory(sparse) if size < self.size.get() => sparse.truncate(size, &self.space),
            Store::Memory(_) => {}
            Store::Host(file) => {
                file.truncate(size)?;
                file.recount();
            }
        }
        self.size.set(size);
        Ok(())
    }

    /// Changes what is allocated. As on Linux, memory files know three ways.
    pub fn allocate(&self, what: Allocate, offset: u64, length: u64) -> SysResult<()> {
        let end = offset.checked_add(length).filter(|&end| end <= MAX_SIZE).ok_or(Errno::EFBIG)?;
        let size = self.size.get();
        let (flags, grows) = match what {
            Allocate::Reserve { keep_size } => (
                if keep_size { FallocateFlags::KEEP_SIZE } else { FallocateFlags::empty() },
                !keep_size,
            ),
            Allocate::PunchHole => (FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, false),
            _ => return Err(Errno::EOPNOTSUPP),
        };
        match &mut *self.store.borrow_mut() {
            Store::Memory(sparse) if what == Allocate::PunchHole => {
                sparse.punch(offset, end, &self.space);
            }
            Store::Memory(sparse) => sparse.reserve(offset, end, &self.space)?,
            Store::Host(file) => {
                let is_taking = what != Allocate::PunchHole;
                if is_taking && file.room(offset, length, &self.space) < length {
                    return Err(Errno::ENOSPC);
                }
                file.allocate(flags, offset, length)?;
                file.recount();
            }
        }
        if grows {
            self.size.set(size.max(end));
        }
        Ok(())
    }

    /// The next data or hole.
    pub fn seek_extent(&self, extent: Extent, offset: u64) -> SysResult<u64> {
        let size = self.size.get();
        if offset >= size {
            return Err(Errno::ENXIO);
        }
        let found = match &*self.store.borrow() {
            Store::Memory(sparse) => sparse.seek(extent, offset, size),
            Store::Host(file) => file.seek(extent, offset).ok(),
        };
        match (extent, found) {
            (_, Some(position)) => Ok(position.min(size)),
            (Extent::Hole, None) => Ok(size),
            (Extent::Data, None) => Err(Errno::ENXIO),
        }
    }

    /// Moves the bytes into a memfd, unless they are there, and shares it.
    pub fn map(&self, request: MapRequest) -> SysResult<MappedFile> {
        let mut store = self.store.borrow_mut();
        if let Store::Memory(sparse) = &*store {
            *store = Store::Host(MemFile::from_sparse(sparse, self.size.get(), &self.space)?);
        }
        match &*store {
            Store::Host(file) => file.map(request),
            Store::Memory(_) => Err(Errno::ENODEV),
        }
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // A file that guests can map gives its pages back when the last of them lets go.
        if let Store::Memory(sparse) = self.store.get_mut() {
            self.space.give_pages(sparse.n_pages());
        }
    }
}

fn read_host(file: &MemFile, sink: &mut dyn Sink, offset: u64, size: u64) -> SysResult<usize> {
    let mut n_read = 0;
    while sink.remaining() > 0 {
        let at = offset + n_read as u64;
        let max = usize::try_from(size.saturating_sub(at)).unwrap_or(usize::MAX);
        match sink.put_from_host(file.host()?.as_fd(), Some(at), max) {
            Ok(0) => break,
            Ok(n) => n_read += n,
            Err(errno) if n_read == 0 => return Err(errno),
            Err(_) => break,
        }
    }
    Ok(n_read)
}

fn write_host(
    file: &MemFile,
    source: &mut dyn Source,
    offset: u64,
    space: &Space,
) -> SysResult<usize> {
    let wanted = source.remaining() as u64;
    let room = file.room(offset, wanted, space);
    if room == 0 {
        return Err(Errno::ENOSPC);
    }
    let mut left = usize::try_from(room).unwrap_or(usize::MAX);
    let mut n_written = 0;
    while left > 0 && source.remaining() > 0 {
        match source.take_to_host(file.host()?.as_fd(), Some(offset + n_written as u64), left) {
            Ok(0) => break,
            Ok(n) => {
                n_written += n;
                left = left.saturating_sub(n);
            }
            Err(errno) if n_written == 0 => return Err(errno),
            Err(_) => break,
        }
    }
    file.recount();
    Ok(n_written)
}
