//! `rt_sigaction`, where the kernel need not be asked.
//!
//! The C library's `posix_spawn` asks for the action of every signal and sets nearly all of them
//! to the default that they have already: more than a hundred calls per program started. The
//! kernel tells which signals have the plain default action. What a `vfork` child lays over that,
//! no signal can tell from the plain default, so only the child itself needs to know.

use core::cell::Cell;
use core::sync::atomic::Ordering::Relaxed;

use crate::entry::Registers;
use crate::mask::UNBLOCKABLE;
use crate::thread::Tcb;
use crate::usermem::{get, put};

const SIG_DFL: u64 = 0;
const N_SIGNALS: usize = 64;

/// `SIGCHLD`, `SIGCONT`, `SIGURG`, `SIGWINCH`: the default is to ignore them, and setting it makes
/// those that wait go away. And the two that cannot be set.
const TO_THE_KERNEL: u64 = 1 << 16 | 1 << 17 | 1 << 22 | 1 << 27 | 1 << 8 | 1 << 18;

/// `struct sigaction`, as the kernel has it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Action {
    handler: u64,
    flags: u64,
    restorer: u64,
    mask: u64,
}

const PLAIN: Action = Action { handler: SIG_DFL, flags: 0, restorer: 0, mask: 0 };

/// The flags that there are; others are forgotten, so that a program can find out.
const KNOWN_FLAGS: u64 = 0xdc00_0807;

/// What a `vfork` child has set over plain default actions.
#[repr(C)]
pub struct Overlaid {
    signals: Cell<u64>,
    actions: [Cell<Action>; N_SIGNALS],
}

impl Overlaid {
    /// Another child works on this thread now.
    pub fn forget(&self) {
        self.signals.set(0);
    }

    fn get(&self, index: usize) -> Option<Action> {
        if self.signals.get() >> index & 1 == 0 {
            return None;
        }
        self.actions.get(index).map(Cell::get)
    }

    fn set(&self, index: usize, action: Option<Action>) {
        let (Some(place), bit) = (self.actions.get(index), 1 << index) else { return };
        if let Some(action) = action {
            place.set(action);
            self.signals.set(self.signals.get() | bit);
        } else {
            self.signals.set(self.signals.get() & !bit);
        }
    }
}

/// `rt_sigaction(signal, new, old, size)`. `ask` asks the kernel.
pub fn rt_sigaction(
    thread: &Tcb,
    r: &Registers,
    ask: impl FnOnce() -> Result<i64, i64>,
) -> Result<i64, i64> {
    let (new, old, size) = (r.rsi, r.rdx, r.r10);
    let index = (r.rdi as u32 as usize).wrapping_sub(1);
    let plain = thread.slot().plain_actions.load(Relaxed);
    if size != 8 || index >= N_SIGNALS || plain >> index & 1 == 0 {
        return ask();
    }
    let overlaid = thread.is_vfork_child().then(|| thread.overlaid_actions());
    let before = overlaid.and_then(|overlaid| overlaid.get(index));
    if new != 0 {
        let wanted = get(new, PLAIN)?;
        match overlaid {
            Some(overlaid) if wanted.handler == SIG_DFL && TO_THE_KERNEL >> index & 1 == 0 => {
                let flags = wanted.flags & KNOWN_FLAGS;
                let mask = wanted.mask & !UNBLOCKABLE;
                overlaid.set(index, Some(Action { flags, mask, ..wanted }));
            }
            Some(overlaid) => {
                let result = ask()?;
                overlaid.set(index, None);
                if let Some(before) = before
                    && old != 0
                {
                    put(old, &before)?;
                }
                return Ok(result);
            }
            None => return ask(),
        }
    }
    if old != 0 {
        put(old, &before.unwrap_or(PLAIN))?;
    }
    Ok(0)
}
