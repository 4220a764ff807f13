//! Descriptors that the kernel lends: the shim reads such files by itself.
//!
//! The kernel writes in the channel what it lends, by guest descriptor, and takes it back by
//! overwriting the word. A lent file comes with a host descriptor that shares its position with
//! the guest's open file, so that reading here and in the kernel is the same.

use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicI32, AtomicU32};

use channel_abi::layout::MAX_LENT;
use channel_abi::lent;

use crate::channel::header;
use crate::entry::Registers;
use crate::host::{self, nr};
use crate::memory::check_range;
use crate::process::IS_THREADED;
use crate::thread::Tcb;
use crate::{inbox, usermem};

/// The host descriptor of a lent file.
struct Loan {
    /// The word by which the kernel lent it; 0 if there is none.
    word: AtomicU32,
    /// The host descriptor.
    file: AtomicI32,
    /// How many threads are using it.
    users: AtomicU32,
}

static LOANS: [Loan; MAX_LENT] = [const {
    Loan { word: AtomicU32::new(0), file: AtomicI32::new(-1), users: AtomicU32::new(0) }
}; MAX_LENT];

/// Not zero once anything was lent, for quick answers.
static ANY: AtomicU32 = AtomicU32::new(0);

/// The most that one call moves, as on Linux.
const MAX_COUNT: u64 = 0x7fff_f000;
/// More zeroes than this are the kernel's to write.
const MAX_ZEROES: u64 = 1 << 20;

/// Does a `read`, `pread64`, `lseek` or `write` here, if what it concerns is lent.
#[inline(always)]
pub fn call(thread: &Tcb, number: u64, r: &Registers) -> Option<i64> {
    let fd = r.rdi as u32 as usize;
    let word = header().lent.get(fd)?.load(SeqCst);
    if word == 0 || thread.is_vfork_child() {
        return None;
    }
    match word & lent::KIND {
        lent::FILE => on_file(fd, word, number, r),
        _ => on_device(word, number, r),
    }
}

fn on_file(fd: usize, word: u32, number: u64, r: &Registers) -> Option<i64> {
    if number == nr::WRITE || number != nr::LSEEK && check_range(r.rsi, r.rdx).is_err() {
        return None;
    }
    let loan = LOANS.get(fd)?;
    if IS_THREADED.load(Relaxed) == 0 && loan.word.load(Relaxed) == word {
        // Nobody else can close the host descriptor.
        let file = loan.file.load(Relaxed).cast_unsigned().into();
        return Some(host::call4(number, file, r.rsi, r.rdx, r.r10));
    }
    loan.users.fetch_add(1, SeqCst);
    // Looked at once more: whoever closes the host descriptor changed the word before it looked
    // for users.
    let still = header().lent.get(fd).map_or(0, |word| word.load(SeqCst));
    let holds = still == word && loan.word.load(SeqCst) == word;
    let result = holds.then(|| {
        let file = loan.file.load(Relaxed).cast_unsigned().into();
        host::call4(number, file, r.rsi, r.rdx, r.r10)
    });
    loan.users.fetch_sub(1, SeqCst);
    result
}

fn on_device(word: u32, number: u64, r: &Registers) -> Option<i64> {
    let (address, count) = (r.rsi, r.rdx);
    if count > MAX_COUNT || address.checked_add(count)? > 1 << 47 {
        return None; // the kernel knows which error that is
    }
    match number {
        nr::WRITE if word & lent::WRITES != 0 => Some(count.cast_signed()),
        nr::READ if word & lent::READS == 0 => None,
        nr::READ if word & lent::KIND == lent::NULL => Some(0),
        nr::READ if word & lent::KIND == lent::ZERO && count <= MAX_ZEROES => {
            check_range(address, count).ok()?;
            usermem::zero(address, count as usize).ok()?;
            Some(count.cast_signed())
        }
        _ => None,
    }
}

/// Takes the host descriptor that a message brought. The lock of the inbox is held.
pub fn accept(message: u64, file: i32) {
    let fd = (message & 0xffff) as usize;
    let Some(loan) = LOANS.get(fd) else { return host::close(file) };
    ANY.store(1, Relaxed);
    // The word of the loan before is gone from the channel: its users are soon done.
    loan.word.store(0, SeqCst);
    while loan.users.load(SeqCst) != 0 {
        host::call3(nr::SCHED_YIELD, 0, 0, 0);
    }
    host::close(loan.file.swap(file, SeqCst));
    loan.word.store((message >> lent::MESSAGE_SHIFT) as u32, SeqCst);
}

/// The guest has closed descriptors: gives back what was lent for them.
pub fn give_back(fds: core::ops::Range<usize>) {
    if ANY.load(Relaxed) == 0 {
        return;
    }
    inbox::LOCK.lock();
    for fd in fds.start..fds.end.min(MAX_LENT) {
        let (Some(loan), Some(word)) = (LOANS.get(fd), header().lent.get(fd)) else { break };
        let has_one = loan.word.load(SeqCst) != 0;
        if has_one && loan.word.load(SeqCst) != word.load(SeqCst) && loan.users.load(SeqCst) == 0 {
            loan.word.store(0, SeqCst);
            host::close(loan.file.swap(-1, SeqCst));
        }
    }
    inbox::LOCK.unlock();
}

/// A new process has been lent nothing. No other thread is here.
pub fn forget_after_fork() {
    if ANY.swap(0, Relaxed) == 0 {
        return;
    }
    for loan in &LOANS {
        loan.users.store(0, Relaxed);
        if loan.word.swap(0, Relaxed) != 0 {
            host::close(loan.file.swap(-1, Relaxed));
        }
    }
}
