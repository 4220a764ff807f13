//! `utime(2)`, `utimes(2)`, `futimesat(2)`, `utimensat(2)`.

use std::rc::Rc;

use kernel_core::memory::{CString, UserPtr};
use kernel_files::Location;
use kernel_files::anonymous::location_of;
use kernel_files::operations::{TimeChange, change_times};
use kernel_files::walk::LastLink;
use kernel_tasks::Thread;
use linux_abi::files::at;
use linux_abi::time::{Timespec, Timeval};
use linux_abi::{Errno, Fd, SysResult};

use super::caller::{Caller, HERE, check_flags, last_link, read_path, real_file};

const UTIME_NOW: i64 = 0x3fff_ffff;
const UTIME_OMIT: i64 = 0x3fff_fffe;

/// Sets both times, to the second.
pub(crate) fn utime(
    thread: &Rc<Thread>,
    path: UserPtr<CString>,
    times: UserPtr<[i64; 2]>,
) -> SysResult<()> {
    let times = match times.non_null() {
        Some(times) => times
            .read(&thread.memory())?
            .map(|tv_sec| TimeChange::Set(Timespec { tv_sec, tv_nsec: 0 })),
        None => [TimeChange::Now; 2],
    };
    let path = read_path(thread, path)?;
    let location = Caller::new(thread).find(HERE, &path, 0, LastLink::Follow)?;
    set(thread, &location, times)
}

/// Sets both times, to the microsecond.
pub(crate) fn utimes(
    thread: &Rc<Thread>,
    path: UserPtr<CString>,
    times: UserPtr<[Timeval; 2]>,
) -> SysResult<()> {
    futimesat(thread, HERE, path, times)
}

/// Like [`utimes`], named relative to a directory; without a path, of the open file itself.
pub(crate) fn futimesat(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    times: UserPtr<[Timeval; 2]>,
) -> SysResult<()> {
    let times = match times.non_null() {
        Some(times) => {
            let [accessed, modified] = times.cast::<Timeval>().read_many(&thread.memory(), 2)?[..]
            else {
                return Err(Errno::EFAULT);
            };
            [from_timeval(accessed)?, from_timeval(modified)?]
        }
        None => [TimeChange::Now; 2],
    };
    let location = find(thread, directory, path, 0)?;
    set(thread, &location, times)
}

fn from_timeval(time: Timeval) -> SysResult<TimeChange> {
    if !(0..1_000_000).contains(&time.tv_usec) {
        return Err(Errno::EINVAL);
    }
    Ok(TimeChange::Set(Timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_usec * 1000 }))
}

/// Sets both times, to the nanosecond, or one of them, or to now.
pub(crate) fn utimensat(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    times: UserPtr<[Timespec; 2]>,
    flags: u32,
) -> SysResult<()> {
    let times = match times.non_null() {
        Some(times) => {
            let [accessed, modified] = times.cast::<Timespec>().read_many(&thread.memory(), 2)?[..]
            else {
                return Err(Errno::EFAULT);
            };
            [from_timespec(accessed)?, from_timespec(modified)?]
        }
        None => [TimeChange::Now; 2],
    };
    if times == [TimeChange::Keep; 2] {
        return Ok(());
    }
    check_flags(flags, at::SYMLINK_NOFOLLOW | at::EMPTY_PATH)?;
    let location = find(thread, directory, path, flags)?;
    set(thread, &location, times)
}

fn from_timespec(time: Timespec) -> SysResult<TimeChange> {
    match time.tv_nsec {
        UTIME_NOW => Ok(TimeChange::Now),
        UTIME_OMIT => Ok(TimeChange::Keep),
        0..1_000_000_000 => Ok(TimeChange::Set(time)),
        _ => Err(Errno::EINVAL),
    }
}

/// What is named; without a path, what the descriptor names.
fn find(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    flags: u32,
) -> SysResult<Location> {
    if path.is_null() && directory != HERE {
        if flags & !at::EMPTY_PATH != 0 {
            return Err(Errno::EINVAL);
        }
        return Ok(location_of(&real_file(thread, directory)?));
    }
    let path = read_path(thread, path)?;
    Caller::new(thread).find(directory, &path, flags, last_link(flags))
}

fn set(
    thread: &Thread,
    location: &Location,
    [accessed, modified]: [TimeChange; 2],
) -> SysResult<()> {
    change_times(location, &thread.credentials(), accessed, modified)
}
