#![expect(unsafe_code, reason = "descriptors are closed by number, whoever holds them")]
//! Descriptors: those of a process that was copied from another, and more of them for one file.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};

/// Closes every descriptor from 3 on that is not named.
///
/// A copied process has a copy of every descriptor, also of those that other parts of the program
/// hold, such as the writing end of a pipe whose reader waits for the end. Whatever holds one of
/// them must not be used or dropped any more in this process: this belongs into a copy that ends
/// by [`std::process::exit`], before anything else.
pub fn close_all_but(kept: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut numbers: Vec<u32> =
        kept.iter().filter_map(|fd| u32::try_from(fd.as_raw_fd()).ok()).collect();
    numbers.sort_unstable();
    let mut first = 3;
    for number in numbers.into_iter().filter(|number| *number >= 3) {
        if first < number {
            close_range(first, number - 1)?;
        }
        first = number.saturating_add(1);
    }
    close_range(first, u32::MAX)
}

fn close_range(first: u32, last: u32) -> io::Result<()> {
    // SAFETY: takes numbers only. That nobody uses the descriptors is the caller's promise, and a
    // broken one shows as `EBADF`, not as a broken memory.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Another open file of the same memory, pipe or terminal, with flags of its own. It is closed when a
/// program is run.
pub fn open_again(file: impl AsFd, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())
}

/// Whether somebody else has the file of `reader` open or mapped. `reader` is an open file for reading only, and the only
/// descriptor of it. A host where leases are switched off cannot say, and nobody counts.
pub fn has_other_users(reader: BorrowedFd<'_>) -> bool {
    // A lease for writing is granted to the only open file of a file, and goes with it.
    // SAFETY: takes two numbers.
    let granted = unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK) };
    granted != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN)
}

/// How many descriptors this process may have.
pub fn file_limit() -> u64 {
    use rustix::process::{Resource, getrlimit};
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Lets this process have as many descriptors as it may ever have.
pub fn raise_file_limit() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?)
}
