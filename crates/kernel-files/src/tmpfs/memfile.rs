//! Bytes in a host memfd, which guests can map.

use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use host_sys::{errno_of, rustix};
use kernel_core::ledger;
use linux_abi::{Errno, SysResult};
use rustix::fs::{FallocateFlags, SeekFrom};

use super::space::{PAGE, Space};
use super::spare_memfds::EmptyMemfd;
use super::sparse::Sparse;
use crate::host_memory::HostMemory;
use crate::inode::Extent;
use crate::open_file::{MapRequest, MappedFile};

/// Bytes in a host memfd.
pub struct MemFile {
    memory: HostMemory,
}

impl MemFile {
    /// A memfd with the bytes of `sparse`, whose pages of `space` it takes over.
    pub fn from_sparse(sparse: &Sparse, size: u64, space: &Rc<Space>) -> SysResult<Self> {
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
        let space = Some((Rc::clone(space), sparse.n_pages()));
        let memory = HostMemory::with_reader(host, read_only, space);
        memory.recount();
        Ok(Self { memory })
    }

    /// The host descriptor.
    pub fn host(&self) -> SysResult<&OwnedFd> {
        self.memory.host()
    }

    /// The descriptor for a mapping.
    pub fn map(&self, request: MapRequest) -> SysResult<MappedFile> {
        self.memory.map(request.shared && request.writable)
    }

    /// How many of `length` bytes at `offset` can be written without exceeding `space`.
    pub fn room(&self, offset: u64, length: u64, space: &Space) -> u64 {
        let pages = (offset % PAGE + length).div_ceil(PAGE);
        let in_memory = ledger::room_for(pages * PAGE) / PAGE;
        if pages <= space.free_pages().min(in_memory) || self.is_data(offset, length) {
            return length;
        }
        space.refused();
        (space.free_pages().min(in_memory) * PAGE).saturating_sub(offset % PAGE).min(length)
    }

    /// Whether all of a range has its pages already.
    fn is_data(&self, offset: u64, length: u64) -> bool {
        let data = self.seek(Extent::Data, offset);
        let hole = self.seek(Extent::Hole, offset);
        data == Ok(offset) && hole.is_ok_and(|hole| hole >= offset + length)
    }

    /// Counts its pages anew. Guests that have it mapped can add pages without asking.
    /// Returns how many.
    pub fn recount(&self) -> u64 {
        self.memory.recount() / PAGE
    }

    /// Changes its length.
    pub fn truncate(&self, size: u64) -> SysResult<()> {
        rustix::fs::ftruncate(self.memory.host()?, size).map_err(errno_of)?;
        self.memory.recount();
        Ok(())
    }

    /// Reserves or gives back a range.
    pub fn allocate(&self, flags: FallocateFlags, offset: u64, length: u64) -> SysResult<()> {
        rustix::fs::fallocate(self.memory.host()?, flags, offset, length).map_err(errno_of)
    }

    /// The next data or hole.
    pub fn seek(&self, extent: Extent, offset: u64) -> SysResult<u64> {
        let to = match extent {
            Extent::Data => SeekFrom::Data(offset),
            Extent::Hole => SeekFrom::Hole(offset),
        };
        rustix::fs::seek(self.memory.host()?, to).map_err(errno_of)
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
