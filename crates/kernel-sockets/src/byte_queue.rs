//! A queue of bytes in one piece of memory, used in a circle.
//!
//! Data is copied once on its way in and once on its way out. The memory grows as it is needed,
//! up to what the caller says is allowed, and is given back when the queue is empty and large.

use kernel_core::io::{Sink, Source};
use kernel_core::ledger::{Charge, Kind};
use linux_abi::{Errno, SysResult};

/// The first piece of memory.
const FIRST_SIZE: usize = 4 << 10;

/// An empty queue keeps this much memory for what comes next.
const KEPT_SIZE: usize = 256 << 10;

/// A first-in, first-out queue of bytes.
pub struct ByteQueue {
    memory: Vec<u8>,
    start: usize,
    len: usize,
    /// For the memory.
    charge: Charge,
}

impl Default for ByteQueue {
    fn default() -> Self {
        Self { memory: Vec::new(), start: 0, len: 0, charge: Charge::none(Kind::Sockets) }
    }
}

impl ByteQueue {
    /// How many bytes are in it.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes up to `max` bytes from `source`. Returns how many came: fewer if there is no memory for more, `ENOBUFS` if
    /// there is none for any.
    pub fn fill(&mut self, source: &mut dyn Source, max: usize) -> SysResult<usize> {
        let mut wanted = source.remaining().min(max);
        if let Err(errno) = self.reserve(wanted) {
            wanted = wanted.min(self.memory.len() - self.len);
            if wanted == 0 {
                return Err(errno);
            }
        }
        let mut n_taken = 0;
        while n_taken < wanted {
            let end = self.wrap(self.start + self.len);
            let room = (self.memory.len() - end).min(wanted - n_taken);
            let Some(piece) = self.memory.get_mut(end..end + room) else { break };
            let n = match source.take(piece) {
                Ok(n) => n,
                Err(errno) if n_taken == 0 => return Err(errno),
                Err(_) => break,
            };
            self.len += n;
            n_taken += n;
            if n < room {
                break;
            }
        }
        Ok(n_taken)
    }

    /// Hands up to `max` bytes to `sink` and forgets them. Returns how many went.
    pub fn drain(&mut self, sink: &mut dyn Sink, max: usize) -> SysResult<usize> {
        let n = self.peek(0, sink, max)?;
        self.discard(n);
        Ok(n)
    }

    /// Hands up to `max` bytes to `sink`, from `skip` on, and keeps them.
    pub fn peek(&self, skip: usize, sink: &mut dyn Sink, max: usize) -> SysResult<usize> {
        let wanted = self.len.saturating_sub(skip).min(max).min(sink.remaining());
        let mut n_given = 0;
        while n_given < wanted {
            let at = self.wrap(self.start + skip + n_given);
            let run = (self.memory.len() - at).min(wanted - n_given);
            let Some(piece) = self.memory.get(at..at + run) else { break };
            let n = match sink.put(piece) {
                Ok(n) => n,
                Err(errno) if n_given == 0 => return Err(errno),
                Err(_) => break,
            };
            n_given += n;
            if n < run {
                break;
            }
        }
        Ok(n_given)
    }

    /// Forgets the first `n` bytes.
    pub fn discard(&mut self, n: usize) {
        let n = n.min(self.len);
        self.start = self.wrap(self.start + n);
        self.len -= n;
        if self.len == 0 {
            self.start = 0;
            if self.memory.len() > KEPT_SIZE {
                self.memory = Vec::new();
                self.charge.force(0);
            }
        }
    }

    /// Forgets everything and gives the memory back.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// A position in the circle. The size is a power of two, or zero.
    fn wrap(&self, position: usize) -> usize {
        position & self.memory.len().saturating_sub(1)
    }

    fn reserve(&mut self, more: usize) -> SysResult<()> {
        let needed = self.len.checked_add(more).ok_or(Errno::ENOMEM)?;
        if needed <= self.memory.len() {
            return Ok(());
        }
        let size = needed.checked_next_power_of_two().ok_or(Errno::ENOMEM)?.max(FIRST_SIZE);
        let before = self.charge.bytes();
        self.charge.resize(size as u64).map_err(|_| Errno::ENOBUFS)?;
        let mut memory = Vec::new();
        if memory.try_reserve_exact(size).is_err() {
            self.charge.force(before);
            return Err(Errno::ENOBUFS);
        }
        let first = (self.memory.len() - self.start).min(self.len);
        memory
            .extend_from_slice(self.memory.get(self.start..self.start + first).unwrap_or_default());
        memory.extend_from_slice(self.memory.get(..self.len - first).unwrap_or_default());
        memory.resize(size, 0);
        self.memory = memory;
        self.start = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel_core::io::{SliceSource, VecSink};

    #[test]
    fn keeps_the_order_over_the_end_of_its_memory() {
        let mut queue = ByteQueue::default();
        let mut expected = 0_u8;
        let mut next = 0_u8;
        for round in 0..500 {
            let bytes: Vec<u8> = (0..700 + round)
                .map(|_| {
                    next = next.wrapping_add(1);
                    next
                })
                .collect();
            assert_eq!(queue.fill(&mut SliceSource::new(&bytes), usize::MAX), Ok(bytes.len()));
            let mut sink = VecSink::new(600 + round);
            queue.drain(&mut sink, usize::MAX).unwrap();
            for byte in sink.bytes {
                expected = expected.wrapping_add(1);
                assert_eq!(byte, expected);
            }
        }
        assert_eq!(queue.len(), 500 * 100);
    }

    #[test]
    fn peeking_keeps_what_it_shows() {
        let mut queue = ByteQueue::default();
        queue.fill(&mut SliceSource::new(b"hello"), 4).unwrap();
        let mut sink = VecSink::new(10);
        assert_eq!(queue.peek(1, &mut sink, 10), Ok(3));
        assert_eq!(sink.bytes, b"ell");
        assert_eq!(queue.len(), 4);
    }
}
