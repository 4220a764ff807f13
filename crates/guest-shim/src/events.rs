//! The last answer of a wait for events, which need not be asked for again.
//!
//! The kernel says when a program has got the same answer twice, and shows a count that moves as
//! soon as it could get another one. Up to then the answer is given here. A thread keeps one.

use core::cell::Cell;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

use channel_abi::request::{action, reply};

use crate::answers::facts;
use crate::entry::Registers;
use crate::handed;
use crate::host::nr;
use crate::thread::Tcb;
use crate::usermem::{self, address_of};

/// The size of a `struct epoll_event`.
const EVENT_SIZE: usize = 12;
/// How many events are kept at most.
const MAX_EVENTS: usize = 16;

/// An answer, with what was asked.
#[repr(C)]
pub struct KeptEvents {
    /// The count of changes of descriptors at which it was given.
    descriptors: Cell<u64>,
    epoll: Cell<u32>,
    max: Cell<u32>,
    n_events: Cell<usize>,
    events: Cell<[u8; MAX_EVENTS * EVENT_SIZE]>,
}

/// The answer to `epoll_wait` or `epoll_pwait`, put where it belongs, if it is known.
#[inline(always)]
pub fn known(thread: &Tcb, number: u64, r: &Registers) -> Option<i64> {
    let at = thread.events_at.get();
    // Another mask may let a signal in. A thread that plays a child has another's memory.
    if at == 0 || number == nr::EPOLL_PWAIT && r.r8 != 0 || thread.is_vfork_child() {
        return None;
    }
    let (kept, facts) = (thread.kept_events(), facts());
    let n = kept.n_events.get().min(MAX_EVENTS);
    let is_same = kept.epoll.get() == r.rdi as u32 && kept.max.get() == r.rdx as u32;
    // That nothing is ready is only an answer for those who do not want to wait.
    if !is_same || n == 0 && r.r10 as u32 != 0 {
        return None;
    }
    if facts.events.load(Acquire) != at
        || facts.descriptors.load(Acquire) != kept.descriptors.get()
        || handed::is_closing(thread, kept.epoll.get())
    {
        thread.events_at.set(0);
        return None;
    }
    // What cannot be written is for the kernel to judge.
    usermem::copy(r.rsi, address_of(&kept.events), n * EVENT_SIZE).ok()?;
    Some(n as i64)
}

/// Keeps what the kernel has just answered, if it says so.
#[inline(always)]
pub fn keep(thread: &Tcb, r: &Registers, result: Result<i64, i64>) {
    let slot = thread.slot();
    if slot.args[reply::ACTION].load(Relaxed) != action::KEEP_EVENTS || thread.is_vfork_child() {
        return;
    }
    let Ok(n) = result.and_then(|n| usize::try_from(n).map_err(|_| 0)) else { return };
    thread.events_at.set(0);
    let kept = thread.kept_events();
    if n > MAX_EVENTS
        // They are staged: the first that is, and few.
        || usermem::copy(address_of(&kept.events), thread.data(), n * EVENT_SIZE).is_err()
    {
        return;
    }
    kept.epoll.set(r.rdi as u32);
    kept.max.set(r.rdx as u32);
    kept.n_events.set(n);
    kept.descriptors.set(slot.args[reply::DETAIL2].load(Relaxed));
    thread.events_at.set(slot.args[reply::DETAIL].load(Relaxed));
}
