//! `rt_sigprocmask` and `sigaltstack`, which concern the calling thread alone.

use core::sync::atomic::Ordering::{Relaxed, SeqCst};

use crate::entry::Registers;
use crate::host::errno;
use crate::thread::{AltStack, NO_ALT_STACK, Tcb};
use crate::usermem::{get, put};

/// Signals that cannot be blocked: `SIGKILL` and `SIGSTOP`.
pub const UNBLOCKABLE: u64 = 1 << 8 | 1 << 18;

/// `rt_sigprocmask(how, set, old, size)`.
pub fn rt_sigprocmask(thread: &Tcb, how: u64, set: u64, old: u64, size: u64) -> Result<i64, i64> {
    if size != 8 {
        return Err(errno::EINVAL);
    }
    let slot = thread.slot();
    let before = slot.signal_mask.load(Relaxed);
    if set != 0 {
        let bits = get(set, 0u64)?;
        let after = match how as u32 {
            0 => before | bits,
            1 => before & !bits,
            2 => bits,
            _ => return Err(errno::EINVAL),
        };
        let after = after & !UNBLOCKABLE;
        // What was so before, the kernel knows; to say it again takes longer than all the rest.
        if after != before {
            slot.signal_mask.store(after, SeqCst);
        }
    }
    if old != 0 {
        put(old, &before)?;
    }
    Ok(0)
}

const SS_ONSTACK: u64 = 1;
const SS_DISABLE: u64 = 2;
const SS_AUTODISARM: u64 = 1 << 31;
const MIN_STACK: u64 = 2048;

/// Whether the guest runs on its alternate stack now.
pub fn on_alt_stack(stack: &AltStack, rsp: u64) -> bool {
    stack.flags & SS_AUTODISARM == 0 && rsp.wrapping_sub(stack.base).wrapping_sub(1) < stack.size
}

/// `sigaltstack(new, old)`.
pub fn sigaltstack(thread: &Tcb, registers: &Registers) -> Result<i64, i64> {
    let (new, old) = (registers.rdi, registers.rsi);
    let current = thread.alt_stack.get();
    let in_use = on_alt_stack(&current, registers.rsp);
    if new != 0 {
        let mut wanted = get(new, NO_ALT_STACK)?;
        wanted.flags &= 0xffff_ffff;
        let mode = wanted.flags & !SS_AUTODISARM;
        if in_use {
            return Err(errno::EPERM);
        }
        match mode {
            SS_DISABLE => wanted = AltStack { flags: wanted.flags, ..NO_ALT_STACK },
            0 | SS_ONSTACK if wanted.size < MIN_STACK => return Err(errno::ENOMEM),
            0 | SS_ONSTACK => wanted.flags &= SS_AUTODISARM,
            _ => return Err(errno::EINVAL),
        }
        thread.alt_stack.set(wanted);
    }
    if old != 0 {
        let state = if current.size == 0 {
            SS_DISABLE
        } else if in_use {
            SS_ONSTACK
        } else {
            0
        };
        let shown = AltStack { flags: state | current.flags & SS_AUTODISARM, ..current };
        // The padding after the flags is left as zero.
        put(old, &shown)?;
    }
    Ok(0)
}
