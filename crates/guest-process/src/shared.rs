//! Memory that is shared with guests.

#![expect(unsafe_code, reason = "maps and copies memory that other processes write")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

/// Its length is fixed, and nobody changes the seals.
const FINAL_SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// A sealed memfd and this process's mapping of it.
///
/// Invariant: `base` is mapped, readable and writable, for `length` bytes, as long as the value
/// lives. The memfd cannot shrink, so no access faults. Guests may write any byte at any time;
/// so no reference to plain memory is ever made, and all copies go through assembly or atomics.
#[derive(Debug)]
pub struct SharedMemory {
    base: NonNull<u8>,
    length: usize,
    file: OwnedFd,
}

impl SharedMemory {
    /// Makes `length` bytes of zeroes. Memory that is never touched is never there.
    pub fn new(name: &str, length: usize) -> Result<Self, Errno> {
        let memory = Self::unsealed(name, length)?;
        rustix::fs::fcntl_add_seals(&memory.file, FINAL_SEALS)?;
        Ok(memory)
    }

    /// The same, for guests to read: whoever maps it from now on cannot write to it, and cannot
    /// change the mapping so that it could.
    pub fn for_reading(name: &str, length: usize) -> Result<Self, Errno> {
        let memory = Self::unsealed(name, length)?;
        rustix::fs::fcntl_add_seals(&memory.file, FINAL_SEALS | SealFlags::FUTURE_WRITE)?;
        Ok(memory)
    }

    fn unsealed(name: &str, length: usize) -> Result<Self, Errno> {
        let file = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&file, length as u64)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the host's choice touches no memory of ours.
        let base = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED, &file, 0)
        }?;
        let base = NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { base, length, file })
    }

    /// The descriptor to hand to guests.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// The value of type `T` at `offset`, which consists of atomics only.
    ///
    /// Panics if it does not lie inside: offsets are constants of the layout or checked indexes.
    pub(crate) fn at<T: SharedLayout>(&self, offset: usize) -> &T {
        assert!(offset + size_of::<T>() <= self.length && offset.is_multiple_of(align_of::<T>()));
        // SAFETY: inside the mapping by the assertion.
        let address = unsafe { self.base.add(offset) };
        // SAFETY: mapped and aligned; `SharedLayout` says that `T` is made of atomics, for which
        // concurrent writes by guests are fine and any bytes are valid.
        unsafe { address.cast().as_ref() }
    }

    fn check(&self, offset: usize, length: usize) -> Option<NonNull<u8>> {
        let end = offset.checked_add(length)?;
        if end > self.length {
            return None;
        }
        // SAFETY: inside the mapping, as just checked.
        Some(unsafe { self.base.add(offset) })
    }

    /// Copies bytes out of shared memory. Returns whether the range lies inside.
    pub fn read(&self, offset: usize, to: &mut [u8]) -> bool {
        let Some(from) = self.check(offset, to.len()) else { return false };
        // SAFETY: both ranges are valid for their length, and do not overlap, because `to` is
        // memory of this process alone.
        unsafe { copy(to.as_mut_ptr(), from.as_ptr(), to.len()) };
        true
    }

    /// Copies bytes into shared memory. Returns whether the range lies inside.
    pub fn write(&self, offset: usize, from: &[u8]) -> bool {
        let Some(to) = self.check(offset, from.len()) else { return false };
        // SAFETY: as for `read`.
        unsafe { copy(to.as_ptr(), from.as_ptr(), from.len()) };
        true
    }

    /// Reads a host file into shared memory, from `position` or from where the file stands.
    pub fn read_file(
        &self,
        offset: usize,
        length: usize,
        file: BorrowedFd<'_>,
        position: Option<u64>,
    ) -> Result<usize, Errno> {
        let to = self.check(offset, length).ok_or(Errno::FAULT)?.as_ptr().cast();
        let fd = file.as_raw_fd();
        let n = match position {
            Some(position) => {
                let position = i64::try_from(position).map_err(|_| Errno::INVAL)?;
                // SAFETY: the range is valid for writes of `length` bytes.
                unsafe { libc::pread(fd, to, length, position) }
            }
            // SAFETY: as above.
            None => unsafe { libc::read(fd, to, length) },
        };
        usize::try_from(n).map_err(|_| last_error())
    }

    /// Writes shared memory to a host file, at `position` or where the file stands.
    pub fn write_file(
        &self,
        offset: usize,
        length: usize,
        file: BorrowedFd<'_>,
        position: Option<u64>,
    ) -> Result<usize, Errno> {
        let from = self.check(offset, length).ok_or(Errno::FAULT)?.as_ptr().cast_const().cast();
        let fd = file.as_raw_fd();
        let n = match position {
            Some(position) => {
                let position = i64::try_from(position).map_err(|_| Errno::INVAL)?;
                // SAFETY: the range is valid for reads of `length` bytes.
                unsafe { libc::pwrite(fd, from, length, position) }
            }
            // SAFETY: as above.
            None => unsafe { libc::write(fd, from, length) },
        };
        usize::try_from(n).map_err(|_| last_error())
    }
}

fn last_error() -> Errno {
    let code = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    Errno::from_raw_os_error(code)
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and no reference into it outlives the value.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// Types that consist of atomics only, so that guests may write them at any time.
///
/// # Safety
///
/// Every field is an atomic, or is never read.
pub(crate) unsafe trait SharedLayout {}

// SAFETY: all fields are atomics or unused padding.
unsafe impl SharedLayout for channel_abi::Bell {}
// SAFETY: all fields are atomics.
unsafe impl SharedLayout for channel_abi::Slot {}
// SAFETY: all fields are atomics.
unsafe impl SharedLayout for channel_abi::ChannelHeader {}
// SAFETY: `repr(C)`, atomics only.
unsafe impl SharedLayout for channel_abi::Facts {}

/// Structures of the protocol, seen as bytes.
///
/// # Safety
///
/// The type is `repr(C)`, made of integers, and has no padding.
pub unsafe trait ProtocolValue: Copy {
    /// The bytes of the value.
    fn as_bytes(&self) -> &[u8] {
        let start = std::ptr::from_ref(self).cast();
        // SAFETY: a value without padding is so many initialised bytes.
        unsafe { std::slice::from_raw_parts(start, size_of_val(self)) }
    }
}

// SAFETY: words, and pairs of half words that fill one; segments are the same.
unsafe impl ProtocolValue for channel_abi::image::Image {}
// SAFETY: words only.
unsafe impl ProtocolValue for channel_abi::request::Delivery {}
// SAFETY: words only.
unsafe impl ProtocolValue for channel_abi::request::Start {}

/// Copies between memory of ours and memory that a guest may write meanwhile.
///
/// # Safety
///
/// Both ranges are valid for `n` bytes and do not overlap.
unsafe fn copy(to: *mut u8, from: *const u8, n: usize) {
    if n >= 64 {
        // SAFETY: by the contract; the compiler knows nothing of the bytes, so that a concurrent
        // write gives some value and no undefined behaviour.
        unsafe {
            std::arch::asm!("rep movsb", inout("rcx") n => _, inout("rdi") to => _,
                            inout("rsi") from => _, options(nostack, preserves_flags));
        }
        return;
    }
    for index in 0..n {
        // SAFETY: inside both ranges.
        let source = unsafe { from.add(index) };
        // SAFETY: as above; a byte is always aligned.
        let source = unsafe { AtomicU8::from_ptr(source.cast_mut()) };
        let byte = source.load(Ordering::Relaxed);
        // SAFETY: inside both ranges.
        let target = unsafe { to.add(index) };
        // SAFETY: as above.
        let target = unsafe { AtomicU8::from_ptr(target) };
        target.store(byte, Ordering::Relaxed);
    }
}
