//! Runs the assembled filter on made-up calls.

use super::*;
use host_sys::seccomp::{
    ALLOW, AND, JUMP, JUMP_IF_ANY_BIT, JUMP_IF_GREATER, KILL_PROCESS, LOAD, RETURN,
};

/// What the host tells a filter about a call.
struct Call {
    number: u32,
    architecture: u32,
    address: u64,
    arguments: [u64; 6],
}

const IN_SHIM: u64 = SHIM_BASE + 0x1000;

fn call(number: u32, arguments: [u64; 6]) -> Call {
    Call { number, architecture: X86_64, address: IN_SHIM, arguments }
}

fn word(call: &Call, offset: u32) -> u32 {
    let mut bytes = Vec::new();
    bytes.extend(call.number.to_le_bytes());
    bytes.extend(call.architecture.to_le_bytes());
    bytes.extend(call.address.to_le_bytes());
    for argument in call.arguments {
        bytes.extend(argument.to_le_bytes());
    }
    let at = offset as usize;
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// An interpreter of the few instructions that we use.
fn run(call: &Call) -> u32 {
    let program = assemble(RULES);
    let mut at = 0;
    let mut value = 0;
    loop {
        let Instruction { code, if_true, if_false, operand } = program[at];
        at += 1;
        let holds = match code {
            LOAD => {
                value = word(call, operand);
                continue;
            }
            AND => {
                value &= operand;
                continue;
            }
            JUMP => {
                at += operand as usize;
                continue;
            }
            RETURN => return operand,
            JUMP_IF_EQUAL => value == operand,
            JUMP_IF_GREATER => value > operand,
            JUMP_IF_AT_LEAST => value >= operand,
            JUMP_IF_ANY_BIT => value & operand != 0,
            _ => panic!("instruction {code:#x}"),
        };
        at += usize::from(if holds { if_true } else { if_false });
    }
}

#[test]
fn calls_from_guest_code_trap() {
    let guest = Call { address: 0x40_1000, ..call(257, [0; 6]) };
    assert_eq!(run(&guest), TRAP);
    let behind = Call { address: SHIM_IMAGE_END, ..call(202, [0; 6]) };
    assert_eq!(run(&behind), TRAP);
}

#[test]
fn entries_of_another_architecture_trap() {
    let old = Call { architecture: 0x4000_0003, ..call(11, [0; 6]) };
    assert_eq!(run(&old), TRAP);
}

#[test]
fn what_no_rule_names_ends_the_process() {
    // openat, execve, ptrace, clone3, io_uring_setup, socket, kill, an x32 number.
    for number in [257, 59, 101, 435, 425, 41, 62, 0x4000_0000 | 9] {
        assert_eq!(run(&call(number, [0; 6])), KILL_PROCESS, "{number}");
    }
}

#[test]
fn the_doorbell_and_the_hello_are_the_only_writes() {
    assert_eq!(run(&call(1, [4, 0, 8, 0, 0, 0])), ALLOW);
    assert_eq!(run(&call(1, [3, 0, 1, 0, 0, 0])), ALLOW);
    assert_eq!(run(&call(1, [4, 0, 9, 0, 0, 0])), REFUSE);
    assert_eq!(run(&call(1, [3, 0, 8, 0, 0, 0])), REFUSE);
    assert_eq!(run(&call(1, [2, 0, 8, 0, 0, 0])), REFUSE);
}

#[test]
fn clone_takes_two_words_of_flags_and_no_other() {
    assert_eq!(run(&call(56, [FORK.into(), 0, 0, 0, 0, 0])), ALLOW);
    assert_eq!(run(&call(56, [THREAD.into(), 0, 0, 0, 0, 0])), ALLOW);
    let new_user_namespace = u64::from(FORK) | 0x1000_0000;
    assert_eq!(run(&call(56, [new_user_namespace, 0, 0, 0, 0, 0])), REFUSE);
    assert_eq!(run(&call(56, [u64::from(FORK) | 1 << 32, 0, 0, 0, 0, 0])), REFUSE);
}

#[test]
fn mmap_takes_passed_files_only() {
    let anonymous = u64::from(u32::MAX);
    assert_eq!(run(&call(9, [0, 4096, 3, 0x22, anonymous, 0])), ALLOW);
    assert_eq!(run(&call(9, [0, 4096, 3, 0x22, u64::MAX, 0])), ALLOW);
    assert_eq!(run(&call(9, [0, 4096, 3, 1, 5, 0])), ALLOW);
    assert_eq!(run(&call(9, [0, 4096, 3, 1, 4, 0])), REFUSE);
    assert_eq!(run(&call(9, [0, 4096, 8, 0x22, anonymous, 0])), REFUSE);
    assert_eq!(run(&call(9, [0, 4096, 3, 0x4_0022, anonymous, 0])), REFUSE);
}

#[test]
fn futex_without_priority_inheritance() {
    assert_eq!(run(&call(202, [0, 128, 0, 0, 0, 0])), ALLOW);
    assert_eq!(run(&call(202, [0, 10 | 128 | 256, 0, 0, 0, 0])), ALLOW);
    assert_eq!(run(&call(202, [0, 6, 0, 0, 0, 0])), REFUSE);
    assert_eq!(run(&call(202, [0, 12 | 128, 0, 0, 0, 0])), REFUSE);
}

#[test]
fn each_rule_has_a_reason_and_a_number_of_its_own() {
    assert_eq!(seccomp::faults(RULES), [""; 0]);
}

#[test]
fn the_filter_fits_behind_the_staging_table() {
    use channel_abi::layout::{FACTS_OFFSET, FILTER_OFFSET};
    assert!(assemble(RULES).len() * 8 <= FACTS_OFFSET - FILTER_OFFSET);
}

#[test]
fn the_built_filter_knows_the_numbers_of_the_rules_and_no_other() {
    let mut expected: Vec<u32> = RULES.iter().map(|rule| rule.number).collect();
    expected.sort_unstable();
    assert_eq!(seccomp::numbers(&assemble(RULES)), expected);
}
