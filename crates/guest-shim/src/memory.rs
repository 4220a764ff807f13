//! Memory calls: run by the host, kept away from the shim's own memory.

use core::sync::atomic::Ordering::Relaxed;

use channel_abi::layout::{GUEST_END, SHIM_BASE, SHIM_END};
use channel_abi::request::{action, reply};

use crate::channel::request;
use crate::entry::Registers;
use crate::host::{self, errno, map, nr};
use crate::inbox;
use crate::populate;
use crate::process::HEAP;
use crate::thread::Tcb;

const PAGE: u64 = 4096;

/// Refuses ranges that touch the shim's memory.
pub fn check_range(address: u64, length: u64) -> Result<(), i64> {
    // A range that wraps is the host's to refuse.
    let Some(end) = address.checked_add(length) else { return Ok(()) };
    if address < SHIM_END && end > SHIM_BASE { Err(errno::ENOMEM) } else { Ok(()) }
}

/// What Linux refuses before it looks at anything else.
const KNOWN_PROTECTION: u64 = 7;
const GROWS: u64 = 0x0100_0000 | 0x0200_0000;

/// Flags that the host's filter would refuse, or that would cost the host dearly.
const UNSUPPORTED_FLAGS: u64 = map::HUGETLB;

/// `mmap(address, length, protection, flags, fd, offset)`.
pub fn mmap(thread: &Tcb, registers: &Registers) -> Result<i64, i64> {
    let r = registers;
    let (address, length, protection, flags, fd, offset) = (r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9);
    if offset % PAGE != 0 {
        return Err(errno::EINVAL);
    }
    if flags & (map::FIXED | map::FIXED_NOREPLACE) != 0 {
        check_range(address, length)?;
    }
    if flags & map::HUGETLB != 0 && flags & UNSUPPORTED_FLAGS != 0 {
        return Err(errno::ENOMEM); // as a host without reserved huge pages answers
    }
    // Locked memory is the host's to give; the guest's limit is the kernel's.
    let args = [address, length, protection, flags, fd, offset];
    let is_private_memory = flags & (map::ANONYMOUS | map::SHARED) == map::ANONYMOUS;
    if flags & map::LOCKED != 0 && is_private_memory {
        let result = request(thread, nr::MMAP as u32, args);
        if result < 0 {
            return Ok(result);
        }
    }
    let flags = flags & !map::LOCKED;
    let hint = if flags & map::FIXED == 0 { usable_hint(address, length) } else { address };
    if is_private_memory {
        return Ok(host::mmap(hint, length, protection & KNOWN_PROTECTION, flags, -1, 0));
    }
    // Memory that processes share is a file of the kernel's, which counts it: a host process does not show what it has
    // filled there and let go of.
    let offset = if flags & map::ANONYMOUS != 0 { 0 } else { offset };
    let flags = flags & !map::ANONYMOUS;
    map_file(thread, nr::MMAP as u32, args, |file, add_flags| {
        host::mmap(
            hint,
            length,
            protection & KNOWN_PROTECTION,
            flags | add_flags,
            i64::from(file),
            offset,
        )
    })
}

/// A hint inside the shim's memory is ignored, as the host ignores one that is taken.
fn usable_hint(address: u64, length: u64) -> u64 {
    if check_range(address, length).is_err() || address > GUEST_END { 0 } else { address }
}

/// Asks the kernel for the file behind a mapping and has it mapped.
pub fn map_file(
    thread: &Tcb,
    number: u32,
    args: [u64; 6],
    map: impl FnOnce(i32, u64) -> i64,
) -> Result<i64, i64> {
    let result = request(thread, number, args);
    let slot = thread.slot();
    let word = slot.args[reply::ACTION].load(Relaxed);
    if result < 0 || word & 0xff != action::MAP {
        return Ok(result);
    }
    let add_flags = slot.args[reply::DETAIL].load(Relaxed);
    let message = slot.args[reply::DETAIL2].load(Relaxed);
    inbox::LOCK.lock();
    let place = (word >> action::INDEX_SHIFT & 0xff) as usize;
    let file = inbox::file(place, message);
    let address = map(file, add_flags);
    if word & action::ONCE != 0 {
        inbox::forget(place);
    }
    inbox::LOCK.unlock();
    Ok(address)
}

/// `munmap`, `mprotect`, `madvise`, `msync`, `mincore`: as the host does them.
pub fn on_range(number: u64, registers: &Registers) -> Result<i64, i64> {
    let r = registers;
    if number == nr::MADVISE && r.rsi.checked_add(PAGE - 1).is_none() {
        return Err(errno::EINVAL); // longer than all addresses, once rounded up
    }
    check_range(r.rdi, r.rsi)?;
    let third = if number == nr::MPROTECT { r.rdx & !GROWS } else { r.rdx };
    if number == nr::MPROTECT && third & !KNOWN_PROTECTION != 0 {
        return Err(errno::EINVAL);
    }
    if number == nr::MADVISE && !is_advice_allowed(r.rdx) {
        return Err(errno::EINVAL);
    }
    if number == nr::MADVISE && matches!(r.rdx as u32, populate::READ | populate::WRITE) {
        return Ok(populate::populate(r.rdi, r.rsi, r.rdx as u32));
    }
    Ok(host::call3(number, r.rdi, r.rsi, third))
}

/// Puts pages behind memory that is to be locked. Nothing of the sandbox is kept from being swapped
/// out: that is the host's memory.
pub fn fill(start: u64, length: u64) {
    let first = start & !(PAGE - 1);
    let Some(end) = start.checked_add(length) else { return };
    let length = end.next_multiple_of(PAGE) - first;
    if check_range(first, length).is_ok() && populate::populate(first, length, populate::WRITE) < 0
    {
        populate::populate(first, length, populate::READ);
    }
}

/// Advice that the host's filter lets through.
fn is_advice_allowed(advice: u64) -> bool {
    matches!(advice as u32, 0..=4 | 8..=11 | 14..=23)
}

/// `mremap(old, old_size, new_size, flags, new)`.
pub fn mremap(registers: &Registers) -> Result<i64, i64> {
    const FIXED: u64 = 2;
    let r = registers;
    check_range(r.rdi, r.rsi)?;
    if r.r10 & FIXED != 0 {
        check_range(r.r8, r.rdx)?;
    }
    Ok(host::call6(nr::MREMAP, r.rdi, r.rsi, r.rdx, r.r10, r.r8, 0))
}

/// `brk(end)`: the heap is ordinary anonymous memory behind the program.
pub fn brk(wanted: u64) -> i64 {
    HEAP.lock.lock();
    let end = move_break(wanted);
    HEAP.lock.unlock();
    end.cast_signed()
}

fn move_break(wanted: u64) -> u64 {
    let (start, now) = (HEAP.start.load(Relaxed), HEAP.end.load(Relaxed));
    if wanted < start || check_range(start, wanted - start).is_err() {
        return now;
    }
    let Some(rounded) = wanted.checked_add(PAGE - 1) else { return now };
    let (mapped, needed) = ((now + PAGE - 1) & !(PAGE - 1), rounded & !(PAGE - 1));
    if needed > mapped {
        let flags = map::PRIVATE | map::ANONYMOUS | map::FIXED_NOREPLACE;
        let at = host::mmap(mapped, needed - mapped, map::READ_WRITE, flags, -1, 0);
        if at != mapped.cast_signed() {
            return now;
        }
    } else if needed < mapped {
        host::call3(nr::MUNMAP, needed, mapped - needed, 0);
    }
    HEAP.end.store(wanted, Relaxed);
    wanted
}
