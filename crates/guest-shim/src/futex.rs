//! `futex`, run by the host on the guest's own memory.

#![expect(unsafe_code, reason = "assembly that kicks must be able to take back")]

use core::arch::global_asm;

use channel_abi::request::restart;

use crate::entry::Registers;
use crate::host::{errno, nr};
use crate::thread::Tcb;
use crate::usermem::address_of;

// shim_futex(pending, mask, call): sleeps in the host's futex unless a signal is deliverable. The
// call is six arguments and a number.
// A kick that arrives from the first instruction up to and including the `syscall` starts it
// again, so that a signal cannot slip in between the look and the sleep.
global_asm!(
    r#"
    .globl shim_futex, shim_futex_begin, shim_futex_end
shim_futex:
    push %rbx
    push %r12
    push %r13
    mov %rdi, %r12
    mov %rsi, %r13
    mov %rdx, %rbx
shim_futex_begin:
    mov (%r13), %rax
    not %rax
    and (%r12), %rax
    jnz 1f
    mov (%rbx), %rdi
    mov 8(%rbx), %rsi
    mov 16(%rbx), %rdx
    mov 24(%rbx), %r10
    mov 32(%rbx), %r8
    mov 40(%rbx), %r9
    mov 48(%rbx), %rax
shim_futex_end:
    syscall
    jmp 2f
1:  mov $-4, %rax
2:  pop %r13
    pop %r12
    pop %rbx
    ret
"#,
    options(att_syntax)
);

unsafe extern "C" {
    fn shim_futex(pending: u64, mask: u64, call: *const [u64; 7]) -> i64;
    /// Where a kicked thread starts again.
    pub fn shim_futex_begin();
    /// The `syscall`: a kick up to here starts again.
    pub fn shim_futex_end();
}

/// The part of the operation that is not a flag.
pub const COMMAND: u64 = 0x7f;
const WAIT: u64 = 0;
const WAKE: u64 = 1;
const REQUEUE: u64 = 3;
const CMP_REQUEUE: u64 = 4;
const WAKE_OP: u64 = 5;
const WAIT_BITSET: u64 = 9;
const WAKE_BITSET: u64 = 10;

/// Whether the host can serve this operation. Those with priority inheritance store thread ids,
/// which are the guest's and mean nothing to the host: see `locks.rs`.
pub fn is_for_host(operation: u64) -> bool {
    matches!(
        operation & COMMAND,
        WAIT | WAKE | REQUEUE | CMP_REQUEUE | WAKE_OP | WAIT_BITSET | WAKE_BITSET
    )
}

/// `futex` with an operation for the host.
pub fn futex(thread: &Tcb, registers: &Registers) -> i64 {
    let r = registers;
    let args = [r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9];
    let command = r.rsi & COMMAND;
    if !matches!(command, WAIT | WAIT_BITSET) {
        return crate::host::call6(nr::FUTEX, args[0], args[1], args[2], args[3], args[4], args[5]);
    }
    let result = sleep(thread, nr::FUTEX, args);
    if result != errno::EINTR {
        return result;
    }
    // Without a time-out, or with an absolute one, the call can simply be made again.
    if r.r10 == 0 || command == WAIT_BITSET { restart::IF_ASKED } else { restart::IF_NO_HANDLER }
}

/// `futex_waitv`: waits for any of several. Hosts before 5.16 do not know it, and say so.
pub fn wait_for_any(thread: &Tcb, r: &Registers) -> i64 {
    match sleep(thread, nr::FUTEX_WAITV, [r.rdi, r.rsi, r.rdx, r.r10, r.r8, 0]) {
        // The time-out is an absolute one.
        errno::EINTR => restart::IF_ASKED,
        result => result,
    }
}

/// Sleeps in a call of the host's, on futexes or a lent pipe. `EINTR` if a signal is to be delivered, or if the
/// kernel wants the thread to look again.
pub fn sleep(thread: &Tcb, number: u64, args: [u64; 6]) -> i64 {
    let slot = thread.slot();
    let [a, b, c, d, e, f] = args;
    let call = [a, b, c, d, e, f, number];
    // SAFETY: `call` and the two words outlive the call.
    unsafe { shim_futex(address_of(&slot.pending), address_of(&slot.signal_mask), &call) }
}
