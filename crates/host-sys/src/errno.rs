//! From the host's error numbers to ours.

use linux_abi::Errno;

/// The guest's error number for what the host reported. Host and guest speak the same Linux
/// numbers; a number outside of the documented range becomes `EIO`.
pub fn errno_of(error: rustix::io::Errno) -> Errno {
    match Errno::from_code(error.raw_os_error()).unwrap_or(Errno::EIO) {
        // The descriptors of our own process are to a guest what those of the whole system are.
        Errno::EMFILE => Errno::ENFILE,
        errno => errno,
    }
}
