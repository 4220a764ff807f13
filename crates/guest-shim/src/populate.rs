//! Puts pages behind memory: by the host, or by touching them where the host cannot (before 5.14).

use core::sync::atomic::AtomicU8;

use crate::host::{self, errno, nr};
use crate::usermem::{self, address_of};

/// `MADV_POPULATE_READ`.
pub const READ: u32 = 22;
/// `MADV_POPULATE_WRITE`.
pub const WRITE: u32 = 23;

const PAGE: u64 = 4096;

/// `madvise(start, length, READ or WRITE)`.
pub fn populate(start: u64, length: u64, advice: u32) -> i64 {
    let advise = |start, length| host::call3(nr::MADVISE, start, length, advice.into());
    let answer = advise(start, length);
    // Advice for nothing is refused only by a host that does not know it.
    if answer != errno::EINVAL || advise(0, 0) == 0 {
        return answer;
    }
    let end = length.checked_next_multiple_of(PAGE).and_then(|length| start.checked_add(length));
    match end {
        Some(end) if start.is_multiple_of(PAGE) => touch(start, end, advice),
        _ => errno::EINVAL,
    }
}

/// Touches every page from `start` up to `end`.
fn touch(start: u64, end: u64, advice: u32) -> i64 {
    let mut at = start;
    while at < end {
        let is_there = match advice {
            WRITE => usermem::can_write(at, 1),
            _ => can_read(at),
        };
        if !is_there {
            return why_not(at);
        }
        at += PAGE;
    }
    0
}

fn can_read(at: u64) -> bool {
    usermem::get(at, 0_u8).is_ok()
}

/// Nothing is mapped, or it may not be written, or there is nothing behind it. Memory that may be
/// neither written nor read cannot be told from the last one.
fn why_not(at: u64) -> i64 {
    let is_resident = AtomicU8::new(0);
    if host::call3(nr::MINCORE, at, PAGE, address_of(&is_resident)) < 0 {
        errno::ENOMEM
    } else if can_read(at) {
        errno::EINVAL
    } else {
        errno::EFAULT
    }
}
