//! Assembly: the way in from guest code and back.

#![expect(unsafe_code, reason = "assembly that guest code jumps to")]

use core::arch::global_asm;
use core::mem::offset_of;

use channel_abi::Slot;

use crate::dispatch::OWN_IDS;

/// The guest's registers, at a fixed place: the top of the thread's shim stack.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Registers {
    pub r15: u64,
    pub r14: u64,
    pub r13: u64,
    pub r12: u64,
    pub rbp: u64,
    pub rbx: u64,
    pub r11: u64,
    pub r10: u64,
    pub r9: u64,
    pub r8: u64,
    pub rax: u64,
    pub rcx: u64,
    pub rdx: u64,
    pub rsi: u64,
    pub rdi: u64,
    pub rip: u64,
    pub flags: u64,
    pub rsp: u64,
}

impl Registers {
    /// The registers of a program that has not run yet.
    pub const ZERO: Self = Self {
        r15: 0,
        r14: 0,
        r13: 0,
        r12: 0,
        rbp: 0,
        rbx: 0,
        r11: 0,
        r10: 0,
        r9: 0,
        r8: 0,
        rax: 0,
        rcx: 0,
        rdx: 0,
        rsi: 0,
        rdi: 0,
        rip: 0,
        flags: 0x202,
        rsp: 0,
    };
}

// Offsets in the control block (`thread.rs`): 0 itself, 8 scratch for rsp, 16 top of the shim's
// stack, 24 address of shim_entry, 32 scratch for rip, 40 the slot.
//
// GS is the only register that belongs to a thread and that guests do without: FS is their own, the
// stack can be anywhere, and a call leaves free just rcx and r11, which say nothing of the thread. A
// guest with a GS base of its own (`ARCH_SET_GS`) could therefore come in by a signal only, whose
// stack is known, and go back by `rt_sigreturn` only, because the last jump here goes through GS as
// well. That is a second way in and out beside this one, with every trampoline undone when it
// begins; programs that want it are too rare for that.
//
// shim_entry is what a `syscall` instruction of the guest becomes: rax holds the number, rcx the
// address to return to; rcx and r11, which gets the flags as on Linux, are dead for the caller. The
// guest's stack, and the red zone below it, is not touched, because the stack is switched first.
//
// Who only asks for a number gets it at once, up to shim_answered, with the flags that it came with:
// neither `mov`, `lea`, `not` nor `jrcxz` changes any. A number is below 256 if it equals its lowest
// byte. No signal is looked for there, so a kick sends the thread on to shim_slow, which looks.
//
// Between shim_restore_begin and shim_restore_end the frame is complete whatever has been popped
// already, so that a kick that arrives there simply starts again at shim_recheck.
global_asm!(
    r#"
    .globl shim_entry, shim_answered, shim_slow, shim_recheck, shim_restore_begin, shim_restore_end
shim_entry:
    mov %rcx, %gs:32
    mov %gs:40, %r11
    movzbl %al, %ecx
    not %rcx
    lea 1(%rax,%rcx), %rcx
    jrcxz 6f
7:  mov %gs:32, %rcx
    jmp shim_slow
6:  mov {watch}(%r11), %ecx
    jrcxz 8f
    jmp 7b
8:  lea {own_ids}(%rip), %rcx
    movzbl (%rcx,%rax), %ecx
    jrcxz 7b
    mov {ids}-4(%r11,%rcx,4), %eax
shim_answered:
    mov %gs:32, %rcx
    jmp *%rcx
shim_slow:
    mov %rsp, %gs:8
    mov %gs:16, %rsp
    pushq %gs:8
    pushfq
    mov (%rsp), %r11
    push %rcx
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %rax
    push %r8
    push %r9
    push %r10
    push %r11
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    cld
    mov %rsp, %rdi
    call shim_dispatch
shim_restore_begin:
    test %eax, %eax
    jnz 2f
    // The common flags by SAHF, which is quick; overflow is clear after the test.
    mov 128(%rsp), %rcx
    test $0xd00, %ecx
    jnz 2f
    mov %cl, %ah
    sahf
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    pop %r11
    pop %r10
    pop %r9
    pop %r8
    pop %rax
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    pop %gs:32
    lea 8(%rsp), %rsp
    pop %rsp
    jmp *%gs:32
2:  // everything, with the flags
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    pop %r11
    pop %r10
    pop %r9
    pop %r8
    pop %rax
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    pop %gs:32
    popfq
    pop %rsp
    jmp *%gs:32
shim_restore_end:

    // The guest's state is in the frame: look for signals, then resume the guest.
shim_recheck:
    mov %gs:16, %rsp
    sub $144, %rsp
    mov %rsp, %rdi
    cld
    call shim_look_for_signals
    jmp shim_restore_begin

    // shim_enter_guest(frame): used once, by a fresh program.
    .globl shim_enter_guest
shim_enter_guest:
    mov %rdi, %rsp
    mov $1, %eax
    jmp shim_restore_begin

    // shim_clone_thread(flags, stack, tcb): a host thread whose stack top is a register frame.
    .globl shim_clone_thread
shim_clone_thread:
    push %rbx
    mov %rdx, %rbx
    xor %edx, %edx
    xor %r10d, %r10d
    xor %r8d, %r8d
    mov $56, %eax
    syscall
    test %rax, %rax
    jz 3f
    pop %rbx
    ret
3:  wrgsbase %rbx
    mov %rsp, %rdi
    xor %ebp, %ebp
    call shim_thread_start
    jmp shim_restore_begin

    // shim_exit_thread(state, clear_tid, is_main): marks the slot free, clears the guest's word, wakes
    // who waits for it, and ends the host thread, without touching the stack in between: from the
    // first store on, the stack may belong to a new thread. The main thread of a host process sleeps
    // instead: the host lets nobody read the memory of a process whose main thread has ended.
    .globl shim_exit_thread, shim_exit_store
shim_exit_thread:
    mov %rdx, %rbx
    movl $0, (%rdi)
    test %rsi, %rsi
    jz 4f
shim_exit_store:
    movl $0, (%rsi)
    mov %rsi, %rdi
    mov $1, %esi
    mov $1, %edx
    xor %r10d, %r10d
    mov $202, %eax
    syscall
    .globl shim_exit_now
shim_exit_now:
4:  test %rbx, %rbx
    jnz 5f
    xor %edi, %edi
    mov $60, %eax
    syscall
    ud2
5:  lea shim_never(%rip), %rdi
    xor %esi, %esi
    xor %edx, %edx
    xor %r10d, %r10d
    mov $202, %eax
    syscall
    jmp 5b
    .balign 4
shim_never:
    .long 0

    .globl shim_sigreturn
shim_sigreturn:
    mov $15, %eax
    syscall
    ud2

    .globl _start
_start:
    mov %rsp, %rdi
    and $-16, %rsp
    call shim_zygote
    ud2
"#,
    watch = const offset_of!(Slot, watch),
    ids = const offset_of!(Slot, ids),
    own_ids = sym OWN_IDS,
    options(att_syntax)
);

unsafe extern "C" {
    /// Where system calls of the guest come in.
    pub fn shim_entry();
    /// A number was asked for and is there: the last instructions before guest code.
    pub fn shim_answered();
    /// Where calls go on that are more than that.
    pub fn shim_slow();
    /// Where an interrupted thread goes to look for signals.
    pub fn shim_recheck();
    /// The way out: from here on only registers are restored.
    pub fn shim_restore_begin();
    /// The end of the way out.
    pub fn shim_restore_end();
    /// Starts guest code with these registers.
    pub fn shim_enter_guest(frame: *const Registers) -> !;
    /// Starts a host thread. Returns its id or a negative error number.
    pub fn shim_clone_thread(flags: u64, stack: u64, tcb: u64) -> i64;
    /// Ends the calling host thread; see above.
    pub fn shim_exit_thread(state: *const u32, clear_tid: u64, is_main: u64) -> !;
    /// The store of `shim_exit_thread` that may fault.
    pub fn shim_exit_store();
    /// Where to go on if it does.
    pub fn shim_exit_now();
    /// Returns from the shim's own signal handlers.
    pub fn shim_sigreturn();
}

/// Where a label of the assembly is.
#[inline(always)]
pub fn at(label: unsafe extern "C" fn()) -> u64 {
    label as *const () as usize as u64
}
