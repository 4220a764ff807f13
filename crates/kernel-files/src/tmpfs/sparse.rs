//! Bytes with holes, in memory of the kernel's own.

use std::collections::BTreeMap;

use kernel_core::io::{Sink, Source};
use kernel_core::ledger::{ALLOCATION, Charge, Kind};
use linux_abi::{Errno, SysResult};

use super::space::{PAGE, Space};
use crate::inode::Extent;

/// Bytes are kept in pieces of this size: large enough that copying a piece costs more than
/// finding it.
const CHUNK: u64 = 16 * PAGE;
const CHUNK_LEN: usize = 64 << 10;
/// New memory of at least this length is brought in at once.
const WORTH_POPULATING: usize = 8 * 4096;
static ZEROES: [u8; CHUNK_LEN] = [0; CHUNK_LEN];

/// One piece. It may be shorter than [`CHUNK_LEN`]: what is missing is zero.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// Which of its sixteen pages were written; the others are holes.
    pages: u16,
}

/// Bytes with holes. The length of the file is kept by the owner.
pub struct Sparse {
    chunks: BTreeMap<u64, Chunk>,
    /// For the memory of all chunks: one that has only its last page in use takes that of all its pages.
    charge: Charge,
}

impl Default for Sparse {
    fn default() -> Self {
        Self { chunks: BTreeMap::new(), charge: Charge::none(Kind::FileData) }
    }
}

impl Chunk {
    /// What it takes.
    fn memory(&self) -> u64 {
        self.bytes.capacity() as u64 + 2 * ALLOCATION
    }
}

/// A part of one chunk.
struct Part {
    index: u64,
    start: usize,
    length: usize,
}

/// The part of a chunk where `offset` is, at most `max` long.
fn part_at(offset: u64, max: u64) -> Part {
    let within = offset % CHUNK;
    let length = max.min(CHUNK - within);
    // Both are at most CHUNK_LEN.
    let small = |n| usize::try_from(n).unwrap_or(CHUNK_LEN);
    Part { index: offset / CHUNK, start: small(within), length: small(length) }
}

/// The bits of the pages that a part touches.
fn page_bits(part: &Part) -> u16 {
    if part.length == 0 {
        return 0;
    }
    let first = part.start / 4096;
    let last = (part.start + part.length - 1) / 4096;
    let upto =
        |page: usize| u16::MAX.checked_shr(15 - u32::try_from(page).unwrap_or(15)).unwrap_or(0);
    let below = if first == 0 { 0 } else { upto(first - 1) };
    upto(last) & !below
}

impl Sparse {
    /// Hands the bytes from `offset` to `end` over.
    pub fn read(&self, sink: &mut dyn Sink, mut offset: u64, end: u64) -> SysResult<usize> {
        let mut n_read = 0;
        while offset < end && sink.remaining() > 0 {
            let max = (end - offset).min(sink.remaining() as u64);
            let part = part_at(offset, max);
            let stored = self.chunks.get(&part.index).map_or(&[][..], |chunk| &chunk.bytes);
            let bytes = match stored.get(part.start..) {
                Some(bytes) if !bytes.is_empty() => bytes.get(..part.length).unwrap_or(bytes),
                _ => ZEROES.get(..part.length).unwrap_or(&ZEROES),
            };
            match sink.put(bytes) {
                Ok(0) => break,
                Ok(n) => {
                    n_read += n;
                    offset += n as u64;
                    if n < bytes.len() {
                        break;
                    }
                }
                Err(errno) if n_read == 0 => return Err(errno),
                Err(_) => break,
            }
        }
        Ok(n_read)
    }

    /// Takes bytes to `offset`. Stops early when `space` is used up.
    pub fn write(
        &mut self,
        source: &mut dyn Source,
        mut offset: u64,
        space: &Space,
    ) -> SysResult<usize> {
        let mut n_written = 0;
        while source.remaining() > 0 {
            let mut part = part_at(offset, source.remaining() as u64);
            let mut taken = self.write_part(source, &part, space);
            let in_page = PAGE - offset % PAGE;
            if taken == Err(Errno::ENOSPC) && part.length as u64 > in_page {
                // Not all of it fits, but perhaps what is in the first page does.
                part = part_at(offset, in_page);
                taken = self.write_part(source, &part, space);
            }
            match taken {
                Ok(0) => break,
                Ok(n) => {
                    n_written += n;
                    offset += n as u64;
                    if n < part.length {
                        break;
                    }
                }
                Err(errno) if n_written == 0 => return Err(errno),
                Err(_) => break,
            }
        }
        Ok(n_written)
    }

    fn write_part(
        &mut self,
        source: &mut dyn Source,
        part: &Part,
        space: &Space,
    ) -> SysResult<usize> {
        let bytes = self.reserve_part(part, space)?;
        source.take(bytes)
    }

    /// Makes sure that a part is there, and counts its new pages.
    fn reserve_part(&mut self, part: &Part, space: &Space) -> SysResult<&mut [u8]> {
        let end = part.start + part.length;
        let known = self.chunks.get(&part.index);
        let before = known.map_or(0, Chunk::memory);
        let pages = known.map_or(0, |chunk| chunk.pages);
        let more = end.saturating_sub(known.map_or(0, |chunk| chunk.bytes.len()));
        let new = page_bits(part) & !pages;
        let others = self.charge.bytes().saturating_sub(before);
        if more > 0 {
            let wanted = others + before.max(Chunk::default().memory()) + more as u64;
            self.charge.resize(wanted).map_err(|_| {
                space.refused();
                Errno::ENOSPC
            })?;
        }
        space
            .take_pages(new.count_ones().into())
            .inspect_err(|_| self.charge.force(others + before))?;
        let chunk = self.chunks.entry(part.index).or_default();
        chunk.pages |= new;
        if more > 0 {
            chunk.bytes.try_reserve(more).map_err(|_| Errno::ENOMEM)?;
            self.charge.force(others + chunk.memory());
            if more >= WORTH_POPULATING {
                host_sys::populate(chunk.bytes.spare_capacity_mut());
            }
            chunk.bytes.resize(end, 0);
        }
        Ok(chunk.bytes.get_mut(part.start..end).unwrap_or_default())
    }

    /// Reserves the pages of a range, without changing what is read.
    pub fn reserve(&mut self, mut offset: u64, end: u64, space: &Space) -> SysResult<()> {
        while offset < end {
            let part = part_at(offset, end - offset);
            // A chunk without bytes is small; what is written to it is charged then.
            if !self.chunks.contains_key(&part.index) {
                let memory = self.charge.bytes() + Chunk::default().memory();
                self.charge.resize(memory).map_err(|_| Errno::ENOSPC)?;
            }
            let chunk = self.chunks.entry(part.index).or_default();
            let new = page_bits(&part) & !chunk.pages;
            space.take_pages(new.count_ones().into())?;
            chunk.pages |= new;
            offset += part.length as u64;
        }
        Ok(())
    }

    /// Gives everything from `size` on back.
    pub fn truncate(&mut self, size: u64, space: &Space) {
        let cut = self.chunks.split_off(&size.div_ceil(CHUNK));
        let mut given = 0;
        for chunk in cut.values() {
            space.give_pages(chunk.pages.count_ones().into());
            given += chunk.memory();
        }
        self.charge.force(self.charge.bytes().saturating_sub(given));
        let part = part_at(size, CHUNK);
        if part.start == 0 {
            return;
        }
        if let Some(chunk) = self.chunks.get_mut(&part.index) {
            chunk.bytes.truncate(part.start);
            let kept = page_bits(&Part { index: part.index, start: 0, length: part.start });
            space.give_pages((chunk.pages & !kept).count_ones().into());
            chunk.pages &= kept;
        }
    }

    /// Makes a range read as zeroes and gives its whole pages back.
    pub fn punch(&mut self, offset: u64, end: u64, space: &Space) {
        let first = offset / CHUNK;
        let last = end.div_ceil(CHUNK);
        let indices: Vec<u64> = self.chunks.range(first..last).map(|(index, _)| *index).collect();
        for index in indices {
            let Some(chunk) = self.chunks.get_mut(&index) else { continue };
            let base = index * CHUNK;
            let start = offset.max(base) - base;
            let stop = end.min(base + CHUNK) - base;
            let small = |n: u64| usize::try_from(n).unwrap_or(CHUNK_LEN);
            let to = small(stop).min(chunk.bytes.len());
            if let Some(bytes) = chunk.bytes.get_mut(small(start)..to) {
                bytes.fill(0);
            }
            let inner_start = start.next_multiple_of(PAGE);
            let inner_stop = stop / PAGE * PAGE;
            if inner_start < inner_stop {
                let length = small(inner_stop - inner_start);
                let gone = page_bits(&Part { index, start: small(inner_start), length });
                space.give_pages((chunk.pages & gone).count_ones().into());
                chunk.pages &= !gone;
            }
            if chunk.pages == 0 {
                let given = chunk.memory();
                self.chunks.remove(&index);
                self.charge.force(self.charge.bytes().saturating_sub(given));
            }
        }
    }

    /// How many pages are taken.
    pub fn n_pages(&self) -> u64 {
        self.chunks.values().map(|chunk| u64::from(chunk.pages.count_ones())).sum()
    }

    /// The next data or hole from `offset` on, if one comes before `size`.
    pub fn seek(&self, extent: Extent, offset: u64, size: u64) -> Option<u64> {
        let mut page = offset / PAGE;
        while page * PAGE < size {
            let chunk = self.chunks.get(&(page * PAGE / CHUNK));
            let is_data = chunk.is_some_and(|chunk| chunk.pages >> (page % 16) & 1 == 1);
            if is_data == (extent == Extent::Data) {
                return Some(offset.max(page * PAGE));
            }
            page = match chunk {
                Some(_) => page + 1,
                // Nothing is in this chunk, nor in those up to the next one that is there.
                None => {
                    let next = self.chunks.range(page * PAGE / CHUNK..).next();
                    next.map(|(index, _)| index * CHUNK / PAGE)?
                }
            };
        }
        None
    }

    /// The pieces, with the position of each.
    pub fn pieces(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.chunks.iter().map(|(index, chunk)| (index * CHUNK, chunk.bytes.as_slice()))
    }
}
