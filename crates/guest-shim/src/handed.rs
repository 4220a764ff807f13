//! Small files that the kernel hands over when they are opened, and closes that it is told of later.
//!
//! Most files that are opened are small, are read once from start to end, and closed. A file that
//! does not change comes with the reply of the call that opened it: what `fstat` says of it, and
//! its content. The shim answers from there until its next request, which tells the kernel how far
//! the file was read. A close that nobody else minds is told with the next request, too.
//!
//! Of other files it tells only what `fstat` says, which holds while nothing changes; also to a process
//! with several threads, and of files that are written.
//!
//! The kernel allows all that with its reply, and takes it back by changing a word in the slot.

use core::ops::Range;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

use channel_abi::layout::{HANDED_CONTENT, HANDED_OFFSET, MAX_HANDED};
use channel_abi::request::{action, reply};
use channel_abi::{MOVED, closing};

use crate::answers::facts;
use crate::entry::Registers;
use crate::host::{errno, nr};
use crate::lent;
use crate::memory::check_range;
use crate::process::IS_THREADED;
use crate::thread::Tcb;
use crate::usermem;

/// The size of `struct stat`.
const STAT_SIZE: usize = 144;
/// The size of `struct statx`.
const STATX_SIZE: usize = 256;
/// The basic fields of `struct statx`, the time of birth and the older number of the mount.
const STATX_FIELDS: u32 = 0x1fff;

/// A bit of [`Tcb::handed`]: only what `fstat` says was told.
const TOLD_ONLY: u32 = 1 << 31;
/// The same, and other threads may use the descriptor.
const SHARED: u32 = 1 << 30;
/// Nobody else could have moved the position of the file, which is 0.
const AT_START: u32 = 1 << 29;
/// What was told is what `statx` says.
const EXTENDED: u32 = 1 << 28;
/// The bits of [`Tcb::handed`] that are the descriptor plus one.
const DESCRIPTOR: u32 = EXTENDED - 1;

/// Not zero once this process has asked for locks or leases, which end when a file is closed.
static HAS_LOCKS: AtomicU32 = AtomicU32::new(0);

/// The kernel has opened a file, which may be closed later, and perhaps handed it over.
pub fn begin(thread: &Tcb, fd: i64, word: u64) {
    if thread.is_vfork_child() || !(0..64).contains(&fd) {
        return;
    }
    let slot = thread.slot();
    if word & 0xff == action::TELL_SHARED {
        let detail = slot.args[reply::DETAIL2].load(Relaxed);
        let bits = word >> action::INDEX_SHIFT;
        let at_start = if bits & 1 != 0 { AT_START } else { 0 };
        let extended = if bits & 2 != 0 { EXTENDED } else { 0 };
        thread.handed.set((fd as u32 + 1) | TOLD_ONLY | SHARED | at_start | extended);
        thread.told_at.set(slot.args[reply::DETAIL].load(Relaxed));
        thread.told_flags.set(detail & u64::from(u32::MAX));
        thread.told_descriptors.set((detail >> 32) as u32);
        return;
    }
    if IS_THREADED.load(Relaxed) != 0 {
        return;
    }
    let allowance = slot.allowance.load(SeqCst);
    if thread.allowance.replace(allowance) != allowance {
        thread.later.set(0);
    }
    thread.later.set(thread.later.get() | 1 << fd);
    thread.told_flags.set(slot.args[reply::DETAIL2].load(Relaxed));
    let length = word >> action::INDEX_SHIFT;
    if word & 0xff == action::HAND && length <= MAX_HANDED as u64 {
        thread.handed.set(fd as u32 + 1);
        thread.handed_length.set(length);
        slot.position.store(0, Relaxed);
        slot.handed.store(fd as u32 + 1, Relaxed);
    } else if word & 0xff == action::TELL {
        thread.handed.set((fd as u32 + 1) | TOLD_ONLY | AT_START);
        thread.told_at.set(slot.args[reply::DETAIL].load(Relaxed));
    }
}

/// Descriptors are closed, or become something else.
pub fn forget(thread: &Tcb, fds: &Range<usize>) {
    for fd in fds.start..fds.end.min(64) {
        thread.later.set(thread.later.get() & !(1 << fd));
    }
}

/// A request is about to be made. What it asks may change how far the file was read, and its reply
/// takes the place of what was handed over. Returns [`MOVED`] if there is something to tell.
#[cold]
pub fn end(thread: &Tcb) -> u8 {
    if thread.handed.replace(0) & TOLD_ONLY != 0 {
        return 0;
    }
    let slot = thread.slot();
    if slot.position.load(Relaxed) == 0 {
        slot.handed.store(0, Relaxed);
        return 0;
    }
    MOVED
}

/// A request is about to be made: what was closed since the last one.
#[inline(always)]
pub fn tell_closed(thread: &Tcb) -> u16 {
    if thread.has_closed.replace(false) { thread.slot().closing.load(Relaxed) } else { 0 }
}

/// Whether this descriptor was closed, and no request has told so.
#[inline(always)]
pub fn is_closing(thread: &Tcb, fd: u32) -> bool {
    let closed = thread.slot().closing.load(Relaxed) & closing::DESCRIPTOR;
    thread.has_closed.get() && u32::from(closed) == fd.wrapping_add(1)
}

/// Whether what was handed over for this descriptor still holds.
fn is_here(thread: &Tcb, fd: u64) -> bool {
    let handed = thread.handed.get();
    handed != 0 && handed == (fd as u32).wrapping_add(1) && is_allowed(thread)
}

/// Whether what `fstat` says of this descriptor is here.
fn is_told(thread: &Tcb, fd: u64) -> bool {
    let handed = thread.handed.get();
    if handed & TOLD_ONLY == 0 {
        return is_here(thread, fd);
    }
    let facts = facts();
    handed & DESCRIPTOR == (fd as u32).wrapping_add(1)
        && facts.names.load(Acquire) == thread.told_at.get()
        && if handed & SHARED == 0 {
            is_allowed(thread)
        } else {
            facts.descriptors.load(Acquire) as u32 == thread.told_descriptors.get()
        }
}

/// Whether the file is where it was when it was opened, at its start, and only this thread can change that.
fn is_at_start(thread: &Tcb) -> bool {
    thread.handed.get() & AT_START != 0 && IS_THREADED.load(Relaxed) == 0
}

/// Whether the kernel has taken nothing back.
fn is_allowed(thread: &Tcb) -> bool {
    thread.slot().allowance.load(SeqCst) == thread.allowance.get()
}

/// `read`, `pread64` or `lseek` of the file that was handed over.
#[inline(always)]
pub fn call(thread: &Tcb, number: u64, r: &Registers) -> Option<i64> {
    // Most of the time there is none.
    if thread.handed.get() == 0 { None } else { call_on_handed(thread, number, r) }
}

fn call_on_handed(thread: &Tcb, number: u64, r: &Registers) -> Option<i64> {
    if !is_here(thread, r.rdi) {
        // `lseek` that leaves the file at its start, or asks where it is.
        let stays = number == nr::LSEEK && r.rsi == 0 && r.rdx as u32 <= 1;
        return (stays && is_at_start(thread) && is_told(thread, r.rdi)).then_some(0);
    }
    let position = &thread.slot().position;
    match number {
        nr::READ => {
            let at = position.load(Relaxed);
            let n = copy(thread, r, at)?;
            position.store(at + n, Relaxed);
            Some(n.cast_signed())
        }
        nr::PREAD64 if r.r10.cast_signed() >= 0 => copy(thread, r, r.r10).map(u64::cast_signed),
        nr::LSEEK => seek(thread, r.rsi.cast_signed(), r.rdx),
        _ => None,
    }
}

fn copy(thread: &Tcb, r: &Registers, at: u64) -> Option<u64> {
    let (to, count) = (r.rsi, r.rdx);
    // What Linux says of strange buffers is for the kernel to say.
    if count == 0 || to.checked_add(count)? > 1 << 47 || check_range(to, count).is_err() {
        return None;
    }
    let n = thread.handed_length.get().saturating_sub(at).min(count);
    let from = thread.data() + HANDED_CONTENT as u64 + at.min(MAX_HANDED as u64);
    usermem::copy(to, from, n as usize).ok()?;
    Some(n)
}

fn seek(thread: &Tcb, offset: i64, whence: u64) -> Option<i64> {
    let position = &thread.slot().position;
    let start = match whence as u32 {
        0 => 0,
        1 => position.load(Relaxed).cast_signed(),
        2 => thread.handed_length.get().cast_signed(),
        _ => return None,
    };
    let to = start.checked_add(offset)?;
    // Nothing more than to the end: so that the position can be told as it is.
    if to < 0 || to.cast_unsigned() > thread.handed_length.get() {
        return None;
    }
    // Back at the start is as if nothing had been read.
    position.store(to.cast_unsigned(), Relaxed);
    Some(to)
}

/// Other questions about the file that was opened last.
#[inline(always)]
pub fn ask(thread: &Tcb, number: u64, r: &Registers) -> Option<i64> {
    if thread.handed.get() == 0 { None } else { ask_of_told(thread, number, r) }
}

fn ask_of_told(thread: &Tcb, number: u64, r: &Registers) -> Option<i64> {
    const AT_EMPTY_PATH: u64 = 0x1000;
    const TCGETS: u64 = 0x5401;
    if !is_told(thread, r.rdi) {
        return None;
    }
    let is_extended = thread.handed.get() & EXTENDED != 0;
    match number {
        nr::FSTAT if !is_extended => put(thread, r.rsi, STAT_SIZE),
        nr::NEWFSTATAT if !is_extended && r.r10 == AT_EMPTY_PATH && is_empty(r.rsi) => {
            put(thread, r.rdx, STAT_SIZE)
        }
        // With other flags, or for fields that are seldom asked for, the kernel is asked.
        nr::STATX if is_extended && r.rdx == AT_EMPTY_PATH && is_empty(r.rsi) => {
            if r.r10 as u32 & !STATX_FIELDS == 0 { put(thread, r.r8, STATX_SIZE) } else { None }
        }
        nr::IOCTL if r.rsi as u32 == TCGETS as u32 => Some(errno::ENOTTY),
        nr::FCNTL if thread.handed.get() & SHARED == 0 || is_at_start(thread) => {
            answer_fcntl(thread, r.rsi as u32, r.rdx)
        }
        _ => None,
    }
}

/// What the flags of the file and of its descriptor are; and to set what is set already.
fn answer_fcntl(thread: &Tcb, command: u32, argument: u64) -> Option<i64> {
    const F_GETFD: u32 = 1;
    const F_SETFD: u32 = 2;
    const F_GETFL: u32 = 3;
    const O_CLOEXEC: u64 = 0o2_000_000;
    let flags = thread.told_flags.get();
    let close_on_exec = u64::from(flags & O_CLOEXEC != 0);
    match command {
        F_GETFD => Some(close_on_exec.cast_signed()),
        F_SETFD if argument & 1 == close_on_exec => Some(0),
        F_GETFL => Some((flags & !O_CLOEXEC).cast_signed()),
        _ => None,
    }
}

fn is_empty(path: u64) -> bool {
    usermem::get(path, 0u8) == Ok(0)
}

fn put(thread: &Tcb, to: u64, size: usize) -> Option<i64> {
    check_range(to, size as u64).ok()?;
    usermem::copy(to, thread.data() + HANDED_OFFSET as u64, size).ok()?;
    Some(0)
}

/// Closes a descriptor without telling the kernel yet, if it allows that.
pub fn close_later(thread: &Tcb, fd: u64) -> bool {
    let fd = fd as u32;
    if fd >= 64 || thread.later.get() >> fd & 1 == 0 {
        return false;
    }
    let slot = thread.slot();
    if IS_THREADED.load(Relaxed) | HAS_LOCKS.load(Relaxed) != 0
        || thread.is_vfork_child()
        || thread.has_closed.get()
        // What is lent would still be read here until the kernel knows.
        || lent::is_lent(fd as usize)
    {
        return false;
    }
    thread.later.set(thread.later.get() & !(1 << fd));
    if thread.handed.get() & DESCRIPTOR == fd + 1 {
        thread.handed.set(0);
        slot.handed.store(0, Relaxed);
    }
    let count = thread.close_count.get().wrapping_add(1);
    thread.close_count.set(count);
    let told = count << closing::COUNT_SHIFT | (fd as u16 + 1);
    slot.closing.store(told, SeqCst);
    thread.has_closed.set(true);
    // The kernel changes the word before it looks for what was closed: one of us sees the other.
    if is_allowed(thread) || slot.closing.swap(0, SeqCst) != told {
        return true;
    }
    thread.has_closed.set(false);
    false
}

/// Calls by which a process gets what it loses when it closes a file.
pub fn note_locks(number: u64, r: &Registers) {
    const SETS_LOCKS: [u64; 6] = [6, 7, 37, 38, 1024, 1026];
    if number == nr::FLOCK || number == nr::FCNTL && SETS_LOCKS.contains(&(r.rsi & 0xffff_ffff)) {
        HAS_LOCKS.store(1, Relaxed);
    }
}
