use linux_abi::Errno;
use linux_abi::tasks::seccomp::FilterInstruction;

use super::program::Program;

fn step(code: u16, if_true: u8, if_false: u8, operand: u32) -> FilterInstruction {
    FilterInstruction { code, if_true, if_false, operand }
}

fn refused(instructions: Vec<FilterInstruction>) -> bool {
    matches!(Program::check(instructions), Err(Errno::EINVAL))
}

#[test]
fn a_number_is_told_from_others() {
    let program = Program::check(vec![
        step(0x20, 0, 0, 0),
        step(0x15, 0, 1, 39),
        step(0x06, 0, 0, 7),
        step(0x06, 0, 0, 8),
    ])
    .unwrap();
    let mut words = [0; 16];
    words[0] = 39;
    assert_eq!(program.run(&words), 7);
    words[0] = 40;
    assert_eq!(program.run(&words), 8);
}

#[test]
fn arithmetic_and_memory() {
    // a = 40; m[3] = a; x = m[3]; a = 2; a += x; return a
    let program = Program::check(vec![
        step(0x00, 0, 0, 40),
        step(0x02, 0, 0, 3),
        step(0x61, 0, 0, 3),
        step(0x00, 0, 0, 2),
        step(0x0c, 0, 0, 0),
        step(0x16, 0, 0, 0),
    ])
    .unwrap();
    assert_eq!(program.run(&[0; 16]), 42);
}

#[test]
fn a_division_by_zero_ends_with_zero() {
    let program =
        Program::check(vec![step(0x00, 0, 0, 40), step(0x3c, 0, 0, 0), step(0x06, 0, 0, 5)])
            .unwrap();
    assert_eq!(program.run(&[0; 16]), 0);
}

#[test]
fn programs_that_break_the_rules_are_refused() {
    let end = step(0x06, 0, 0, 0);
    assert!(refused(vec![]), "empty");
    assert!(refused(vec![step(0x00, 0, 0, 1)]), "no end");
    assert!(refused(vec![step(0x20, 0, 0, 2), end]), "not aligned");
    assert!(refused(vec![step(0x20, 0, 0, 64), end]), "behind the data");
    assert!(refused(vec![step(0x15, 1, 0, 0), end]), "a jump behind the end");
    assert!(refused(vec![step(0x05, 0, 0, u32::MAX), end]), "a jump far behind the end");
    assert!(refused(vec![step(0x34, 0, 0, 0), end]), "divides by zero");
    assert!(refused(vec![step(0x64, 0, 0, 32), end]), "shifts too far");
    assert!(refused(vec![step(0x60, 0, 0, 0), end]), "reads what was not written");
    assert!(refused(vec![step(0x02, 0, 0, 16), end]), "no such word");
    assert!(refused(vec![step(0x28, 0, 0, 0), end]), "loads of two bytes");
    assert!(refused(vec![end; 4097]), "too long");
}

#[test]
fn a_word_written_on_one_way_only_is_not_known() {
    assert!(refused(vec![
        step(0x15, 0, 1, 0),
        step(0x02, 0, 0, 1),
        step(0x60, 0, 0, 1),
        step(0x06, 0, 0, 0),
    ]));
}
