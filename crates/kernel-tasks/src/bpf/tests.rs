use super::*;
use linux_abi::tasks::bpf::code::*;

fn instruction(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction { code, registers: from << 4 | to, offset, immediate }
}

fn set(register: u8, value: i32) -> Instruction {
    instruction(ALU64 | MOV, register, 0, 0, value)
}

const END_OF_PROGRAM: Instruction =
    Instruction { code: JMP | EXIT, registers: 0, offset: 0, immediate: 0 };

fn fault(instructions: &[Instruction]) -> (Errno, usize) {
    let fault = verify::verify(instructions).unwrap_err();
    (fault.errno, fault.at)
}

fn answer(instructions: &[Instruction], words: DeviceWords) -> Option<u64> {
    verify::verify(instructions).unwrap();
    interpret::run(instructions, words)
}

/// As container programs write them: character device 1:3 may be read, nothing else.
fn only_null() -> Vec<Instruction> {
    vec![
        instruction(LDX | MEM | W, 2, 1, 0, 0),
        instruction(ALU | AND, 2, 0, 0, 0xffff),
        instruction(LDX | MEM | W, 3, 1, 0, 0),
        instruction(ALU | RSH, 3, 0, 0, 16),
        instruction(LDX | MEM | W, 4, 1, 4, 0),
        instruction(LDX | MEM | W, 5, 1, 8, 0),
        instruction(JMP | JNE, 2, 0, 6, 2),
        instruction(ALU64 | MOV | X, 1, 3, 0, 0),
        instruction(ALU | AND, 1, 0, 0, 2),
        instruction(JMP | JNE | X, 1, 3, 3, 0),
        instruction(JMP | JNE, 4, 0, 2, 1),
        instruction(JMP | JNE, 5, 0, 1, 3),
        instruction(JMP | JA, 0, 0, 2, 0),
        set(0, 0),
        END_OF_PROGRAM,
        set(0, 1),
        END_OF_PROGRAM,
    ]
}

#[test]
fn a_device_filter_allows_what_it_names() {
    let program = only_null();
    assert_eq!(answer(&program, [2 << 16 | 2, 1, 3]), Some(1));
    assert_eq!(answer(&program, [4 << 16 | 2, 1, 3]), Some(0));
    assert_eq!(answer(&program, [2 << 16 | 2, 1, 5]), Some(0));
    assert_eq!(answer(&program, [2 << 16 | 1, 1, 3]), Some(0));
}

#[test]
fn the_stack_keeps_numbers_and_pointers() {
    let program = [
        instruction(STX | MEM | DW, 10, 1, -8, 0),
        instruction(ST | MEM | H, 10, 0, -16, 0x1234),
        instruction(LDX | MEM | DW, 6, 10, -8, 0),
        instruction(LDX | MEM | W, 0, 6, 4, 0),
        instruction(LDX | MEM | B, 2, 10, -15, 0),
        instruction(ALU64 | SUB | X, 0, 2, 0, 0),
        instruction(ALU64 | AND, 0, 0, 0, 1),
        END_OF_PROGRAM,
    ];
    assert_eq!(answer(&program, [0, 0x13, 0]), Some(1));
    assert_eq!(answer(&program, [0, 0x12, 0]), Some(0));
}

#[test]
fn what_could_go_wrong_is_refused() {
    // The answer is missing, too high, or a pointer.
    assert_eq!(fault(&[END_OF_PROGRAM]), (Errno::EACCES, 0));
    assert_eq!(fault(&[set(0, 2), END_OF_PROGRAM]), (Errno::EINVAL, 1));
    let leak = instruction(ALU64 | MOV | X, 0, 10, 0, 0);
    assert_eq!(fault(&[leak, END_OF_PROGRAM]), (Errno::EACCES, 1));
    // No end, a jump back, a jump too far, what nothing leads to.
    assert_eq!(fault(&[set(0, 1)]), (Errno::EINVAL, 0));
    let back = instruction(JMP | JA, 0, 0, -2, 0);
    assert_eq!(fault(&[set(0, 1), back, END_OF_PROGRAM]), (Errno::EINVAL, 1));
    let far = instruction(JMP | JEQ, 0, 0, 5, 1);
    assert_eq!(fault(&[set(0, 1), far, END_OF_PROGRAM]), (Errno::EINVAL, 1));
    assert_eq!(fault(&[set(0, 1), END_OF_PROGRAM, END_OF_PROGRAM]), (Errno::EINVAL, 2));
    // Memory that is not the program's.
    for (from, offset) in [(10, 0), (10, -4), (10, -513), (10, 1), (1, 12), (1, -4), (1, 8), (0, 0)]
    {
        let read = instruction(LDX | MEM | DW, 2, from, offset, 0);
        assert_eq!(
            fault(&[set(0, 1), read, END_OF_PROGRAM]),
            (Errno::EACCES, 1),
            "{from} {offset}"
        );
    }
    let write = instruction(ST | MEM | W, 1, 0, 0, 7);
    assert_eq!(fault(&[set(0, 1), write, END_OF_PROGRAM]), (Errno::EACCES, 1));
    let frame = set(10, 1);
    assert_eq!(fault(&[set(0, 1), frame, END_OF_PROGRAM]), (Errno::EACCES, 1));
    // A register that is set on one way only.
    let program = [
        instruction(LDX | MEM | W, 2, 1, 4, 0),
        instruction(JMP | JEQ, 2, 0, 1, 0),
        set(3, 1),
        set(0, 0),
        instruction(ALU64 | ADD | X, 0, 3, 0, 0),
        END_OF_PROGRAM,
    ];
    assert_eq!(fault(&program), (Errno::EACCES, 4));
    // Functions and maps.
    assert_eq!(fault(&[instruction(JMP | 0x80, 0, 0, 0, 1), END_OF_PROGRAM]), (Errno::EINVAL, 0));
    let map = instruction(LOAD_WIDE, 1, 1, 0, 3);
    assert_eq!(fault(&[map, Instruction::default(), END_OF_PROGRAM]), (Errno::EINVAL, 0));
}

#[test]
fn known_branches_are_followed_alone() {
    let program = [
        instruction(LDX | MEM | W, 0, 1, 4, 0),
        instruction(JMP | JLE, 0, 0, 1, 1),
        set(0, 0),
        END_OF_PROGRAM,
    ];
    assert_eq!(answer(&program, [0, 1, 0]), Some(1));
    assert_eq!(answer(&program, [0, 7, 0]), Some(0));
}

#[test]
fn arithmetic_is_that_of_the_instruction_set() {
    let compute = |code, offset, immediate, left, right| {
        arithmetic::compute(instruction(code, 0, 0, offset, immediate), left, right)
    };
    assert_eq!(compute(ALU | ADD, 0, 0, 0xffff_ffff, 1), 0);
    assert_eq!(compute(ALU64 | DIV, 0, 0, 7, 0), 0);
    assert_eq!(compute(ALU | MOD, 0, 0, 0x1_0000_0007, 0), 7);
    assert_eq!(compute(ALU64 | DIV, 1, 0, (-7_i64).cast_unsigned(), 2), (-3_i64).cast_unsigned());
    assert_eq!(compute(ALU | ARSH, 0, 0, 0x8000_0000, 31), 0xffff_ffff);
    assert_eq!(compute(ALU64 | MOV | X, 8, 0, 0, 0x80), (-128_i64).cast_unsigned());
    assert_eq!(compute(ALU | END | X, 0, 16, 0x1234, 0), 0x3412);
    assert_eq!(compute(ALU | END, 0, 32, u64::MAX, 0), 0xffff_ffff);
    assert!(arithmetic::is_taken(JMP32 | JSLT, 0xffff_ffff, 0));
    assert!(!arithmetic::is_taken(JMP | JSLT, 0xffff_ffff, 0));
}

/// Whatever passes the verifier runs to its end and answers 0 or 1.
#[test]
fn random_programs_that_pass_answer() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % n
    };
    let mut n_passed = 0;
    for _ in 0..200_000 {
        let mut program = vec![set(0, 1)];
        for _ in 0..random(6) {
            let byte = |value: u64| u8::try_from(value).unwrap();
            let to = byte([0, 1, 2, 10][usize::try_from(random(4)).unwrap()]);
            let from = byte([0, 1, 2, 10][usize::try_from(random(4)).unwrap()]);
            let offset = i16::try_from(random(5)).unwrap() * 4 - 12;
            let number = i32::try_from(random(4)).unwrap() - 1;
            let offset = if random(2) == 0 { 0 } else { offset };
            program.push(instruction(byte(random(256)), to, from, offset, number));
        }
        program.push(END_OF_PROGRAM);
        if verify::verify(&program).is_ok() {
            n_passed += 1;
            let words = [2 << 16 | 2, 1, 3];
            assert!(interpret::run(&program, words).is_some_and(|it| it < 2), "{program:?}");
        }
    }
    assert!(n_passed > 1000, "{n_passed}");
}

#[test]
fn programs_are_known_while_somebody_has_them() {
    let programs = Rc::<Programs>::default();
    let load = || programs.load(vec![set(0, 1), END_OF_PROGRAM], b"x").unwrap();
    let (first, second) = (load(), load());
    assert_eq!((first.id, programs.next_id(first.id)), (1, Some(second.id)));
    drop(first);
    assert!(programs.by_id(1).is_none() && programs.next_id(0) == Some(2));
}
