//! Buffers of a guest, one or many, as a [`Sink`] and a [`Source`].

use std::os::fd::BorrowedFd;

use linux_abi::files::IoVec;
use linux_abi::{Errno, SysResult};
use smallvec::SmallVec;

use crate::io::{MAX_RW_COUNT, Sink, Source, copy_from_host};
use crate::memory::{UserMemory, UserPtr};

/// The most buffers in one call (Linux: `UIO_MAXIOV`).
pub const MAX_BUFFERS: usize = 1024;

/// The first address that no guest has (the lower half of the address space ends here).
const USER_END: u64 = 1 << 47;

/// Buffers of a guest, from the current position on. Cloning remembers the position.
#[derive(Clone)]
pub struct UserBuffers<'a> {
    memory: &'a dyn UserMemory,
    pieces: SmallVec<[IoVec; 2]>,
    /// The piece that is next.
    index: usize,
    remaining: usize,
}

impl<'a> UserBuffers<'a> {
    /// One buffer. No more than [`MAX_RW_COUNT`] of it is used.
    pub fn one(memory: &'a dyn UserMemory, address: u64, length: usize) -> SysResult<Self> {
        let length = length.min(MAX_RW_COUNT);
        check_range(address, length as u64)?;
        let piece = IoVec { base: address, len: length as u64 };
        Ok(Self { memory, pieces: SmallVec::from_slice(&[piece]), index: 0, remaining: length })
    }

    /// An array of `n` buffers. `EINVAL` if there are too many or one is too long; beyond
    /// [`MAX_RW_COUNT`] bytes they are not used.
    pub fn vector(memory: &'a dyn UserMemory, array: UserPtr<IoVec>, n: usize) -> SysResult<Self> {
        if n > MAX_BUFFERS {
            return Err(Errno::EINVAL);
        }
        let mut pieces: SmallVec<[IoVec; 2]> = SmallVec::from_vec(array.read_many(memory, n)?);
        let mut remaining = 0;
        for piece in &mut pieces {
            let length = isize::try_from(piece.len).map_err(|_| Errno::EINVAL)?;
            check_range(piece.base, piece.len)?;
            let length = length.unsigned_abs().min(MAX_RW_COUNT - remaining);
            piece.len = length as u64;
            remaining += length;
        }
        Ok(Self { memory, pieces, index: 0, remaining })
    }

    /// How many bytes there are from the current position on.
    pub fn len(&self) -> usize {
        self.remaining
    }

    /// Whether the end is reached.
    pub fn is_empty(&self) -> bool {
        self.remaining == 0
    }

    /// Where the next bytes are, and how many are there in one piece; `None` at the end.
    fn current(&mut self) -> Option<(u64, usize)> {
        loop {
            let piece = self.pieces.get(self.index)?;
            if piece.len > 0 {
                return Some((piece.base, usize::try_from(piece.len).unwrap_or(usize::MAX)));
            }
            self.index += 1;
        }
    }

    fn advance(&mut self, n: usize) {
        if let Some(piece) = self.pieces.get_mut(self.index) {
            piece.base = piece.base.wrapping_add(n as u64);
            piece.len = piece.len.saturating_sub(n as u64);
        }
        self.remaining = self.remaining.saturating_sub(n);
    }

    /// Passes over the next `n` bytes.
    pub fn skip(&mut self, mut n: usize) {
        while n > 0 {
            let Some((_, length)) = self.current() else { return };
            let step = length.min(n);
            self.advance(step);
            n -= step;
        }
    }
}

fn check_range(address: u64, length: u64) -> SysResult<()> {
    match address.checked_add(length) {
        Some(end) if end <= USER_END => Ok(()),
        _ => Err(Errno::EFAULT),
    }
}

impl Sink for UserBuffers<'_> {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn put(&mut self, bytes: &[u8]) -> SysResult<usize> {
        let mut n_put = 0;
        while let Some(rest) = bytes.get(n_put..).filter(|rest| !rest.is_empty()) {
            let Some((address, length)) = self.current() else { break };
            let now = rest.get(..length.min(rest.len())).unwrap_or_default();
            match self.memory.write_some(address, now) {
                Ok(n) => {
                    self.advance(n);
                    n_put += n;
                    if n < now.len() {
                        break;
                    }
                }
                Err(errno) if n_put == 0 => return Err(errno),
                Err(_) => break,
            }
        }
        Ok(n_put)
    }

    fn put_from_host(
        &mut self,
        file: BorrowedFd<'_>,
        offset: Option<u64>,
        max: usize,
    ) -> SysResult<usize> {
        if let Some((address, length)) = self.current()
            && let Some(result) =
                self.memory.write_from_host(address, file, offset, length.min(max))
        {
            let n = result?;
            self.advance(n);
            return Ok(n);
        }
        copy_from_host(self, file, offset, max)
    }
}

impl Source for UserBuffers<'_> {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn take(&mut self, buffer: &mut [u8]) -> SysResult<usize> {
        let mut n_taken = 0;
        while n_taken < buffer.len() {
            let Some((address, length)) = self.current() else { break };
            let end = buffer.len().min(n_taken + length);
            let Some(now) = buffer.get_mut(n_taken..end) else { break };
            match self.memory.read_some(address, now) {
                Ok(n) => {
                    let wanted = now.len();
                    self.advance(n);
                    n_taken += n;
                    if n < wanted {
                        break;
                    }
                }
                Err(errno) if n_taken == 0 => return Err(errno),
                Err(_) => break,
            }
        }
        Ok(n_taken)
    }
}
