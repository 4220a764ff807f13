//! Bulk data on its way to or from a guest.
//!
//! A file hands data to a [`Sink`] and takes it from a [`Source`] without knowing whether the
//! other end is one guest buffer, an `iovec` array or memory of the kernel's own.

use std::os::fd::BorrowedFd;

use host_sys::{errno_of, rustix};
use linux_abi::{Errno, SysResult};

/// The most that one `read` or `write` moves (Linux: `MAX_RW_COUNT`).
pub const MAX_RW_COUNT: usize = 0x7fff_f000;

/// How much is copied through the kernel's own memory at a time.
const CHUNK: usize = 64 << 10;

/// Where data goes.
pub trait Sink {
    /// How many more bytes are wanted.
    fn remaining(&self) -> usize;

    /// Hands over as many of `bytes` as are wanted. Returns how many were taken; `EFAULT` if the
    /// guest's memory takes none of them.
    fn put(&mut self, bytes: &[u8]) -> SysResult<usize>;

    /// Hands over up to `max` bytes of a host file, from `offset`, or from its own position.
    /// Returns how many came; 0 is the end of the file.
    fn put_from_host(
        &mut self,
        file: BorrowedFd<'_>,
        offset: Option<u64>,
        max: usize,
    ) -> SysResult<usize> {
        copy_from_host(self, file, offset, max)
    }
}

/// Hands data of a host file to a sink through memory of the kernel's own: see
/// [`Sink::put_from_host`].
pub(crate) fn copy_from_host<S: Sink + ?Sized>(
    sink: &mut S,
    file: BorrowedFd<'_>,
    offset: Option<u64>,
    max: usize,
) -> SysResult<usize> {
    let want = sink.remaining().min(max).min(CHUNK);
    let mut bytes = vec![0; want];
    let n = match offset {
        Some(offset) => rustix::io::pread(file, &mut bytes, offset),
        None => rustix::io::read(file, &mut bytes),
    }
    .map_err(errno_of)?;
    sink.put(bytes.get(..n).unwrap_or_default())
}

/// Where data comes from.
pub trait Source {
    /// How many bytes there are.
    fn remaining(&self) -> usize;

    /// Fills `buffer` from the front and moves on. Returns how many bytes there were; `EFAULT` if
    /// the guest's memory gives none of them.
    fn take(&mut self, buffer: &mut [u8]) -> SysResult<usize>;

    /// Writes up to `max` bytes to a host file, at `offset`, or at its own position. Returns how
    /// many went.
    fn take_to_host(
        &mut self,
        file: BorrowedFd<'_>,
        offset: Option<u64>,
        max: usize,
    ) -> SysResult<usize> {
        let mut bytes = vec![0; self.remaining().min(max).min(CHUNK)];
        let n = self.take(&mut bytes)?;
        let bytes = bytes.get(..n).unwrap_or_default();
        // A short write of a regular host file means a full disk; what was taken is then lost to
        // the caller, which is told how much went.
        match offset {
            Some(offset) => rustix::io::pwrite(file, bytes, offset),
            None => rustix::io::write(file, bytes),
        }
        .map_err(errno_of)
    }
}

/// Collects data in memory of the kernel's own.
#[derive(Debug)]
pub struct VecSink {
    /// What has arrived.
    pub bytes: Vec<u8>,
    limit: usize,
}

impl VecSink {
    /// A sink that wants `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit }
    }
}

impl Sink for VecSink {
    fn remaining(&self) -> usize {
        self.limit.saturating_sub(self.bytes.len())
    }

    fn put(&mut self, bytes: &[u8]) -> SysResult<usize> {
        let n = bytes.len().min(self.remaining());
        self.bytes.try_reserve(n).map_err(|_| Errno::ENOMEM)?;
        self.bytes.extend_from_slice(bytes.get(..n).unwrap_or_default());
        Ok(n)
    }
}

/// Gives data out of memory of the kernel's own.
#[derive(Debug)]
pub struct SliceSource<'a> {
    rest: &'a [u8],
}

impl<'a> SliceSource<'a> {
    /// A source of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl Source for SliceSource<'_> {
    fn remaining(&self) -> usize {
        self.rest.len()
    }

    fn take(&mut self, buffer: &mut [u8]) -> SysResult<usize> {
        let n = buffer.len().min(self.rest.len());
        let (now, later) = self.rest.split_at(n);
        buffer.get_mut(..n).unwrap_or_default().copy_from_slice(now);
        self.rest = later;
        Ok(n)
    }
}
