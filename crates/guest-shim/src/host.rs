//! Host system calls. Together with `entry.rs` and `futex.rs` this file has every `syscall`
//! instruction of a guest process that the host's filter lets through.

#![expect(unsafe_code, reason = "system calls are inline assembly")]

use core::arch::asm;

/// Exit code of a host process whose shim panicked.
pub const SHIM_PANIC: i32 = 70;
/// Exit code of a host process whose kernel is gone.
pub const KERNEL_GONE: i32 = 71;
/// Exit code of a zygote that could not be set up.
pub const SETUP_FAILED: i32 = 72;

/// System call numbers.
pub mod nr {
    pub const READ: u64 = 0;
    pub const WRITE: u64 = 1;
    pub const CLOSE: u64 = 3;
    pub const STAT: u64 = 4;
    pub const FSTAT: u64 = 5;
    pub const LSTAT: u64 = 6;
    pub const LSEEK: u64 = 8;
    pub const MMAP: u64 = 9;
    pub const MPROTECT: u64 = 10;
    pub const MUNMAP: u64 = 11;
    pub const BRK: u64 = 12;
    pub const RT_SIGACTION: u64 = 13;
    pub const RT_SIGPROCMASK: u64 = 14;
    pub const RT_SIGRETURN: u64 = 15;
    pub const IOCTL: u64 = 16;
    pub const PREAD64: u64 = 17;
    pub const ACCESS: u64 = 21;
    pub const SCHED_YIELD: u64 = 24;
    pub const MREMAP: u64 = 25;
    pub const MSYNC: u64 = 26;
    pub const MINCORE: u64 = 27;
    pub const MADVISE: u64 = 28;
    pub const SHMAT: u64 = 30;
    pub const DUP2: u64 = 33;
    pub const GETPID: u64 = 39;
    pub const RECVMSG: u64 = 47;
    pub const CLONE: u64 = 56;
    pub const FORK: u64 = 57;
    pub const VFORK: u64 = 58;
    pub const EXECVE: u64 = 59;
    pub const EXIT: u64 = 60;
    pub const SHMDT: u64 = 67;
    pub const FCNTL: u64 = 72;
    pub const FLOCK: u64 = 73;
    pub const READLINK: u64 = 89;
    pub const GETRUSAGE: u64 = 98;
    pub const TIMES: u64 = 100;
    pub const GETUID: u64 = 102;
    pub const GETGID: u64 = 104;
    pub const GETEUID: u64 = 107;
    pub const GETEGID: u64 = 108;
    pub const GETPPID: u64 = 110;
    pub const SIGALTSTACK: u64 = 131;
    pub const SCHED_SETSCHEDULER: u64 = 144;
    pub const SCHED_GETSCHEDULER: u64 = 145;
    pub const MLOCK: u64 = 149;
    pub const PRCTL: u64 = 157;
    pub const ARCH_PRCTL: u64 = 158;
    pub const GETTID: u64 = 186;
    pub const TKILL: u64 = 200;
    pub const FUTEX: u64 = 202;
    pub const FUTEX_WAITV: u64 = 449;
    pub const SET_TID_ADDRESS: u64 = 218;
    pub const RESTART_SYSCALL: u64 = 219;
    pub const CLOCK_GETTIME: u64 = 228;
    pub const EXIT_GROUP: u64 = 231;
    pub const EPOLL_WAIT: u64 = 232;
    pub const NEWFSTATAT: u64 = 262;
    pub const READLINKAT: u64 = 267;
    pub const EPOLL_PWAIT: u64 = 281;
    pub const FACCESSAT: u64 = 269;
    pub const SET_ROBUST_LIST: u64 = 273;
    pub const GET_ROBUST_LIST: u64 = 274;
    pub const SECCOMP: u64 = 317;
    pub const EXECVEAT: u64 = 322;
    pub const MEMBARRIER: u64 = 324;
    pub const MLOCK2: u64 = 325;
    pub const PKEY_MPROTECT: u64 = 329;
    pub const STATX: u64 = 332;
    pub const RSEQ: u64 = 334;
    pub const DUP3: u64 = 292;
    pub const CLONE3: u64 = 435;
    pub const CLOSE_RANGE: u64 = 436;
    pub const FACCESSAT2: u64 = 439;
}

/// Negative error numbers, as the host returns them.
pub mod errno {
    pub const EPERM: i64 = -1;
    pub const ESRCH: i64 = -3;
    pub const EINTR: i64 = -4;
    pub const EAGAIN: i64 = -11;
    pub const ENOMEM: i64 = -12;
    pub const EFAULT: i64 = -14;
    pub const EINVAL: i64 = -22;
    pub const ENOTTY: i64 = -25;
    pub const EPIPE: i64 = -32;
    pub const EDEADLK: i64 = -35;
    pub const ENOSYS: i64 = -38;
}

/// A host call with six arguments.
///
/// Safe to the same degree as everything in a guest process: the guest could make the same call
/// by jumping here. The shim's own memory is protected by the checks in `memory.rs`.
#[inline(always)]
pub fn call6(number: u64, a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> i64 {
    let result: i64;
    // SAFETY: the kernel preserves all registers but the ones declared here; what the call does to
    // memory is what the guest asked for, or concerns memory of the shim that its caller owns.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c,
             in("r10") d, in("r8") e, in("r9") f, out("rcx") _, out("r11") _, options(nostack));
    }
    result
}

/// A host call with four arguments.
#[inline(always)]
pub fn call4(number: u64, a: u64, b: u64, c: u64, d: u64) -> i64 {
    let result: i64;
    // SAFETY: as for `call6`.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c,
             in("r10") d, out("rcx") _, out("r11") _, options(nostack));
    }
    result
}

/// A host call with three arguments.
#[inline(always)]
pub fn call3(number: u64, a: u64, b: u64, c: u64) -> i64 {
    call4(number, a, b, c, 0)
}

/// Ends the host process.
pub fn exit_group(code: i32) -> ! {
    loop {
        call3(nr::EXIT_GROUP, u64::from(code.cast_unsigned()), 0, 0);
    }
}

/// `PROT_*` and `MAP_*` that the shim uses itself.
pub mod map {
    pub const READ: u64 = 1;
    pub const READ_WRITE: u64 = 3;
    pub const READ_EXEC: u64 = 5;
    pub const READ_WRITE_EXEC: u64 = 7;
    pub const SHARED: u64 = 1;
    pub const PRIVATE: u64 = 2;
    pub const FIXED: u64 = 0x10;
    pub const ANONYMOUS: u64 = 0x20;
    pub const LOCKED: u64 = 0x2000;
    pub const NORESERVE: u64 = 0x4000;
    pub const HUGETLB: u64 = 0x40000;
    pub const FIXED_NOREPLACE: u64 = 0x10_0000;
}

/// Maps memory; the result is an address or a negative error number.
pub fn mmap(address: u64, length: u64, protection: u64, flags: u64, fd: i64, offset: u64) -> i64 {
    call6(nr::MMAP, address, length, protection, flags, fd.cast_unsigned(), offset)
}

/// Closes a passed descriptor.
pub fn close(fd: i32) {
    if fd >= 0 {
        call3(nr::CLOSE, u64::from(fd.cast_unsigned()), 0, 0);
    }
}

/// Futex operations on memory that is shared with the kernel process and other guests.
pub mod futex {
    /// Sleep while the word has a value.
    pub const WAIT: u64 = 0;
    /// Wake sleepers.
    pub const WAKE: u64 = 1;
}

/// The time stamp counter.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has it, and the filter's host does not forbid it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The CPU this code runs on, plus one.
#[inline(always)]
pub fn this_cpu() -> u32 {
    /// The segment whose limit Linux sets to the node and CPU number. `rdpid` reads the same, but
    /// many processors do not have it.
    const CPU_NODE: u64 = 0x7b;
    let value: u64;
    // SAFETY: reads the limit of a segment; touches no memory of ours.
    unsafe {
        asm!("lsl {}, {}", out(reg) value, in(reg) CPU_NODE, options(nostack));
    }
    (value as u32 & 0xfff) + 1
}

/// The FS base, which is the guest's.
pub fn fs_base() -> u64 {
    let value: u64;
    // SAFETY: only reads; the kernel process refuses hosts without FSGSBASE.
    unsafe {
        asm!("rdfsbase {}", out(reg) value, options(nomem, nostack, preserves_flags));
    }
    value
}

/// Sets the FS base on the guest's behalf.
pub fn set_fs_base(value: u64) {
    // SAFETY: the shim uses no thread-local storage, so FS is the guest's alone.
    unsafe {
        asm!("wrfsbase {}", in(reg) value, options(nomem, nostack, preserves_flags));
    }
}

/// Points GS at a thread's control block.
pub fn set_gs_base(value: u64) {
    // SAFETY: called once per thread, with the address of its own control block.
    unsafe {
        asm!("wrgsbase {}", in(reg) value, options(nomem, nostack, preserves_flags));
    }
}
