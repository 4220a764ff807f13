//! The seccomp filter of guest processes: data, one rule and one reason each.
//!
//! Only `syscall` instructions in the shim's text reach these rules; all others trap into the
//! shim. That test of the address protects nothing, because guest code may jump into the shim:
//! so every rule must be safe with any registers. What no rule names ends the process; arguments
//! that a rule does not allow give `EPERM`.

use channel_abi::layout::{DOORBELL_FD, FIRST_PASSED_FD, SHIM_BASE, SHIM_IMAGE_END, SOCKET_FD};
use host_sys::seccomp::{
    self, ADDRESS_HIGH, ADDRESS_LOW, ARCHITECTURE, Instruction, JUMP_IF_AT_LEAST, JUMP_IF_EQUAL,
    REFUSE, Rule, TRAP, Test, X86_64, end, load, skip_if,
};

const SOCKET: u32 = SOCKET_FD.cast_unsigned();
const DOORBELL: u32 = DOORBELL_FD.cast_unsigned();
const PASSED: u32 = FIRST_PASSED_FD.cast_unsigned();
const MAP_LOCKED_OR_HUGETLB: u32 = 0x2000 | 0x40000;
const MAP_SHARED: u32 = 1;
const MAP_ANONYMOUS: u32 = 0x20;
const PROT_ALL: u32 = 7;
/// `CLONE_PARENT | SIGCHLD`: a process that the kernel process reaps.
const FORK: u32 = 0x8011;
/// `CLONE_VM | FS | FILES | SIGHAND | THREAD | SYSVSEM`.
const THREAD: u32 = 0x5_0f00;
/// `FUTEX_PRIVATE_FLAG` and `FUTEX_CLOCK_REALTIME`.
const FUTEX_FLAGS: u32 = 128 | 256;

/// Every host call that a guest process can make, hottest first.
pub const RULES: &[Rule] = &[
    Rule {
        number: 202,
        name: "futex",
        any_of: &[&[Test::MaskedOneOf(1, FUTEX_FLAGS, &[0, 1, 3, 4, 5, 9, 10])]],
        reason: "sleep and wake on guest memory and on the bell; none with priority inheritance, \
                 which would show host thread ids",
    },
    Rule::always(449, "futex_waitv", "sleep on several words of guest memory"),
    Rule {
        number: 0,
        name: "read",
        any_of: &[&[Test::FromOn(0, PASSED)]],
        reason: "files that the kernel process passed, open for reading",
    },
    Rule {
        number: 17,
        name: "pread64",
        any_of: &[&[Test::FromOn(0, PASSED)]],
        reason: "files that the kernel process passed, open for reading",
    },
    Rule {
        number: 1,
        name: "write",
        any_of: &[
            &[Test::FromOn(0, PASSED)],
            &[Test::Is(0, DOORBELL), Test::Is(2, 8)],
            &[Test::Is(0, SOCKET), Test::Is(2, 1)],
        ],
        reason: "pipes that the kernel process passed, open for writing (a size limit of zero keeps \
                 guests from writing files); ring the doorbell; say hello to the kernel process, \
                 which reads one byte",
    },
    Rule {
        number: 9,
        name: "mmap",
        any_of: &[
            &[
                Test::AtMost(2, PROT_ALL),
                Test::Without(3, MAP_LOCKED_OR_HUGETLB | MAP_ANONYMOUS),
                Test::FromOn(4, PASSED),
            ],
            &[
                Test::AtMost(2, PROT_ALL),
                Test::Without(3, MAP_LOCKED_OR_HUGETLB | MAP_SHARED),
                Test::FromOn(4, PASSED),
            ],
        ],
        reason: "private memory of the guest's own, and files that the kernel process passed: shared memory that is no \
                 such file would be counted nowhere once its pages are unmapped",
    },
    Rule::always(11, "munmap", "memory of the guest's own"),
    Rule {
        number: 10,
        name: "mprotect",
        any_of: &[&[Test::AtMost(2, PROT_ALL)]],
        reason: "memory of the guest's own",
    },
    Rule {
        number: 8,
        name: "lseek",
        any_of: &[&[Test::FromOn(0, PASSED)]],
        reason: "the position of a lent file, which is the guest's own; the kernel process itself \
                 names positions in every call on a file that it passes",
    },
    Rule {
        number: 28,
        name: "madvise",
        any_of: &[&[Test::OneOf(
            2,
            &[0, 1, 2, 3, 4, 8, 9, 10, 11, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23],
        )]],
        reason: "memory of the guest's own; no poisoning, no merging with other processes; holes only in files that the guest may write",
    },
    Rule {
        number: 144,
        name: "sched_setscheduler",
        any_of: &[&[Test::Is(0, 0), Test::OneOf(1, &[0, 3])]],
        reason: "between the two ordinary policies, for the caller: a new process does not take the \
                 CPU of the kernel process",
    },
    Rule::always(25, "mremap", "memory of the guest's own"),
    Rule::always(26, "msync", "memory of the guest's own"),
    Rule::always(27, "mincore", "memory of the guest's own"),
    Rule::always(
        15,
        "rt_sigreturn",
        "return from the shim's handlers; a forged frame harms the forger only",
    ),
    Rule {
        number: 47,
        name: "recvmsg",
        any_of: &[&[Test::Is(0, SOCKET), Test::Is(2, 0)]],
        reason: "descriptors from the kernel process",
    },
    Rule {
        number: 3,
        name: "close",
        any_of: &[&[Test::FromOn(0, PASSED)]],
        reason: "descriptors that were passed",
    },
    Rule {
        number: 33,
        name: "dup2",
        any_of: &[&[Test::FromOn(0, PASSED), Test::Is(1, SOCKET)]],
        reason: "a new process puts its own socket in the old one's place",
    },
    Rule {
        number: 56,
        name: "clone",
        any_of: &[&[Test::Is(0, FORK)], &[Test::Is(0, THREAD)]],
        reason: "processes that the kernel process reaps, and threads; no namespace, no signal but \
                 SIGCHLD",
    },
    Rule::always(186, "gettid", "whom the kernel has to kick"),
    Rule::always(
        131,
        "sigaltstack",
        "each new thread has a stack of its own for the shim's handlers",
    ),
    Rule {
        number: 157,
        name: "prctl",
        any_of: &[&[Test::Is(0, 1), Test::Is(1, 9)]],
        reason: "PR_SET_PDEATHSIG: die with the kernel process",
    },
    Rule {
        number: 228,
        name: "clock_gettime",
        any_of: &[&[Test::OneOf(0, &[0, 1, 2, 3, 4, 5, 6, 7])]],
        reason: "CPU time of the caller; the clocks of the vDSO, which falls back to this where the \
                 host's clock source is not the processor's",
    },
    Rule {
        number: 98,
        name: "getrusage",
        any_of: &[&[Test::Is(0, 0)]],
        reason: "what the caller has used, for its parent",
    },
    Rule {
        number: 324,
        name: "membarrier",
        any_of: &[&[Test::OneOf(0, &[0, 1, 8, 16, 32, 64]), Test::Is(1, 0)]],
        reason: "orders memory between threads of the guest",
    },
    Rule::always(24, "sched_yield", "the guest's, and short locks"),
    Rule::always(60, "exit", "the end of a thread"),
    Rule::always(231, "exit_group", "the end of a process"),
];

/// The filter as the host takes it.
pub fn assemble(rules: &[Rule]) -> Vec<Instruction> {
    let high = u32::try_from(SHIM_BASE >> 32).unwrap_or(0);
    let end_low = u32::try_from(SHIM_IMAGE_END & 0xffff_ffff).unwrap_or(0);
    let mut program = vec![
        load(ARCHITECTURE),
        skip_if(JUMP_IF_EQUAL, X86_64, 1, 0),
        // 32-bit entries: the shim answers them with ENOSYS.
        end(TRAP),
        load(ADDRESS_HIGH),
        skip_if(JUMP_IF_EQUAL, high, 1, 0),
        end(TRAP),
        load(ADDRESS_LOW),
        skip_if(JUMP_IF_AT_LEAST, end_low, 0, 1),
        end(TRAP),
    ];
    program.extend(seccomp::in_order(rules, REFUSE));
    program
}

#[cfg(test)]
mod tests;
