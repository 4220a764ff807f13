//! Threads whose calls somebody watches: a tracer (`ptrace`), or a filter (`seccomp`).
//!
//! Such a thread announces every call, also those that the shim answers by itself, and shows its
//! registers when it asks the kernel anything. What the kernel makes of them is what it goes on
//! with. A thread that nobody watches pays one load for this.

#![expect(unsafe_code, reason = "saves the extended processor state")]

use core::arch::asm;
use core::sync::atomic::Ordering::Relaxed;

use channel_abi::layout::STATE_OFFSET;
use channel_abi::request::{ENTER_CALL, FAULT, LEAVE_CALL, POKED, action, reply, restart, verdict};
use channel_abi::{register, resume, watch};

use crate::channel::request;
use crate::dispatch;
use crate::entry::Registers;
use crate::host::{self, errno, nr};
use crate::process::{XSAVE_MASK, XSAVE_SIZE};
use crate::signals::{InterruptedCall, deliver};
use crate::thread::{Step, Tcb};
use crate::usermem::{self, put};
use crate::{memory, rewrite, spawn};

const TRAP_FLAG: u64 = 0x100;
/// The flags that a tracer may set, as Linux has it, and those that are always set.
const USER_FLAGS: u64 = 0x4_4dd5;
const ALWAYS_FLAGS: u64 = 0x202;
const CODE_SEGMENT: u64 = 0x33;
const STACK_SEGMENT: u64 = 0x2b;

/// Runs the call in the frame, and tells the kernel before and after. Returns 1: all registers
/// must be restored.
pub fn dispatch(thread: &Tcb, registers: &mut Registers) -> u32 {
    thread.original.set(registers.rax);
    if thread.slot().watch.load(Relaxed) & watch::CALLS == 0 {
        // A traced thread whose calls the tracer does not want to see.
        let call = run(thread, registers);
        finish(thread, registers, call, false);
        return 1;
    }
    if thread.step.get() != Step::Off {
        thread.step.set(Step::Wanted);
    }
    registers.rax = errno::ENOSYS.cast_unsigned();
    let mut call: InterruptedCall = None;
    let decision = ask(thread, registers, ENTER_CALL, &mut call);
    leave_if_told(thread, registers);
    call = None;
    if decision == verdict::RUN && thread.original.get() != u64::MAX {
        call = run(thread, registers);
    }
    let is_step = thread.step.get() == Step::Wanted;
    // The end of the call may have ended the watching.
    if thread.slot().watch.load(Relaxed) & watch::ENDS != 0 {
        ask(thread, registers, LEAVE_CALL, &mut call);
        leave_if_told(thread, registers);
    }
    finish(thread, registers, call, is_step);
    1
}

/// Makes the call that the thread is in. Its result is in the frame; if it is to be made again,
/// that is said.
fn run(thread: &Tcb, registers: &mut Registers) -> InterruptedCall {
    let number = thread.original.get();
    if number == nr::RT_SIGRETURN {
        let bad_frame = dispatch::load_frame(thread, registers);
        thread.original.set(u64::MAX);
        if bad_frame {
            deliver(thread, registers, None, true);
        }
        return None;
    }
    let result = dispatch::call(thread, registers, number).unwrap_or_else(|error| error);
    registers.rax = result.cast_unsigned();
    dispatch::is_restart(result).then_some((number, result))
}

/// What happens between a call and guest code: the end of a single step, and signals.
fn finish(thread: &Tcb, registers: &mut Registers, call: InterruptedCall, is_step: bool) {
    let mut ask_anyway = call.is_some();
    if is_step && thread.step.get() == Step::Wanted {
        // The step was this call.
        const SIGTRAP: u64 = 5;
        const TRAP_TRACE: u64 = 2;
        thread.step.set(Step::Off);
        request(thread, FAULT, [SIGTRAP, TRAP_TRACE, registers.rip, 0, 0, 0]);
        ask_anyway = true;
    }
    if let Some(call) = deliver(thread, registers, call, ask_anyway) {
        make_again(registers, call);
    }
    arm_step(thread, registers);
}

/// An interrupted call is made again from its `syscall` instruction, which is always still there.
pub fn make_again(registers: &mut Registers, (number, how): (u64, i64)) {
    registers.rip = rewrite::guest_rip(registers.rip).unwrap_or(registers.rip).wrapping_sub(2);
    registers.rax = if how == restart::CONTINUATION { nr::RESTART_SYSCALL } else { number };
}

/// If one step is wanted, the processor shall trap after it.
pub fn arm_step(thread: &Tcb, registers: &mut Registers) {
    if thread.step.get() == Step::Wanted {
        registers.flags |= TRAP_FLAG;
    }
}

/// A fresh program: nothing of it has run, and `execve` is about to return.
pub fn begin(thread: &Tcb, registers: &mut Registers) {
    thread.original.set(nr::EXECVE);
    deliver(thread, registers, None, false);
    arm_step(thread, registers);
}

/// The process is over, or goes on elsewhere.
fn leave_if_told(thread: &Tcb, registers: &mut Registers) {
    if thread.slot().args[reply::ACTION].load(Relaxed) & 0xff == action::LEAVE {
        registers.rax = spawn::leave(thread, registers).cast_unsigned();
    }
}

/// Asks the kernel something about the thread as it is. A watched thread shows its registers, and
/// goes on with those that it is given back; `call` then is what they say of an interrupted call.
pub fn ask(
    thread: &Tcb,
    registers: &mut Registers,
    number: u32,
    call: &mut InterruptedCall,
) -> i64 {
    let watched = thread.slot().watch.load(Relaxed);
    if watched == 0 {
        return request(thread, number, [0; 6]);
    }
    if let Some((_, how)) = *call {
        registers.rax = how.cast_unsigned();
    }
    // Nobody sees an address in a trampoline.
    registers.rip = rewrite::guest_rip(registers.rip).unwrap_or(registers.rip);
    show(thread, registers);
    if watched & watch::TRACED != 0 {
        save_state(thread);
    }
    let mut result = request(thread, number, [0; 6]);
    while let Some(done) = poke_if_told(thread) {
        result = request(thread, POKED, [done.cast_unsigned(), 0, 0, 0, 0, 0]);
    }
    take_back(thread, registers);
    let (original, value) = (thread.original.get(), registers.rax.cast_signed());
    *call = (original != u64::MAX && dispatch::is_restart(value)).then_some((original, value));
    result
}

/// Writes for a tracer what the guest may not write itself. Returns 0 or an error, if that is what
/// the reply wants.
fn poke_if_told(thread: &Tcb) -> Option<i64> {
    const PAGE: u64 = 4096;
    const WRITE: u64 = 2;
    let args = &thread.slot().args;
    let word = args[reply::ACTION].load(Relaxed);
    if word & 0xff != action::POKE {
        return None;
    }
    let address = args[reply::DETAIL].load(Relaxed);
    let value = args[reply::DETAIL2].load(Relaxed);
    let protection = word >> action::INDEX_SHIFT & 7;
    let page = address & !(PAGE - 1);
    let length = (address.wrapping_add(8 + PAGE - 1) & !(PAGE - 1)).wrapping_sub(page);
    if memory::check_range(page, length).is_err() {
        return Some(errno::EFAULT);
    }
    let allowed = host::call3(nr::MPROTECT, page, length, protection | WRITE);
    if allowed != 0 {
        return Some(allowed);
    }
    let written = put(address, &value);
    host::call3(nr::MPROTECT, page, length, protection);
    Some(written.err().unwrap_or(0))
}

fn show(thread: &Tcb, r: &Registers) {
    let shown = [
        r.r15,
        r.r14,
        r.r13,
        r.r12,
        r.rbp,
        r.rbx,
        r.r11,
        r.r10,
        r.r9,
        r.r8,
        r.rax,
        r.rcx,
        r.rdx,
        r.rsi,
        r.rdi,
        thread.original.get(),
        r.rip,
        CODE_SEGMENT,
        if thread.step.get() == Step::Off { r.flags } else { r.flags & !TRAP_FLAG },
        r.rsp,
        STACK_SEGMENT,
        host::fs_base(),
        0,
        0,
        0,
        0,
        0,
    ];
    let slot = thread.slot();
    for (to, from) in slot.registers.iter().zip(shown) {
        to.store(from, Relaxed);
    }
    slot.resume.store(0, Relaxed);
}

fn take_back(thread: &Tcb, registers: &mut Registers) {
    let slot = thread.slot();
    let at = |index: usize| slot.registers[index].load(Relaxed);
    *registers = Registers {
        r15: at(0),
        r14: at(1),
        r13: at(2),
        r12: at(3),
        rbp: at(4),
        rbx: at(5),
        r11: at(6),
        r10: at(7),
        r9: at(8),
        r8: at(9),
        rax: at(register::RAX),
        rcx: at(11),
        rdx: at(12),
        rsi: at(13),
        rdi: at(14),
        rip: at(register::RIP),
        flags: at(register::FLAGS) & USER_FLAGS | ALWAYS_FLAGS,
        rsp: at(register::RSP),
    };
    thread.original.set(at(register::ORIGINAL_RAX));
    if host::fs_base() != at(register::FS_BASE) && at(register::FS_BASE) < 1 << 47 {
        host::set_fs_base(at(register::FS_BASE));
    }
    let how = slot.resume.load(Relaxed);
    if how & resume::STATE_CHANGED != 0 {
        // A state that the processor does not take is not taken.
        let image = thread.data() + STATE_OFFSET as u64;
        let _ = usermem::restore_extended_state(image, XSAVE_MASK.load(Relaxed));
    }
    thread.step.set(if how & resume::STEP != 0 { Step::Wanted } else { Step::Off });
}

/// Leaves an image of the vector and floating point registers for the tracer.
fn save_state(thread: &Tcb) {
    const HEADER: u64 = 512;
    let image = thread.data() + STATE_OFFSET as u64;
    let mask = XSAVE_MASK.load(Relaxed);
    // The memory is the channel's: it can be written.
    let _ = put(image + HEADER, &[0u64; 8]);
    // SAFETY: the image is inside this thread's data area, aligned to 64 bytes, and the room behind
    // it is larger than the state, which was checked at the start.
    unsafe {
        asm!("xsave64 [{}]", in(reg) image, in("eax") mask as u32, in("edx") (mask >> 32) as u32,
             options(nostack));
    }
    // Where the host tells debuggers which parts there are.
    const SOFTWARE: u64 = 464;
    let _ = put(image + SOFTWARE, &mask);
    thread.slot().state_size.store(XSAVE_SIZE.load(Relaxed) as u32, Relaxed);
}
