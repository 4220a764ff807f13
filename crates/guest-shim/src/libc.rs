//! The four functions that the compiler calls by itself.

#![expect(unsafe_code, reason = "the compiler calls these with raw pointers")]

use core::arch::global_asm;

global_asm!(
    r#"
    .globl memcpy, memmove, memset, memcmp, bcmp
memcpy:
    mov %rdi, %rax
    mov %rdx, %rcx
    rep movsb
    ret
memmove:
    mov %rdi, %rax
    mov %rdx, %rcx
    mov %rdi, %r8
    sub %rsi, %r8
    cmp %rdx, %r8
    jb 1f
    rep movsb
    ret
1:  lea -1(%rdi,%rcx), %rdi
    lea -1(%rsi,%rcx), %rsi
    std
    rep movsb
    cld
    ret
memset:
    mov %rdi, %r8
    mov %esi, %eax
    mov %rdx, %rcx
    rep stosb
    mov %r8, %rax
    ret
memcmp:
bcmp:
    xor %eax, %eax
    xor %ecx, %ecx
2:  cmp %rdx, %rcx
    je 3f
    movzbl (%rdi,%rcx), %eax
    movzbl (%rsi,%rcx), %r8d
    inc %rcx
    sub %r8d, %eax
    je 2b
    ret
3:  xor %eax, %eax
    ret
"#,
    options(att_syntax)
);
