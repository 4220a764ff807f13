//! Copies to and from guest memory that survive bad addresses.

#![expect(unsafe_code, reason = "assembly whose faults are expected")]

use core::arch::global_asm;

use crate::host::errno;

// shim_copy(to, from, n) -> bytes not copied.
// shim_zero(to, n) -> bytes not written.
// shim_copy_string(to, from, max) -> length with its zero; EFAULT; ENAMETOOLONG.
// shim_compare_exchange(address, expected, new) -> 0 done, 1 other value, EFAULT; see `fixups`.
global_asm!(
    r#"
    // A word is what is copied most often, and `rep` takes as long to begin as all else in a call.
    .globl shim_copy, shim_copy_access, shim_copy_fault
    .globl shim_copy_from_word, shim_copy_to_word, shim_copy_word_fault
shim_copy:
    cmp $8, %rdx
    jne 1f
shim_copy_from_word:
    mov (%rsi), %rax
shim_copy_to_word:
    mov %rax, (%rdi)
    xor %eax, %eax
    ret
shim_copy_word_fault:
    mov %rdx, %rax
    ret
1:  mov %rdx, %rcx
shim_copy_access:
    rep movsb
shim_copy_fault:
    mov %rcx, %rax
    ret

    .globl shim_zero, shim_zero_access, shim_zero_fault
shim_zero:
    mov %rsi, %rcx
    xor %eax, %eax
shim_zero_access:
    rep stosb
shim_zero_fault:
    mov %rcx, %rax
    ret

    // Eight bytes at a time where those are aligned, so that they lie in one page, and none is zero.
    .globl shim_copy_string, shim_copy_string_access, shim_copy_string_fault
    .globl shim_copy_string_words
    .p2align 5
shim_copy_string:
    xor %ecx, %ecx
    movabs $0x0101010101010101, %r8
    movabs $0x8080808080808080, %r9
1:  lea (%rsi,%rcx), %r10
    test $7, %r10b
    jne 3f
    lea 8(%rcx), %rax
    cmp %rdx, %rax
    ja 3f
shim_copy_string_words:
    mov (%r10), %r11
    mov %r11, %rax
    sub %r8, %rax
    mov %r11, %r10
    not %r10
    and %r10, %rax
    test %r9, %rax
    jne 3f
    mov %r11, (%rdi,%rcx)
    add $8, %rcx
    jmp 1b
3:  cmp %rdx, %rcx
    jae 2f
shim_copy_string_access:
    mov (%rsi,%rcx), %al
    mov %al, (%rdi,%rcx)
    inc %rcx
    test %al, %al
    jne 1b
    mov %rcx, %rax
    ret
2:  mov $-36, %rax
    ret
shim_copy_string_fault:
    mov $-14, %rax
    ret

    .globl shim_compare_exchange, shim_compare_exchange_access, shim_compare_exchange_fault
shim_compare_exchange:
    mov %esi, %eax
shim_compare_exchange_access:
    lock cmpxchg %edx, (%rdi)
    setne %al
    movzbl %al, %eax
    ret
shim_compare_exchange_fault:
    mov $-14, %rax
    ret

    .globl shim_xrstor, shim_xrstor_access, shim_xrstor_fault
shim_xrstor:
    mov %rsi, %rax
    mov %rsi, %rdx
    shr $32, %rdx
shim_xrstor_access:
    xrstor64 (%rdi)
    xor %eax, %eax
    ret
shim_xrstor_fault:
    mov $-14, %rax
    ret
"#,
    options(att_syntax)
);

unsafe extern "C" {
    fn shim_copy(to: u64, from: u64, n: usize) -> usize;
    fn shim_copy_access();
    fn shim_copy_fault();
    fn shim_copy_from_word();
    fn shim_copy_to_word();
    fn shim_copy_word_fault();
    fn shim_zero(to: u64, n: usize) -> usize;
    fn shim_zero_access();
    fn shim_zero_fault();
    fn shim_copy_string(to: u64, from: u64, max: usize) -> i64;
    fn shim_copy_string_access();
    fn shim_copy_string_words();
    fn shim_copy_string_fault();
    fn shim_compare_exchange(address: u64, expected: u32, new: u32) -> i64;
    fn shim_compare_exchange_access();
    fn shim_compare_exchange_fault();
    fn shim_xrstor(image: u64, mask: u64) -> i64;
    fn shim_xrstor_access();
    fn shim_xrstor_fault();
}

/// A fault at an access of ours goes on at the routine's own error exit.
pub fn fixup(rip: u64) -> Option<u64> {
    let table = [
        (shim_copy_access as *const (), shim_copy_fault as *const ()),
        (shim_copy_from_word as *const (), shim_copy_word_fault as *const ()),
        (shim_copy_to_word as *const (), shim_copy_word_fault as *const ()),
        (shim_zero_access as *const (), shim_zero_fault as *const ()),
        (shim_copy_string_access as *const (), shim_copy_string_fault as *const ()),
        (shim_copy_string_words as *const (), shim_copy_string_fault as *const ()),
        (shim_compare_exchange_access as *const (), shim_compare_exchange_fault as *const ()),
        (shim_xrstor_access as *const (), shim_xrstor_fault as *const ()),
        (crate::entry::shim_exit_store as *const (), crate::entry::shim_exit_now as *const ()),
    ];
    for (access, fault) in table {
        if access as usize as u64 == rip {
            return Some(fault as usize as u64);
        }
    }
    None
}

/// The address of a value of the shim's, for the host or for a copy.
pub fn address_of<T: ?Sized>(value: &T) -> u64 {
    core::ptr::from_ref(value).expose_provenance() as u64
}

/// Copies `n` bytes between two addresses, either of which may be the guest's.
pub fn copy(to: u64, from: u64, n: usize) -> Result<(), i64> {
    // SAFETY: faults are caught by `fixup`; the shim's side of every copy is memory that its
    // caller owns, and the guest's side may be anything.
    if unsafe { shim_copy(to, from, n) } == 0 { Ok(()) } else { Err(errno::EFAULT) }
}

/// Writes `n` zeroes.
pub fn zero(to: u64, n: usize) -> Result<(), i64> {
    // SAFETY: faults are caught by `fixup`; the memory is the guest's.
    if unsafe { shim_zero(to, n) } == 0 { Ok(()) } else { Err(errno::EFAULT) }
}

/// Copies a zero-terminated string in. Returns its length with the zero.
pub fn copy_string(to: u64, from: u64, max: usize) -> Result<usize, i64> {
    // SAFETY: as for `copy`; at most `max` bytes are written.
    let n = unsafe { shim_copy_string(to, from, max) };
    if n < 0 { Err(n) } else { Ok(n as usize) }
}

/// Copies a value in.
pub fn get<T: Copy>(from: u64, mut value: T) -> Result<T, i64> {
    let to = core::ptr::from_mut(&mut value).expose_provenance() as u64;
    copy(to, from, size_of::<T>())?;
    Ok(value)
}

/// Copies a value out.
pub fn put<T: Copy>(to: u64, value: &T) -> Result<(), i64> {
    copy(to, address_of(value), size_of::<T>())
}

/// Replaces a word if it has the expected value. `Ok(false)` if it has another.
pub fn compare_exchange(address: u64, expected: u32, new: u32) -> Result<bool, i64> {
    // SAFETY: faults are caught by `fixup`; the word is the guest's.
    match unsafe { shim_compare_exchange(address, expected, new) } {
        0 => Ok(true),
        1 => Ok(false),
        error => Err(error),
    }
}

/// Whether memory can be written. What it holds stays as it is, whoever else writes to it.
pub fn can_write(address: u64, n: usize) -> bool {
    const PAGE: u64 = 4096;
    let Some(end) = address.checked_add(n as u64) else { return false };
    let mut at = address & !3;
    while at < end {
        if compare_exchange(at, 0, 0).is_err() {
            return false;
        }
        at = (at & !(PAGE - 1)) + PAGE;
    }
    true
}

/// Loads extended processor state. A forged image faults and is refused.
pub fn restore_extended_state(image: u64, mask: u64) -> Result<(), i64> {
    // SAFETY: the shim itself uses no extended state; what is loaded is the guest's own.
    match unsafe { shim_xrstor(image, mask) } {
        0 => Ok(()),
        error => Err(error),
    }
}
