//! The bytes in a pipe.
//!
//! Linux counts the room of a pipe in pages: a small write is added to the last page if it fits
//! there as a whole, and takes a page of its own if not. Programs see that in when `poll` says
//! writable and when a write is short, so we count the same way. The pages of one ring lie side by
//! side in memory, which lets a large transfer be one copy.

use std::collections::VecDeque;

use kernel_core::io::{Sink, Source};
use kernel_core::ledger::{Charge, Kind};
use linux_abi::{Errno, SysResult};

/// The size of a page, and so the most that is written as a whole (`PIPE_BUF`).
pub const PAGE_SIZE: usize = 4096;

/// What is used of one page.
#[derive(Clone, Copy, Debug)]
struct Slot {
    start: usize,
    end: usize,
    /// Written in packet mode: one read takes it, and drops what it has no room for.
    is_packet: bool,
}

/// A queue of bytes in pages.
#[derive(Debug)]
pub struct Ring {
    /// The pages in use, oldest first. They follow each other from `first` on, around the end.
    slots: VecDeque<Slot>,
    /// Which page the oldest slot is.
    first: usize,
    n_pages: usize,
    /// The memory of the pages. Grows to what is used, at most to `n_pages`: an empty ring starts
    /// over at page 0, so a pipe with little in it needs one page.
    bytes: Vec<u8>,
    /// For that memory.
    charge: Charge,
}

impl Ring {
    /// An empty ring of so many pages.
    pub fn new(n_pages: usize) -> Self {
        let charge = Charge::none(Kind::Pipes);
        Self { slots: VecDeque::new(), first: 0, n_pages, bytes: Vec::new(), charge }
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether every page is in use.
    pub fn is_full(&self) -> bool {
        self.slots.len() >= self.n_pages
    }

    /// How many pages it may use.
    pub fn n_pages(&self) -> usize {
        self.n_pages
    }

    /// How many bytes there are to read.
    pub fn len(&self) -> usize {
        self.slots.iter().map(|slot| slot.end - slot.start).sum()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.first = 0;
        self.bytes = Vec::new();
        self.charge.force(0);
    }

    /// Changes the number of pages. `EBUSY` if more than that are in use.
    pub fn resize(&mut self, n_pages: usize) -> SysResult<()> {
        if self.slots.len() > n_pages {
            return Err(Errno::EBUSY);
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(self.slots.len() * PAGE_SIZE).map_err(|_| Errno::ENOMEM)?;
        for index in 0..self.slots.len() {
            let at = self.page(index) * PAGE_SIZE;
            bytes.extend_from_slice(self.bytes.get(at..at + PAGE_SIZE).unwrap_or_default());
        }
        self.bytes = bytes;
        self.charge.force(self.bytes.capacity() as u64);
        self.first = 0;
        self.n_pages = n_pages;
        Ok(())
    }

    /// Takes as much of `source` as there is room for. `EAGAIN` if there is no room at all.
    pub fn fill(&mut self, source: &mut dyn Source, in_packets: bool) -> SysResult<usize> {
        let mut total = self.fill_last_page(source)?;
        while source.remaining() > 0 && !self.is_full() {
            match self.fill_new_pages(source, in_packets) {
                Ok(0) => break,
                Ok(n) => total += n,
                Err(_) if total > 0 => break,
                Err(errno) => return Err(errno),
            }
        }
        if total == 0 && source.remaining() > 0 { Err(Errno::EAGAIN) } else { Ok(total) }
    }

    /// Adds the odd bytes of a write to the last page, if they fit there.
    fn fill_last_page(&mut self, source: &mut dyn Source) -> SysResult<usize> {
        let odd = source.remaining() % PAGE_SIZE;
        let Some(last) = self.slots.len().checked_sub(1) else { return Ok(0) };
        let at = self.page(last) * PAGE_SIZE;
        let Some(slot) = self.slots.back_mut() else { return Ok(0) };
        if odd == 0 || slot.is_packet || slot.end + odd > PAGE_SIZE {
            return Ok(0);
        }
        let room = self.bytes.get_mut(at + slot.end..at + slot.end + odd).unwrap_or_default();
        // A write that faults half-way leaves nothing behind.
        if source.take(room)? < odd {
            return Err(Errno::EFAULT);
        }
        slot.end += odd;
        Ok(odd)
    }

    /// Fills as many pages as are free and lie side by side, in one copy.
    fn fill_new_pages(&mut self, source: &mut dyn Source, in_packets: bool) -> SysResult<usize> {
        let page = self.page(self.slots.len());
        let n_free = (self.n_pages - self.slots.len()).min(self.n_pages - page);
        let wanted = source.remaining().min(n_free * PAGE_SIZE);
        let (start, end) = (page * PAGE_SIZE, (page + wanted.div_ceil(PAGE_SIZE)) * PAGE_SIZE);
        if self.bytes.len() < end {
            // Only when it grows: a pipe that goes on being used has its memory.
            self.charge.resize(end as u64).map_err(|_| Errno::ENOMEM)?;
            let more = end - self.bytes.len();
            self.bytes.try_reserve_exact(more).map_err(|_| Errno::ENOMEM)?;
            self.bytes.resize(end, 0);
        }
        let room = self.bytes.get_mut(start..start + wanted).unwrap_or_default();
        let mut n = source.take(room)?;
        if n < wanted {
            n -= n % PAGE_SIZE;
            if n == 0 {
                return Err(Errno::EFAULT);
            }
        }
        let mut rest = n;
        while rest > 0 {
            let end = rest.min(PAGE_SIZE);
            self.slots.push_back(Slot { start: 0, end, is_packet: in_packets });
            rest -= end;
        }
        Ok(n)
    }

    /// Hands as much to `sink` as it wants, and forgets it. `EAGAIN` if there is nothing.
    pub fn drain(&mut self, sink: &mut dyn Sink) -> SysResult<usize> {
        let mut total = 0;
        while sink.remaining() > 0 && !self.slots.is_empty() {
            let is_packet = self.slots.front().is_some_and(|slot| slot.is_packet);
            let run = self.run_at_front();
            let wanted = run.len().min(sink.remaining());
            let n = match sink.put(self.bytes.get(run).unwrap_or_default()) {
                Ok(n) => n,
                Err(_) if total > 0 => break,
                Err(errno) => return Err(errno),
            };
            self.consume(n);
            total += n;
            if is_packet {
                self.drop_rest_of_packet(n);
            }
            if is_packet || n < wanted {
                break;
            }
        }
        if total == 0 && self.slots.is_empty() { Err(Errno::EAGAIN) } else { Ok(total) }
    }

    /// Hands up to `max` bytes to `sink` and keeps them, as `tee(2)` does.
    pub fn peek(&self, sink: &mut dyn Sink) -> SysResult<usize> {
        let mut total = 0;
        for (index, slot) in self.slots.iter().enumerate() {
            let at = self.page(index) * PAGE_SIZE;
            let bytes = self.bytes.get(at + slot.start..at + slot.end).unwrap_or_default();
            match sink.put(bytes) {
                Ok(n) => total += n,
                Err(errno) if total == 0 => return Err(errno),
                Err(_) => break,
            }
            if sink.remaining() == 0 {
                break;
            }
        }
        Ok(total)
    }

    /// Which page the slot with this index is, or will be.
    fn page(&self, index: usize) -> usize {
        let page = self.first + index;
        if page >= self.n_pages { page - self.n_pages } else { page }
    }

    /// The bytes that can be read from the front in one piece.
    fn run_at_front(&self) -> std::ops::Range<usize> {
        let base = self.first * PAGE_SIZE;
        let Some(front) = self.slots.front() else { return base..base };
        let (mut end, mut page) = (base + front.end, self.first + 1);
        let mut is_whole = front.end == PAGE_SIZE && !front.is_packet;
        for slot in self.slots.iter().skip(1) {
            if !is_whole || page == self.n_pages || slot.start != 0 || slot.is_packet {
                break;
            }
            end = page * PAGE_SIZE + slot.end;
            is_whole = slot.end == PAGE_SIZE;
            page += 1;
        }
        base + front.start..end
    }

    fn consume(&mut self, mut n: usize) {
        while let Some(front) = self.slots.front_mut() {
            let here = n.min(front.end - front.start);
            front.start += here;
            n -= here;
            if front.start < front.end {
                return;
            }
            self.pop_front();
            if n == 0 {
                return;
            }
        }
    }

    /// After `n` bytes of a packet were read: the rest of it is lost.
    fn drop_rest_of_packet(&mut self, n: usize) {
        // A packet that was read to its end is gone already; the front is then the next one, and
        // nothing of that was read.
        if n > 0 && self.slots.front().is_some_and(|slot| slot.is_packet && slot.start > 0) {
            self.pop_front();
        }
    }

    fn pop_front(&mut self) {
        self.slots.pop_front();
        self.first = if self.slots.is_empty() { 0 } else { self.page(1) };
    }
}
