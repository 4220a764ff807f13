//! Rewrites hot call sites, so that they come to the shim by a jump instead of a signal.
//!
//! Rewriting is for speed only. A site that is not rewritten traps, and is served all the same.
//! Two forms of sites are rewritten:
//!
//! - `mov $number, %eax; syscall`: the `mov` becomes a jump to a trampoline that does it. The
//!   `syscall` stays for whoever jumps to it, and for interrupted calls that are made again.
//! - `syscall; cmp $imm32, %rax`: both become a jump, and the trampoline does the `cmp`. Whoever
//!   still comes to the `cmp` (a call under way, a saved signal frame) must not run into the middle
//!   of the jump: the trampoline is chosen so that the byte there is `int3`, and the trap goes on in
//!   the trampoline ([`behind_breakpoint`]).
//!
//! The kernel sends interpreters whose sites of the first form are rewritten already (`kernel-loader`,
//! `prepared.rs`).
//!
//! A trampoline jumps to `shim_entry` through the control block, so it needs no register but rcx,
//! which a system call destroys anyway. Guests never see an address in a trampoline
//! ([`guest_rip`]).

#![expect(unsafe_code, reason = "reads and writes guest code")]

use core::arch::asm;
use core::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

use channel_abi::{sites, watch};

use crate::channel::{bell, header};
use crate::dispatch::in_vdso;
use crate::host::{self, map, nr};
use crate::process::{IS_THREADED, Lock};
use crate::usermem::{address_of, copy, get};

const PAGE: u64 = 4096;
/// How many sites are counted, and how far a full table is searched.
const SITES: usize = 512;
const PROBES: usize = 16;
/// Trampolines come in areas near the code that uses them.
const AREAS: usize = 24;
const AREA_SIZE: u64 = channel_abi::image::TRAMPOLINES_SIZE;
const TRAMPOLINE: u64 = 32;
/// How far a jump reaches, with a margin.
const REACH: u64 = 0x7f00_0000;

static LOCK: Lock = Lock::new();
/// Address << 8 | times seen; open addressing.
static COUNTS: [AtomicU64; SITES] = [const { AtomicU64::new(0) }; SITES];
/// Where the trampoline areas are.
static TRAMPOLINES: [AtomicU64; AREAS] = [const { AtomicU64::new(0) }; AREAS];

/// A `syscall` instruction trapped. Counts, and rewrites the site when it turns hot. Returns where
/// the call must return to.
pub fn trapped_at(site: u64) -> u64 {
    let back = site + 2;
    let limit = u64::from(bell().rewrite_after.load(Relaxed));
    // Another thread may hold the lock when this one forks; so nobody ever waits for it.
    // A tracer shall see the code as it was written.
    let is_traced = crate::thread::tcb().slot().watch.load(Relaxed) & watch::TRACED != 0;
    if limit == 0 || is_traced || !LOCK.try_lock() {
        return back;
    }
    tell_origin(site);
    let result = if count(site) == limit { rewrite(site) } else { back };
    LOCK.unlock();
    result
}

/// Notes a site that trapped, for the process that this one is a copy of: each new copy traps there
/// anew, if the original never comes there itself, as `fork`'s child does to `_exit`.
fn tell_origin(site: u64) {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let Some(mark) = mark(site) else { return };
    let place = LAST.load(Relaxed).wrapping_add(1);
    LAST.store(place, Relaxed);
    if let Some(word) = header().trapped.get(place as usize % sites::COUNT) {
        word.store(site & sites::ADDRESS | mark << sites::MARK_SHIFT, Relaxed);
    }
}

/// A copy of this process trapped at a site. Rewrites it, if the code there is still the same.
pub fn advised(word: u64) {
    let site = word & sites::ADDRESS;
    let is_traced = crate::thread::tcb().slot().watch.load(Relaxed) & watch::TRACED != 0;
    if word == 0 || is_traced || bell().rewrite_after.load(Relaxed) == 0 {
        return;
    }
    if mark(site) == Some(word >> sites::MARK_SHIFT) && LOCK.try_lock() {
        rewrite(site);
        LOCK.unlock();
    }
}

/// Tells code at a site from other code: 16 bits of what surrounds a `syscall`. `None` if there is none.
fn mark(site: u64) -> Option<u64> {
    const AROUND: usize = 32;
    let code: [u8; AROUND] = get(site.wrapping_sub(AROUND as u64 / 2), [0; AROUND]).ok()?;
    let [0x0f, 0x05, ..] = code.split_at(AROUND / 2).1 else { return None };
    let hash = code.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Some(hash >> sites::MARK_SHIFT)
}

/// A program came with trampolines: they are like ours, and what room they leave is for ours.
pub fn adopt(area: u64) {
    if let Some(first) = TRAMPOLINES.first()
        && area != 0
    {
        first.store(area, SeqCst);
    }
}

/// A child of `fork` may have inherited the lock from a thread that it does not have.
pub fn release_lock_after_fork() {
    LOCK.unlock();
}

fn count(site: u64) -> u64 {
    let start = (site.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize;
    for probe in 0..PROBES {
        let Some(entry) = COUNTS.get((start + probe) % SITES) else { return 0 };
        let value = entry.load(Relaxed);
        if value != 0 && value >> 8 != site {
            continue;
        }
        let times = (value & 0xff) + 1;
        if times <= 0xff {
            entry.store(site << 8 | times, Relaxed);
        }
        return times;
    }
    0
}

fn in_trampoline(rip: u64) -> bool {
    TRAMPOLINES.iter().any(|area| {
        let area = area.load(Relaxed);
        area != 0 && rip.wrapping_sub(area) < AREA_SIZE
    })
}

/// Code came to the `cmp` behind a rewritten `syscall; cmp` and hit the breakpoint there. Returns
/// where to go on.
pub fn behind_breakpoint(rip: u64) -> Option<u64> {
    let site = rip.wrapping_sub(3);
    let [opcode, displacement @ ..]: [u8; 5] = get(site, [0; 5]).ok()?;
    let target = jump_target(site, displacement);
    (opcode == JUMP && in_trampoline(target)).then(|| target + CMP_OFFSET)
}

fn jump_target(site: u64, displacement: [u8; 4]) -> u64 {
    (site + 5).wrapping_add(i64::from(i32::from_le_bytes(displacement)).cast_unsigned())
}

/// The guest's own address for one that may be in a trampoline; `None` on the way into the shim.
pub fn guest_rip(rip: u64) -> Option<u64> {
    if !in_trampoline(rip) {
        return Some(rip);
    }
    let trampoline = rip & !(TRAMPOLINE - 1);
    match rip - trampoline {
        CMP_OFFSET | JUMP_BACK_OFFSET => {
            let [_, displacement @ ..]: [u8; 5] =
                get(trampoline + JUMP_BACK_OFFSET, [0; 5]).ok()?;
            let behind = jump_target(trampoline + JUMP_BACK_OFFSET, displacement);
            Some(if rip - trampoline == CMP_OFFSET { behind - CMP_LENGTH } else { behind })
        }
        _ => None,
    }
}

const JUMP: u8 = 0xe9;
const BREAKPOINT: u64 = 0xcc;
/// `lea displacement(%rip), %rcx`.
const LEA_RCX: [u8; 3] = [0x48, 0x8d, 0x0d];
/// `jmp *%gs:24`: to `shim_entry`.
const JUMP_TO_SHIM: [u8; 8] = [0x65, 0xff, 0x24, 0x25, 24, 0, 0, 0];
/// In a trampoline of the second form: after `lea` and the jump to the shim, the `cmp`, then the
/// jump back.
const CMP_OFFSET: u64 = 15;
const CMP_LENGTH: u64 = 6;
const JUMP_BACK_OFFSET: u64 = CMP_OFFSET + CMP_LENGTH;

/// Rewrites one site, if it has one of the two forms. Returns where the call returns to.
fn rewrite(site: u64) -> u64 {
    let back = site + 2;
    if in_vdso(site) {
        return back;
    }
    let before: [u8; 7] = match get(site.wrapping_sub(7), [0; 7]) {
        Ok(bytes) if site % PAGE >= 7 => bytes,
        _ => [0; 7],
    };
    match before {
        // One of the two below, rewritten already: whoever comes back from there needs the `cmp`.
        [_, _, JUMP, a, b, c, d] if in_trampoline(jump_target(site - 5, [a, b, c, d])) => {}
        [JUMP, a, b, c, d, ..] if in_trampoline(jump_target(site - 7, [a, b, c, d])) => {}
        // mov $number, %eax
        [_, _, 0xb8, low, high, 0, 0] => rewrite_mov(site, site - 5, [low, high]),
        // mov $number, %rax
        [0x48, 0xc7, 0xc0, low, high, 0, 0] => rewrite_mov(site, site - 7, [low, high]),
        _ => {
            if let Ok(cmp @ [0x48, 0x3d, ..]) = get(back, [0u8; 6]) {
                return rewrite_cmp(site, cmp);
            }
        }
    }
    back
}

fn rewrite_mov(site: u64, start: u64, number: [u8; 2]) {
    let Some(trampoline) = room_for_trampoline(site, start, false) else { return };
    let mut code = Code { at: trampoline };
    code.bytes(&[0xb8, number[0], number[1], 0, 0]);
    code.relative(&LEA_RCX, site + 2);
    code.bytes(&JUMP_TO_SHIM);
    let displacement = (trampoline.wrapping_sub(start + 5) as u32).to_le_bytes();
    let [a, b, c, d] = displacement;
    write_code(start, &[JUMP, a, b, c, d]);
}

fn rewrite_cmp(site: u64, cmp: [u8; 6]) -> u64 {
    let back = site + 2;
    let Some(trampoline) = room_for_trampoline(site, site, true) else { return back };
    let mut code = Code { at: trampoline };
    code.relative(&LEA_RCX, trampoline + CMP_OFFSET);
    code.bytes(&JUMP_TO_SHIM);
    code.bytes(&cmp);
    code.relative(&[JUMP], site + 2 + CMP_LENGTH);
    let [a, b, c, d] = (trampoline.wrapping_sub(site + 5) as u32).to_le_bytes();
    if write_code(site, &[JUMP, a, b, c, d]) { trampoline + CMP_OFFSET } else { back }
}

struct Code {
    at: u64,
}

impl Code {
    fn bytes(&mut self, bytes: &[u8]) {
        // A fresh trampoline is writable; if it is not, the site keeps its old code.
        let _ = copy(self.at, address_of(bytes), bytes.len());
        self.at += bytes.len() as u64;
    }

    /// An opcode with a 32-bit displacement to `target`.
    fn relative(&mut self, opcode: &[u8], target: u64) {
        self.bytes(opcode);
        let displacement = target.wrapping_sub(self.at + 4) as u32;
        self.bytes(&displacement.to_le_bytes());
    }
}

/// A free trampoline within reach of `site`. With `breakpoint`, the second byte of the
/// displacement of a jump at `start` must be `int3`.
fn room_for_trampoline(site: u64, start: u64, breakpoint: bool) -> Option<u64> {
    for entry in &TRAMPOLINES {
        let mut area = entry.load(Relaxed);
        if area == 0 {
            area = map_area(site)?;
            entry.store(area, SeqCst);
        }
        if area.abs_diff(site) >= REACH {
            continue;
        }
        let mut at = area;
        while at < area + AREA_SIZE {
            let fits = !breakpoint || at.wrapping_sub(start + 5) >> 8 & 0xff == BREAKPOINT;
            if fits && get(at, 1u8) == Ok(0) {
                return Some(at);
            }
            at += TRAMPOLINE;
        }
    }
    None
}

/// Maps an area in free address space near `site`.
fn map_area(site: u64) -> Option<u64> {
    let flags = map::PRIVATE | map::ANONYMOUS | map::FIXED_NOREPLACE;
    let mut distance = 0x10_0000;
    while distance < REACH {
        for at in [site.wrapping_sub(distance), site.wrapping_add(distance)] {
            let at = at & !(PAGE - 1);
            if at < 0x1_0000 || crate::memory::check_range(at, AREA_SIZE).is_err() {
                continue;
            }
            if host::mmap(at, AREA_SIZE, map::READ_WRITE_EXEC, flags, -1, 0) == at.cast_signed() {
                return Some(at);
            }
        }
        distance += distance / 2;
    }
    None
}

/// Replaces code bytes that may be running. They must lie in one aligned block of 16 bytes, which
/// is replaced at once, unless the process has one thread only.
fn write_code(at: u64, new: &[u8; 5]) -> bool {
    let block = at & !15;
    let in_one_block = at + new.len() as u64 <= block + 16;
    if !in_one_block && IS_THREADED.load(SeqCst) != 0 {
        return false;
    }
    let page = at & !(PAGE - 1);
    let length = ((at + new.len() as u64 + PAGE - 1) & !(PAGE - 1)) - page;
    // A page that can be written already belongs to somebody who writes code there: leave its
    // protection as it is.
    let first = get(at, 0u8).unwrap_or(0);
    let was_writable = copy(at, address_of(&first), 1).is_ok();
    if !was_writable && host::call3(nr::MPROTECT, page, length, map::READ_WRITE_EXEC) != 0 {
        return false;
    }
    let written = if in_one_block {
        replace_block(block, (at - block) as usize, new)
    } else {
        copy(at, address_of(new), new.len()).is_ok()
    };
    if !was_writable {
        host::call3(nr::MPROTECT, page, length, map::READ_EXEC);
    }
    written
}

fn replace_block(block: u64, offset: usize, new: &[u8; 5]) -> bool {
    let Ok(old) = get(block, [0u8; 16]) else { return false };
    let mut bytes = old;
    let Some(place) = bytes.get_mut(offset..offset + new.len()) else { return false };
    place.copy_from_slice(new);
    let (old, bytes) = (u128::from_le_bytes(old), u128::from_le_bytes(bytes));
    let replaced: u8;
    // SAFETY: the block is aligned and was made writable; another thread that runs it sees the old
    // bytes or the new ones.
    unsafe {
        asm!("xchg {low}, rbx", "lock cmpxchg16b [{block}]", "sete {done}", "mov rbx, {low}",
             low = inout(reg) bytes as u64 => _, block = in(reg) block, done = out(reg_byte) replaced,
             inout("rax") old as u64 => _, inout("rdx") (old >> 64) as u64 => _,
             in("rcx") (bytes >> 64) as u64, options(nostack));
    }
    replaced != 0
}
