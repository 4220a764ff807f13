//! The seccomp filter of guest processes: data, one rule and one reason each.
//!
//! Only `syscall` instructions in the shim's text reach these rules; all others trap into the
//! shim. That test of the address protects nothing, because guest code may jump into the shim:
//! so every rule must be safe with any registers. What no rule names ends the process; arguments
//! that a rule does not allow give `EPERM`.

use channel_abi::layout::{DOORBELL_FD, FIRST_PASSED_FD, SHIM_BASE, SHIM_IMAGE_END, SOCKET_FD};

/// One test of one argument. The upper half of an argument that is tested must be zero, unless
/// the test says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// The argument has this value.
    Is(u8, u32),
    /// The low half of the argument is at least this, as an unsigned number; the upper half is not
    /// looked at, because the host takes descriptors as 32 bits.
    FromOn(u8, u32),
    /// The argument is at most this.
    AtMost(u8, u32),
    /// None of these bits is set in the low half.
    Without(u8, u32),
    /// The argument is one of these.
    OneOf(u8, &'static [u32]),
    /// The argument, with these bits cleared, is one of these.
    MaskedOneOf(u8, u32, &'static [u32]),
}

/// One system call that the host does for guest processes.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The number.
    pub number: u32,
    /// The name.
    pub name: &'static str,
    /// The call is allowed if all tests of one of these lists hold.
    pub any_of: &'static [&'static [Test]],
    /// Why the shim needs it, and why it is harmless.
    pub reason: &'static str,
}

const ALWAYS: &[&[Test]] = &[&[]];
const SOCKET: u32 = SOCKET_FD.cast_unsigned();
const DOORBELL: u32 = DOORBELL_FD.cast_unsigned();
const PASSED: u32 = FIRST_PASSED_FD.cast_unsigned();
const MAP_LOCKED_OR_HUGETLB: u32 = 0x2000 | 0x40000;
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
        any_of: &[&[Test::Is(0, DOORBELL), Test::Is(2, 8)], &[Test::Is(0, SOCKET), Test::Is(2, 1)]],
        reason: "ring the doorbell, and say hello to the kernel process, which reads one byte",
    },
    Rule {
        number: 9,
        name: "mmap",
        any_of: &[&[
            Test::AtMost(2, PROT_ALL),
            Test::Without(3, MAP_LOCKED_OR_HUGETLB),
            Test::FromOn(4, PASSED),
        ]],
        reason: "memory of the guest's own, and files that the kernel process passed",
    },
    Rule { number: 11, name: "munmap", any_of: ALWAYS, reason: "memory of the guest's own" },
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
    Rule { number: 25, name: "mremap", any_of: ALWAYS, reason: "memory of the guest's own" },
    Rule { number: 26, name: "msync", any_of: ALWAYS, reason: "memory of the guest's own" },
    Rule { number: 27, name: "mincore", any_of: ALWAYS, reason: "memory of the guest's own" },
    Rule {
        number: 15,
        name: "rt_sigreturn",
        any_of: ALWAYS,
        reason: "return from the shim's handlers; a forged frame harms the forger only",
    },
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
    Rule { number: 186, name: "gettid", any_of: ALWAYS, reason: "whom the kernel has to kick" },
    Rule {
        number: 131,
        name: "sigaltstack",
        any_of: ALWAYS,
        reason: "each new thread has a stack of its own for the shim's handlers",
    },
    Rule {
        number: 157,
        name: "prctl",
        any_of: &[&[Test::Is(0, 1), Test::Is(1, 9)]],
        reason: "PR_SET_PDEATHSIG: die with the kernel process",
    },
    Rule {
        number: 228,
        name: "clock_gettime",
        any_of: &[&[Test::OneOf(0, &[2, 3])]],
        reason: "CPU time of the caller; the vDSO falls back to this",
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
    Rule {
        number: 24,
        name: "sched_yield",
        any_of: ALWAYS,
        reason: "the guest's, and short locks",
    },
    Rule { number: 60, name: "exit", any_of: ALWAYS, reason: "the end of a thread" },
    Rule { number: 231, name: "exit_group", any_of: ALWAYS, reason: "the end of a process" },
];

/// One instruction of classic BPF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    operand: u32,
}

impl Instruction {
    /// `struct sock_filter`.
    pub fn to_bytes(self) -> [u8; 8] {
        let [a, b] = self.code.to_le_bytes();
        let [e, f, g, h] = self.operand.to_le_bytes();
        [a, b, self.if_true, self.if_false, e, f, g, h]
    }
}

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_GREATER: u16 = 0x25;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const JUMP_IF_ANY_BIT: u16 = 0x45;
const JUMP: u16 = 0x05;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const TRAP: u32 = 0x0003_0000;
const REFUSE: u32 = 0x0005_0000 | 1; // EPERM
const KILL_PROCESS: u32 = 0x8000_0000;

const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ADDRESS_LOW: u32 = 8;
const ADDRESS_HIGH: u32 = 12;
const FIRST_ARGUMENT: u32 = 16;
const X86_64: u32 = 0xc000_003e;

fn load(from: u32) -> Instruction {
    Instruction { code: LOAD, if_true: 0, if_false: 0, operand: from }
}

fn end(how: u32) -> Instruction {
    Instruction { code: RETURN, if_true: 0, if_false: 0, operand: how }
}

fn skip_if(code: u16, operand: u32, if_true: u8, if_false: u8) -> Instruction {
    Instruction { code, if_true, if_false, operand }
}

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
        load(NUMBER),
    ];
    for rule in rules {
        let body = rule_body(rule);
        // Rules are short; a longer one is a mistake that the unit test shows.
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
        program.push(skip_if(JUMP_IF_EQUAL, rule.number, 1, 0));
        program.push(Instruction { code: JUMP, if_true: 0, if_false: 0, operand: length });
        program.extend(body);
    }
    program.push(end(KILL_PROCESS));
    program
}

/// The alternatives of a rule, each ending in "allow" and falling through to the next one.
fn rule_body(rule: &Rule) -> Vec<Instruction> {
    let mut body = Vec::new();
    for alternative in rule.any_of {
        let tests: Vec<Vec<Instruction>> = alternative.iter().map(test_body).collect();
        let length: usize = tests.iter().map(Vec::len).sum();
        let mut behind = length;
        for test in tests {
            behind -= test.len();
            body.extend(resolve(test, behind + 1));
        }
        body.push(end(ALLOW));
    }
    body.push(end(REFUSE));
    body
}

/// Stands for "the test failed" until it is known how far that is.
const FAIL: u8 = u8::MAX;

/// Instructions that fall through if the test holds, and jump to `FAIL` if it does not.
fn test_body(test: &Test) -> Vec<Instruction> {
    let low = |argument: u8| load(FIRST_ARGUMENT + 8 * u32::from(argument));
    let high_is_zero = |argument: u8| {
        [load(FIRST_ARGUMENT + 4 + 8 * u32::from(argument)), skip_if(JUMP_IF_EQUAL, 0, 0, FAIL)]
    };
    let mut body = Vec::new();
    match *test {
        Test::Is(argument, value) => {
            body.extend(high_is_zero(argument));
            body.extend([low(argument), skip_if(JUMP_IF_EQUAL, value, 0, FAIL)]);
        }
        Test::FromOn(argument, least) => {
            body.extend([low(argument), skip_if(JUMP_IF_AT_LEAST, least, 0, FAIL)]);
        }
        Test::AtMost(argument, most) => {
            body.extend(high_is_zero(argument));
            body.extend([low(argument), skip_if(JUMP_IF_GREATER, most, FAIL, 0)]);
        }
        Test::Without(argument, bits) => {
            body.extend([low(argument), skip_if(JUMP_IF_ANY_BIT, bits, FAIL, 0)]);
        }
        Test::OneOf(argument, values) => {
            body.extend(high_is_zero(argument));
            body.push(low(argument));
            body.extend(one_of(values));
        }
        Test::MaskedOneOf(argument, clear, values) => {
            body.push(low(argument));
            body.push(Instruction { code: AND, if_true: 0, if_false: 0, operand: !clear });
            body.extend(one_of(values));
        }
    }
    body
}

fn one_of(values: &[u32]) -> Vec<Instruction> {
    let n = values.len();
    values
        .iter()
        .enumerate()
        .map(|(index, &value)| {
            let to_end = u8::try_from(n - index - 1).unwrap_or(FAIL);
            skip_if(JUMP_IF_EQUAL, value, to_end, if index + 1 == n { FAIL } else { 0 })
        })
        .collect()
}

/// Replaces `FAIL` by the distance to what follows the alternative: the rest of this test,
/// `behind` more instructions.
fn resolve(mut test: Vec<Instruction>, behind: usize) -> Vec<Instruction> {
    let length = test.len();
    for (index, instruction) in test.iter_mut().enumerate() {
        let distance = u8::try_from(length - index - 1 + behind).unwrap_or(FAIL);
        for target in [&mut instruction.if_true, &mut instruction.if_false] {
            if *target == FAIL {
                *target = distance;
            }
        }
    }
    test
}

#[cfg(test)]
mod tests;
