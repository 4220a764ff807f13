//! Descriptors that the kernel lends: the shim uses such files by itself.
//!
//! The kernel writes in the channel what it lends, by guest descriptor, and takes it back by
//! overwriting the word. A lent file comes with a host descriptor that shares its position with
//! the guest's open file, so that reading here and in the kernel is the same. A lent pipe comes
//! with a side of the host's pipe that the kernel uses too.
//!
//! Readers and writers of a pipe wait for the last descriptor of its other side to be closed, so
//! none may stay open here longer than the guest's own: whoever finds one that is no longer lent
//! closes it.

use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicI32, AtomicU32};

use channel_abi::layout::MAX_LENT;
use channel_abi::lent;

use crate::channel::header;
use crate::entry::Registers;
use crate::host::{self, errno, nr};
use crate::memory::check_range;
use crate::process::IS_THREADED;
use crate::thread::Tcb;
use crate::{futex, inbox, usermem};

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
        lent::PIPE => on_pipe(thread, fd, word, number, r),
        _ => on_device(word, number, r),
    }
}

fn on_file(fd: usize, word: u32, number: u64, r: &Registers) -> Option<i64> {
    if number == nr::WRITE || number != nr::LSEEK && check_range(r.rsi, r.rdx).is_err() {
        return None;
    }
    use_loan(fd, word, |file| host::call4(number, file, r.rsi, r.rdx, r.r10))
}

/// A `read` or `write` that may wait, as it does natively. What comes with a signal, and what ends
/// a wait that was disturbed, is the kernel's to decide: it makes the call once more.
fn on_pipe(thread: &Tcb, fd: usize, word: u32, number: u64, r: &Registers) -> Option<i64> {
    let right = match number {
        nr::READ => lent::READS,
        nr::WRITE => lent::WRITES,
        _ => return None,
    };
    if word & right == 0 || check_range(r.rsi, r.rdx).is_err() {
        return None;
    }
    let result =
        use_loan(fd, word, |file| futex::sleep(thread, number, [file, r.rsi, r.rdx, 0, 0, 0]))?;
    (result != errno::EINTR && result != errno::EPIPE).then_some(result)
}

/// Makes a call with the host descriptor of a loan, if that is still the one that `word` tells of.
fn use_loan(fd: usize, word: u32, call: impl FnOnce(u64) -> i64) -> Option<i64> {
    let loan = LOANS.get(fd)?;
    if IS_THREADED.load(Relaxed) == 0 && loan.word.load(Relaxed) == word {
        // Nobody else can close the host descriptor.
        return Some(call(loan.file.load(Relaxed).cast_unsigned().into()));
    }
    loan.users.fetch_add(1, SeqCst);
    // Looked at once more: whoever closes the host descriptor changed the word before it looked
    // for users.
    let is_lent = || header().lent.get(fd).map_or(0, |word| word.load(SeqCst)) == word;
    let holds = is_lent() && loan.word.load(SeqCst) == word;
    let result = holds.then(|| call(loan.file.load(Relaxed).cast_unsigned().into()));
    if loan.users.fetch_sub(1, SeqCst) == 1 && !is_lent() {
        give_back(fd..fd + 1);
    }
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
    let word = (message >> lent::MESSAGE_SHIFT) as u32;
    let (Some(loan), Some(lent)) = (LOANS.get(fd), header().lent.get(fd)) else {
        return host::close(file);
    };
    ANY.store(1, Relaxed);
    // The loan before is over: no more users come.
    loan.word.store(0, SeqCst);
    if loan.users.load(SeqCst) != 0 {
        // One that waits in a pipe may stay for long. The kernel goes on without this loan, and
        // the last user closes the old one.
        return host::close(file);
    }
    host::close(loan.file.swap(-1, SeqCst));
    if file < 0 || lent.load(SeqCst) != word {
        // The host had no number left for it, or the guest has closed its own meanwhile.
        return host::close(file);
    }
    loan.file.store(file, SeqCst);
    loan.word.store(word, SeqCst);
}

/// Whether anything is lent for this descriptor.
pub fn is_lent(fd: usize) -> bool {
    ANY.load(Relaxed) != 0 && header().lent.get(fd).is_some_and(|word| word.load(Relaxed) != 0)
}

/// The guest has closed descriptors: gives back what was lent for them.
pub fn give_back(fds: core::ops::Range<usize>) {
    if ANY.load(Relaxed) == 0 {
        return;
    }
    inbox::LOCK.lock();
    for fd in fds.start..fds.end.min(MAX_LENT) {
        let (Some(loan), Some(word)) = (LOANS.get(fd), header().lent.get(fd)) else { break };
        let has_one = loan.file.load(SeqCst) >= 0;
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
        loan.word.store(0, Relaxed);
        host::close(loan.file.swap(-1, Relaxed));
    }
}
