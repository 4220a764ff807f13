//! Signal frames: the host's, which the shim reads, and the guest's, which it writes.

#![expect(unsafe_code, reason = "saves the extended processor state; reads the data area")]

use core::arch::asm;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};

use channel_abi::request::Delivery;

use crate::entry::Registers;
use crate::host::errno;
use crate::mask::{UNBLOCKABLE, on_alt_stack};
use crate::process::{XSAVE_MASK, XSAVE_SIZE};
use crate::thread::{AltStack, NO_ALT_STACK, Tcb};
use crate::usermem::{self, address_of, copy, get, put};

/// `struct ucontext` of x86-64, with its `sigcontext` flattened.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostContext {
    pub uc_flags: u64,
    pub link: u64,
    pub stack: AltStack,
    pub r8: u64,
    pub r9: u64,
    pub r10: u64,
    pub r11: u64,
    pub r12: u64,
    pub r13: u64,
    pub r14: u64,
    pub r15: u64,
    pub rdi: u64,
    pub rsi: u64,
    pub rbp: u64,
    pub rbx: u64,
    pub rdx: u64,
    pub rax: u64,
    pub rcx: u64,
    pub rsp: u64,
    pub rip: u64,
    pub flags: u64,
    pub segments: u64,
    pub error_code: u64,
    pub trap_number: u64,
    pub old_mask: u64,
    pub fault_address: u64,
    pub fp_state: u64,
    pub reserved: [u64; 8],
    pub mask: u64,
}

/// What lies on the guest's stack when its handler starts.
#[repr(C)]
#[derive(Clone, Copy)]
struct GuestFrame {
    restorer: u64,
    context: HostContext,
    info: [u64; 16],
}

/// Moves an interrupted guest context to the register frame.
pub fn save(registers: &mut Registers, context: &HostContext) {
    let c = context;
    *registers = Registers {
        r15: c.r15,
        r14: c.r14,
        r13: c.r13,
        r12: c.r12,
        rbp: c.rbp,
        rbx: c.rbx,
        r11: c.r11,
        r10: c.r10,
        r9: c.r9,
        r8: c.r8,
        rax: c.rax,
        rcx: c.rcx,
        rdx: c.rdx,
        rsi: c.rsi,
        rdi: c.rdi,
        rip: c.rip,
        flags: c.flags,
        rsp: c.rsp,
    };
}

fn context_of(
    registers: &Registers,
    thread: &Tcb,
    delivery: &Delivery,
    fp_state: u64,
) -> HostContext {
    /// `UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS`.
    const UC_FLAGS: u64 = 7;
    /// The user code and stack segments of 64-bit Linux.
    const SEGMENTS: u64 = 0x2b << 48 | 0x33;
    let r = registers;
    let [trap_number, error_code, fault_address] = delivery.trap;
    HostContext {
        uc_flags: UC_FLAGS,
        link: 0,
        stack: thread.alt_stack.get(),
        r8: r.r8,
        r9: r.r9,
        r10: r.r10,
        r11: r.r11,
        r12: r.r12,
        r13: r.r13,
        r14: r.r14,
        r15: r.r15,
        rdi: r.rdi,
        rsi: r.rsi,
        rbp: r.rbp,
        rbx: r.rbx,
        rdx: r.rdx,
        rax: r.rax,
        rcx: r.rcx,
        rsp: r.rsp,
        rip: r.rip,
        flags: r.flags,
        segments: SEGMENTS,
        error_code,
        trap_number,
        old_mask: delivery.old_mask,
        fault_address,
        fp_state,
        reserved: [0; 8],
        mask: delivery.old_mask,
    }
}

const SA_ONSTACK: u64 = 0x0800_0000;
const SS_AUTODISARM: u64 = 1 << 31;
const RED_ZONE: u64 = 128;
/// Where the software-reserved bytes are in an XSAVE image.
const SW_RESERVED: u64 = 464;
const MAGIC1: u32 = 0x4650_5853;
const MAGIC2: u32 = 0x4650_5845;
const XSAVE_HEADER: u64 = 512;
/// Direction, trap and resume flags: cleared for a handler.
const CLEARED_FLAGS: u64 = 0x400 | 0x100 | 0x1_0000;

/// The signal that the kernel's last reply brought.
pub fn delivery(thread: &Tcb) -> Delivery {
    // SAFETY: the data area is mapped and aligned; any bytes make a `Delivery`.
    unsafe {
        core::ptr::with_exposed_provenance::<Delivery>(thread.data() as usize).read_volatile()
    }
}

/// Makes the guest run its handler for `signal` next: pushes a frame and moves the registers.
pub fn push(thread: &Tcb, registers: &mut Registers, signal: u64) -> Result<(), i64> {
    let delivery = delivery(thread);
    let alt = thread.alt_stack.get();
    let on_alt = on_alt_stack(&alt, registers.rsp);
    let mut top = registers.rsp.wrapping_sub(RED_ZONE);
    if delivery.flags & SA_ONSTACK != 0 && alt.size != 0 && !on_alt {
        top = alt.base.wrapping_add(alt.size);
    }
    let size = XSAVE_SIZE.load(Relaxed);
    let fp_state = top.wrapping_sub(size + 4) & !63;
    let at = (fp_state.wrapping_sub(size_of::<GuestFrame>() as u64) & !15).wrapping_sub(8);
    if on_alt && !on_alt_stack(&alt, at) {
        return Err(errno::EFAULT); // the frame would run over the alternate stack
    }
    save_extended_state(thread, fp_state, size)?;
    let guest = GuestFrame {
        restorer: delivery.restorer,
        context: context_of(registers, thread, &delivery, fp_state),
        info: delivery.info,
    };
    put(at, &guest)?;
    // Handlers start with fresh vector and floating point state.
    usermem::restore_extended_state(thread.initial_state(), XSAVE_MASK.load(Relaxed))?;
    // The kernel has set the mask for the handler.
    if alt.flags & SS_AUTODISARM != 0 {
        thread.alt_stack.set(NO_ALT_STACK);
    }
    registers.rip = delivery.handler;
    registers.rsp = at;
    registers.rdi = signal;
    registers.rsi = at + core::mem::offset_of!(GuestFrame, info) as u64;
    registers.rdx = at + core::mem::offset_of!(GuestFrame, context) as u64;
    registers.rax = 0;
    registers.flags &= !CLEARED_FLAGS;
    Ok(())
}

/// Writes the guest's vector and floating point registers, which the shim never touches, to the
/// guest's stack in the form of the host's kernel.
fn save_extended_state(thread: &Tcb, to: u64, size: u64) -> Result<(), i64> {
    let buffer = thread.xsave_buffer();
    let mask = XSAVE_MASK.load(Relaxed);
    // SAFETY: the buffer is this thread's own, aligned to 64 bytes and larger than the image. The
    // header must be zero before the first use; it is, and stays valid, because XSAVE writes it.
    unsafe {
        asm!("xsave64 [{}]", in(reg) buffer, in("eax") mask as u32, in("edx") (mask >> 32) as u32,
             options(nostack));
    }
    let saved = get(buffer + XSAVE_HEADER, 0u64)?;
    let software: [u32; 12] = [
        MAGIC1,
        (size + 4) as u32,
        mask as u32,
        (mask >> 32) as u32,
        size as u32,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
    ];
    put(buffer + SW_RESERVED, &software)?;
    put(buffer + XSAVE_HEADER, &(saved | 3))?;
    copy(to, buffer, size as usize)?;
    put(to + size, &MAGIC2)
}

/// `rt_sigreturn`: the frame starts eight bytes below the stack pointer.
pub fn sigreturn(thread: &Tcb, registers: &mut Registers) -> Result<(), i64> {
    /// The flags that a program may set: arithmetic, trap, direction, nested alignment check.
    const USER_FLAGS: u64 = 0x4_0dd5;
    const ALWAYS_FLAGS: u64 = 0x202;
    let empty = GuestFrame { restorer: 0, context: EMPTY, info: [0; 16] };
    let at = registers.rsp.wrapping_sub(8);
    let guest = empty;
    // The siginfo is not read back: it may have been overwritten by the handler.
    let length = core::mem::offset_of!(GuestFrame, info);
    copy(address_of(&guest), at, length)?;
    let guest = core::hint::black_box(&guest);
    let context = guest.context;
    save(registers, &context);
    registers.flags = context.flags & USER_FLAGS | ALWAYS_FLAGS;
    thread.slot().signal_mask.store(context.mask & !UNBLOCKABLE, SeqCst);
    thread.alt_stack.set(match context.stack {
        stack if stack.flags & 2 != 0 => NO_ALT_STACK,
        stack => AltStack { flags: stack.flags & SS_AUTODISARM, ..stack },
    });
    if context.fp_state == 0 {
        return Ok(());
    }
    restore_extended_state(thread, context.fp_state)
}

fn restore_extended_state(thread: &Tcb, from: u64) -> Result<(), i64> {
    let buffer = thread.xsave_buffer();
    let size = XSAVE_SIZE.load(Relaxed);
    let mut mask = XSAVE_MASK.load(Relaxed);
    let software: [u32; 2] = get(from + SW_RESERVED, [0; 2])?;
    if software[0] == MAGIC1 {
        copy(buffer, from, size as usize)?;
    } else {
        // A plain FXSAVE image: x87 and SSE only.
        copy(buffer, from, XSAVE_HEADER as usize)?;
        put(buffer + XSAVE_HEADER, &[3u64, 0, 0, 0, 0, 0, 0, 0])?;
        mask = 3;
    }
    usermem::restore_extended_state(buffer, mask)
}

const EMPTY: HostContext = HostContext {
    uc_flags: 0,
    link: 0,
    stack: NO_ALT_STACK,
    r8: 0,
    r9: 0,
    r10: 0,
    r11: 0,
    r12: 0,
    r13: 0,
    r14: 0,
    r15: 0,
    rdi: 0,
    rsi: 0,
    rbp: 0,
    rbx: 0,
    rdx: 0,
    rax: 0,
    rcx: 0,
    rsp: 0,
    rip: 0,
    flags: 0,
    segments: 0,
    error_code: 0,
    trap_number: 0,
    old_mask: 0,
    fault_address: 0,
    fp_state: 0,
    reserved: [0; 8],
    mask: 0,
};
