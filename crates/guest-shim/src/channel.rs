//! Requests to the kernel process.

#![expect(unsafe_code, reason = "the bell is at a fixed address")]

use core::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

use channel_abi::layout::{
    BELL_ADDRESS, CHANNEL_ADDRESS, DOORBELL_FD, MAX_SPACES, MAX_THREADS, SLEEP_WORDS,
};
use channel_abi::request::{action, reply};
use channel_abi::{Bell, ChannelHeader, Slot, sleep, state};

use crate::handed;
use crate::host::{self, futex, nr};
use crate::staging::Staged;
use crate::thread::Tcb;
use crate::usermem::address_of;

/// The memory that all processes of the sandbox share.
#[inline(always)]
pub fn bell() -> &'static Bell {
    // SAFETY: the zygote maps it there before any other code runs, and nobody unmaps it. All
    // fields are atomics.
    unsafe { &*core::ptr::with_exposed_provenance(BELL_ADDRESS as usize) }
}

/// The first page of this process's channel.
pub fn header() -> &'static ChannelHeader {
    // SAFETY: as for `bell`; the channel starts with its header.
    unsafe { &*core::ptr::with_exposed_provenance(CHANNEL_ADDRESS as usize) }
}

/// Sends one request and waits for the reply. Returns its result.
pub fn request(thread: &Tcb, number: u32, args: [u64; 6]) -> i64 {
    request_staged(thread, number, args, &Staged::NOTHING)
}

/// Like [`request`], with what has been staged.
#[inline(always)]
pub fn request_staged(thread: &Tcb, number: u32, args: [u64; 6], staged: &Staged) -> i64 {
    let moved = if thread.handed.get() == 0 { 0 } else { handed::end(thread) };
    let closed = handed::tell_closed(thread);
    let slot = thread.slot();
    // All at once: the kernel looks at this line all the time, and whoever writes waits for it.
    // No call and no private request has a number that does not fit.
    slot.number.store(number as u16, Relaxed);
    slot.closed.store(closed, Relaxed);
    for (to, from) in slot.args.iter().zip(args) {
        to.store(from, Relaxed);
    }
    slot.staged.store(staged.mask() | moved, Relaxed);
    for (to, from) in slot.path_lengths.iter().zip(staged.path_lengths()) {
        to.store(from, Relaxed);
    }
    slot.state.swap(state::POSTED, SeqCst);
    let woken = slot.polled.load(Relaxed) == 0 && ring(slot);
    wait_for_reply(slot, woken);
    if slot.wake.load(Relaxed) != 0 {
        wake_another(slot);
    }
    if slot.args[reply::ACTION].load(Relaxed) == action::EXIT_THREAD {
        crate::spawn::exit_thread(thread);
    }
    slot.args[reply::RESULT].load(Relaxed).cast_signed()
}

/// The kernel asks this thread to wake another one: from this CPU no interrupt to another is
/// needed if this thread is about to block.
#[cold]
fn wake_another(slot: &Slot) {
    let word = usize::from(slot.wake_word.load(Relaxed)) % SLEEP_WORDS;
    if let Some(word) = bell().words.get(word) {
        host::call4(nr::FUTEX, address_of(word), futex::WAKE, u64::from(u32::MAX >> 1), 0);
    }
}

/// Tells the kernel that this slot has a request. Returns whether the kernel had to be woken.
#[cold]
fn ring(slot: &Slot) -> bool {
    let bell = bell();
    let index = slot.index.load(Relaxed) as usize % MAX_THREADS;
    let space = slot.space.load(Relaxed) as usize % MAX_SPACES;
    if let Some(word) = header().slots.get(index / 64) {
        word.fetch_or(1 << (index % 64), SeqCst);
    }
    header().groups.fetch_or(1 << (index / 64), SeqCst);
    if let Some(word) = bell.spaces.get(space / 64) {
        word.fetch_or(1 << (space % 64), SeqCst);
    }
    bell.groups.fetch_or(1 << (space / 64), SeqCst);
    if bell.sleeping.load(SeqCst) == sleep::AWAKE
        || bell.sleeping.swap(sleep::AWAKE, SeqCst) == sleep::AWAKE
    {
        return false; // awake, or somebody else wakes it
    }
    let one = 1u64;
    host::call3(nr::WRITE, DOORBELL_FD as u64, address_of(&one), 8);
    true
}

/// Spins while the state is `from`, for at most `limit` ticks. Returns the state then.
#[inline(always)]
fn spin_while(slot: &Slot, from: u32, limit: u64) -> u32 {
    let mut end = 0;
    loop {
        for _ in 0..32 {
            let now = slot.state.load(Acquire);
            if now != from {
                return now;
            }
            core::hint::spin_loop();
        }
        let ticks = host::ticks();
        if end == 0 {
            end = ticks + limit;
        } else if ticks > end || bell().kernel_cpu.load(Relaxed) == host::this_cpu() {
            return from;
        }
    }
}

/// Lets the kernel have this CPU. Returns the state of the request then.
#[cold]
fn give_way(slot: &Slot, too_long: u64) -> u32 {
    let before = host::ticks();
    host::call3(nr::SCHED_YIELD, 0, 0, 0);
    if host::ticks() - before > too_long {
        bell().crowded.store(1, Relaxed);
    }
    slot.state.load(Acquire)
}

fn wait_for_reply(slot: &Slot, woken: bool) {
    let bell = bell();
    let limit = (if woken { &bell.spin_after_wake } else { &bell.spin }).load(Relaxed);
    // On the CPU where the kernel last ran it cannot answer before this thread gets off it.
    let mut now = if limit == 0 || bell.kernel_cpu.load(Relaxed) == host::this_cpu() {
        match (slot.state.load(Acquire), bell.give_way.load(Relaxed)) {
            (state::POSTED, too_long @ 1..) => give_way(slot, u64::from(too_long) << 6),
            (now, _) => now,
        }
    } else {
        spin_while(slot, state::POSTED, u64::from(limit) << 6)
    };
    while now != state::DONE {
        match slot.state.compare_exchange(now, state::ASLEEP, SeqCst, SeqCst) {
            Ok(_) => break,
            Err(other) => now = other,
        }
    }
    if now == state::DONE {
        return;
    }
    let Some(word) = bell.words.get(slot.sleep_word.load(Relaxed) as usize % SLEEP_WORDS) else {
        return;
    };
    loop {
        let value = word.load(SeqCst);
        if slot.state.load(Acquire) == state::DONE {
            return;
        }
        host::call4(nr::FUTEX, address_of(word), futex::WAIT, u64::from(value), 0);
    }
}
