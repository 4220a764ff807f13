//! Brings files to the disk while the caller does something else.
//!
//! The host's older asynchronous interface has requests that do what `fsync` and `fdatasync` do,
//! without a thread of ours: the host's own workers wait for the disk.

#![expect(unsafe_code, reason = "asynchronous requests are not wrapped by rustix")]

use std::io::Error;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::EventfdFlags;
use rustix::io;

const COMMAND_FSYNC: u16 = 2;
const COMMAND_FDSYNC: u16 = 3;
/// The request's end is told to a descriptor.
const FLAG_RESFD: u32 = 1;

/// `struct iocb` of `linux/aio_abi.h`. A request to sync has no buffers: the last fields are zero.
#[repr(C)]
#[derive(Default)]
struct Request {
    data: u64,
    key: u32,
    rw_flags: u32,
    command: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    length: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    told: u32,
}

/// `struct io_event` of `linux/aio_abi.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    request: u64,
    result: i64,
    result2: i64,
}

/// So many ends are taken with one call.
const AT_ONCE: usize = 16;

/// How much of a file is brought to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncWhat {
    /// The data, and what is needed to find it.
    Data,
    /// The metadata too.
    All,
}

/// Requests to sync that the host works on.
///
/// Invariant: `context` is one that `io_setup` made in this process and nobody destroys. There is
/// no `Drop`: the host ends it with the process, after the requests that are under way.
#[derive(Debug)]
pub struct SyncRequests {
    context: libc::c_ulong,
    told: OwnedFd,
}

impl SyncRequests {
    /// Room for `most` requests at a time. Fails where the host does not have or permit such
    /// requests, or has no room left for them.
    pub fn new(most: u32) -> io::Result<Self> {
        let told = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let mut context: libc::c_ulong = 0;
        // SAFETY: writes the word that it is given, which is zero as it has to be.
        let failed = unsafe { libc::syscall(libc::SYS_io_setup, most, &raw mut context) };
        if failed == 0 { Ok(Self { context, told }) } else { Err(last_error()) }
    }

    /// Becomes readable, and has another event, whenever requests have ended.
    pub fn told(&self) -> BorrowedFd<'_> {
        self.told.as_fd()
    }

    /// Has the host begin. It has its own hold of the file from then on. `EINVAL` if the file is
    /// of a kind that has nothing to sync. `tag` says which one it was when it ends.
    pub fn begin(&self, file: BorrowedFd<'_>, what: SyncWhat, tag: u64) -> io::Result<()> {
        let mut request = Request {
            data: tag,
            command: match what {
                SyncWhat::Data => COMMAND_FDSYNC,
                SyncWhat::All => COMMAND_FSYNC,
            },
            file: file.as_raw_fd().cast_unsigned(),
            flags: FLAG_RESFD,
            told: self.told.as_raw_fd().cast_unsigned(),
            ..Request::default()
        };
        let list = [&raw mut request];
        // SAFETY:
        // 1. `context` is valid by the invariant.
        // 2. The list has one pointer, to a whole request. The host copies it, writes its `key`,
        //    and keeps of the address no more than a number; the request has no buffers.
        let n = unsafe { libc::syscall(libc::SYS_io_submit, self.context, 1_i64, list.as_ptr()) };
        if n == 1 { Ok(()) } else { Err(last_error()) }
    }

    /// Tells `ended` the tag and the result of every request that has ended since the last time.
    pub fn take_ended(&self, mut ended: impl FnMut(u64, io::Result<()>)) {
        loop {
            let mut events = [Event::default(); AT_ONCE];
            let mut no_time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            let list = events.as_mut_ptr();
            // SAFETY:
            // 1. `context` is valid by the invariant.
            // 2. The host writes at most as many events as the array has, and may write the time.
            let n = unsafe {
                let time = &raw mut no_time;
                libc::syscall(libc::SYS_io_getevents, self.context, 0_i64, AT_ONCE, list, time)
            };
            let n = usize::try_from(n).unwrap_or(0);
            for event in events.iter().take(n) {
                let code = i32::try_from(event.result.saturating_neg()).unwrap_or(libc::EIO);
                let has_failed = event.result < 0;
                let result =
                    if has_failed { Err(io::Errno::from_raw_os_error(code)) } else { Ok(()) };
                ended(event.data, result);
            }
            if n < AT_ONCE {
                return;
            }
        }
    }
}

fn last_error() -> io::Errno {
    io::Errno::from_io_error(&Error::last_os_error()).unwrap_or(io::Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, poll};

    fn wait(requests: &SyncRequests) -> Vec<(u64, bool)> {
        let mut ended = Vec::new();
        while ended.is_empty() {
            poll(&mut [PollFd::from_borrowed_fd(requests.told(), PollFlags::IN)], None).unwrap();
            requests.take_ended(|tag, result| ended.push((tag, result.is_ok())));
        }
        ended
    }

    #[test]
    fn a_file_is_synced_after_it_was_closed() {
        let requests = SyncRequests::new(4).unwrap();
        let path = std::env::temp_dir().join(format!("disk-sync-{}", std::process::id()));
        let file = std::fs::File::create(&path).unwrap();
        std::fs::write(&path, b"data").unwrap();
        requests.begin(file.as_fd(), SyncWhat::All, 7).unwrap();
        drop(file);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(wait(&requests), [(7, true)]);
    }

    #[test]
    fn a_pipe_has_nothing_to_sync() {
        let requests = SyncRequests::new(4).unwrap();
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        let error = requests.begin(reader.as_fd(), SyncWhat::Data, 1).unwrap_err();
        assert_eq!(error, io::Errno::INVAL);
    }
}
