//! Bytes in a host memfd, which guests can map.

use std::cell::Cell;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use host_sys::{errno_of, rustix};
use linux_abi::{Errno, SysResult};
use rustix::fs::{FallocateFlags, SeekFrom};

use super::space::{PAGE, Space};
use super::spare_memfds::EmptyMemfd;
use super::sparse::Sparse;
use crate::inode::Extent;
use crate::open_file::{MapRequest, MappedFile, allocate_map_ids};

/// Bytes in a host memfd.
pub struct MemFile {
    host: Rc<OwnedFd>,
    /// The same file, open for reading only: for mappings that must not write.
    read_only: Rc<OwnedFd>,
    /// Identifies the file in [`MappedFile::id`]; the next number is that of `read_only`.
    id: u64,
    /// How many pages were counted when last looked.
    n_pages: Cell<u64>,
}

impl MemFile {
    /// A memfd with the bytes of `sparse`, whose pages stay counted.
    pub fn from_sparse(sparse: &Sparse, size: u64) -> SysResult<Self> {
        let EmptyMemfd { host, read_only } = EmptyMemfd::take()?;
        let mut end = 0;
        for (offset, bytes) in sparse.pieces() {
            let kept = size.saturating_sub(offset).min(bytes.len() as u64);
            let bytes = bytes.get(..usize::try_from(kept).unwrap_or(0)).unwrap_or_default();
            write_all(&host, bytes, offset)?;
            if kept > 0 {
                end = end.max(offset + kept);
            }
        }
        if end < size {
            rustix::fs::ftruncate(&host, size).map_err(errno_of)?;
        }
        Ok(Self {
            host: Rc::new(host),
            read_only: Rc::new(read_only),
            id: allocate_map_ids(),
            n_pages: Cell::new(sparse.n_pages()),
        })
    }

    /// The host descriptor.
    pub fn host(&self) -> &Rc<OwnedFd> {
        &self.host
    }

    /// The descriptor for a mapping.
    pub fn map(&self, request: MapRequest) -> MappedFile {
        if request.shared && request.writable {
            MappedFile { host: Rc::clone(&self.host), id: self.id }
        } else {
            MappedFile { host: Rc::clone(&self.read_only), id: self.id + 1 }
        }
    }

    /// How many of `length` bytes at `offset` can be written without exceeding `space`.
    pub fn room(&self, offset: u64, length: u64, space: &Space) -> u64 {
        let pages = (offset % PAGE + length).div_ceil(PAGE);
        if pages <= space.free_pages() || self.is_data(offset, length) {
            return length;
        }
        space.refused();
        (space.free_pages() * PAGE).saturating_sub(offset % PAGE).min(length)
    }

    /// Whether all of a range has its pages already.
    fn is_data(&self, offset: u64, length: u64) -> bool {
        let data = self.seek(Extent::Data, offset);
        let hole = self.seek(Extent::Hole, offset);
        data == Ok(offset) && hole.is_ok_and(|hole| hole >= offset + length)
    }

    /// Counts its pages anew. Guests that have it mapped can add pages without asking.
    pub fn recount(&self, space: &Space) {
        let Ok(stat) = rustix::fs::fstat(&*self.host) else { return };
        let pages = stat.st_blocks.cast_unsigned() * 512 / PAGE;
        space.give_pages(self.n_pages.get());
        space.force_pages(pages);
        self.n_pages.set(pages);
    }

    /// How many pages it had when last counted.
    pub fn n_pages(&self) -> u64 {
        self.n_pages.get()
    }

    /// Changes its length.
    pub fn truncate(&self, size: u64) -> SysResult<()> {
        rustix::fs::ftruncate(&*self.host, size).map_err(errno_of)
    }

    /// Reserves or gives back a range.
    pub fn allocate(&self, flags: FallocateFlags, offset: u64, length: u64) -> SysResult<()> {
        rustix::fs::fallocate(&*self.host, flags, offset, length).map_err(errno_of)
    }

    /// The next data or hole.
    pub fn seek(&self, extent: Extent, offset: u64) -> SysResult<u64> {
        let to = match extent {
            Extent::Data => SeekFrom::Data(offset),
            Extent::Hole => SeekFrom::Hole(offset),
        };
        rustix::fs::seek(&*self.host, to).map_err(errno_of)
    }
}

fn write_all(host: &impl AsFd, mut bytes: &[u8], mut offset: u64) -> SysResult<()> {
    while !bytes.is_empty() {
        let n = rustix::io::pwrite(host, bytes, offset).map_err(errno_of)?;
        bytes = bytes.get(n..).ok_or(Errno::EIO)?;
        offset += n as u64;
    }
    Ok(())
}
