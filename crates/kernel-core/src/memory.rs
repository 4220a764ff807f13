//! Guest memory. All of it is hostile: copied once, checked, used.

use std::marker::PhantomData;
use std::os::fd::BorrowedFd;

use linux_abi::{Errno, SysResult};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The address space of a guest process, as a system call of one of its threads sees it.
///
/// Every access is a copy. A range that is not mapped, or not mapped for that kind of access, is
/// `EFAULT`, as from `copy_from_user` and `copy_to_user`.
pub trait UserMemory {
    /// Fills `buffer` from guest memory at `address`. Returns how many bytes came before the
    /// first one that cannot be read; `EFAULT` if that is none of a non-empty buffer.
    fn read_some(&self, address: u64, buffer: &mut [u8]) -> SysResult<usize>;

    /// Like [`read_some`](Self::read_some), but may end after any zero byte: for strings, whose
    /// length the reader learns from that byte.
    fn read_string_part(&self, address: u64, buffer: &mut [u8]) -> SysResult<usize> {
        self.read_some(address, buffer)
    }

    /// Copies `bytes` to guest memory at `address`. Returns how many went before the first one
    /// that cannot be written; `EFAULT` if that is none of non-empty bytes.
    fn write_some(&self, address: u64, bytes: &[u8]) -> SysResult<usize>;

    /// Reads up to `max` bytes of a host file straight to guest memory, from `offset` or from where
    /// the file stands. `None` if there is no short way here: the caller then copies.
    fn write_from_host(
        &self,
        address: u64,
        file: BorrowedFd<'_>,
        offset: Option<u64>,
        max: usize,
    ) -> Option<SysResult<usize>> {
        let _ = (address, file, offset, max);
        None
    }

    /// Fills `buffer` as a whole.
    fn read(&self, address: u64, buffer: &mut [u8]) -> SysResult<()> {
        let wanted = buffer.len();
        if self.read_some(address, buffer)? == wanted { Ok(()) } else { Err(Errno::EFAULT) }
    }

    /// Copies `bytes` as a whole.
    fn write(&self, address: u64, bytes: &[u8]) -> SysResult<()> {
        if self.write_some(address, bytes)? == bytes.len() { Ok(()) } else { Err(Errno::EFAULT) }
    }
}

/// The longest path, with its terminating zero.
pub const PATH_MAX: usize = 4096;

/// An address at which a guest claims to have a `T`.
pub struct UserPtr<T> {
    address: u64,
    kind: PhantomData<fn() -> T>,
}

impl<T> Clone for UserPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for UserPtr<T> {}

impl<T> std::fmt::Debug for UserPtr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.address)
    }
}

impl<T> UserPtr<T> {
    /// The claim that there is a `T` at `address`.
    pub const fn new(address: u64) -> Self {
        Self { address, kind: PhantomData }
    }

    /// The bare address.
    pub const fn address(self) -> u64 {
        self.address
    }

    /// Whether the guest passed a null pointer, which often means "not wanted".
    pub const fn is_null(self) -> bool {
        self.address == 0
    }

    /// This pointer unless it is null.
    pub fn non_null(self) -> Option<Self> {
        (!self.is_null()).then_some(self)
    }

    /// The pointer to the element that is `n` further on.
    #[must_use]
    pub const fn offset(self, n: usize) -> Self {
        Self::new(self.address.wrapping_add((n as u64).wrapping_mul(size_of::<T>() as u64)))
    }

    /// The same address, seen as another type.
    pub const fn cast<U>(self) -> UserPtr<U> {
        UserPtr::new(self.address)
    }
}

impl<T: FromBytes + IntoBytes> UserPtr<T> {
    /// Copies the value in.
    pub fn read(self, memory: &dyn UserMemory) -> SysResult<T> {
        let mut value = T::new_zeroed();
        memory.read(self.address, value.as_mut_bytes())?;
        Ok(value)
    }

    /// Copies `n` values in. `n` must have met its own limit before.
    pub fn read_many(self, memory: &dyn UserMemory, n: usize) -> SysResult<Vec<T>> {
        let mut values = Vec::new();
        values.try_reserve_exact(n).map_err(|_| Errno::ENOMEM)?;
        values.resize_with(n, T::new_zeroed);
        memory.read(self.address, values.as_mut_slice().as_mut_bytes())?;
        Ok(values)
    }
}

impl<T: IntoBytes + Immutable> UserPtr<T> {
    /// Copies `value` out.
    pub fn write(self, memory: &dyn UserMemory, value: &T) -> SysResult<()> {
        memory.write(self.address, value.as_bytes())
    }

    /// Copies `value` out unless the pointer is null.
    pub fn write_if_wanted(self, memory: &dyn UserMemory, value: &T) -> SysResult<()> {
        if self.is_null() { Ok(()) } else { self.write(memory, value) }
    }

    /// Copies several values out.
    pub fn write_many(self, memory: &dyn UserMemory, values: &[T]) -> SysResult<()> {
        memory.write(self.address, values.as_bytes())
    }
}

/// Marks a [`UserPtr`] to a zero-terminated string.
#[derive(Clone, Copy, Debug)]
pub struct CString;

impl UserPtr<CString> {
    /// Copies the string in, without its zero. `ENAMETOOLONG` if no zero comes within `max` bytes.
    pub fn read_string(self, memory: &dyn UserMemory, max: usize) -> SysResult<Vec<u8>> {
        let mut string = Vec::new();
        let mut chunk = [0; 256];
        loop {
            let at = self.address.checked_add(string.len() as u64).ok_or(Errno::EFAULT)?;
            // Up to the next page end, so that a string just below unmapped memory is found.
            let to_page_end = 4096 - usize::try_from(at % 4096).unwrap_or(0);
            let n = chunk.len().min(to_page_end).min(max.saturating_sub(string.len()));
            if n == 0 {
                return Err(Errno::ENAMETOOLONG);
            }
            let piece = chunk.get_mut(..n).ok_or(Errno::EFAULT)?;
            let n_read = memory.read_string_part(at, piece)?;
            let piece = piece.get(..n_read).ok_or(Errno::EFAULT)?;
            let mut parts = piece.splitn(2, |&byte| byte == 0);
            string.extend_from_slice(parts.next().unwrap_or(&[]));
            if parts.next().is_some() {
                return Ok(string);
            }
        }
    }

    /// Copies a path in: a string of less than [`PATH_MAX`] bytes.
    pub fn read_path(self, memory: &dyn UserMemory) -> SysResult<Vec<u8>> {
        self.read_string(memory, PATH_MAX)
    }
}
