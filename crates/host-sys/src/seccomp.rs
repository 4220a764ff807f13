//! Seccomp filters as data: one rule and one reason each, and how they become a program.

#![expect(unsafe_code, reason = "installing a filter is not wrapped by rustix")]

use std::io;

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

/// One system call that the host does.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The number.
    pub number: u32,
    /// The name.
    pub name: &'static str,
    /// The call is allowed if all tests of one of these lists hold.
    pub any_of: &'static [&'static [Test]],
    /// Who needs it, and why it is harmless.
    pub reason: &'static str,
}

impl Rule {
    /// A rule for a call whose arguments need no test.
    pub const fn always(number: u32, name: &'static str, reason: &'static str) -> Self {
        Self { number, name, any_of: ALWAYS, reason }
    }
}

/// What is wrong with a list of rules: each must have a reason, and a number of its own.
pub fn faults(rules: &[Rule]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut numbers = std::collections::HashSet::new();
    for rule in rules {
        if rule.reason.is_empty() {
            faults.push(format!("{} has no reason", rule.name));
        }
        if !numbers.insert(rule.number) {
            faults.push(format!("{} has the number of another", rule.name));
        }
    }
    faults
}

/// For calls whose arguments need no test.
pub const ALWAYS: &[&[Test]] = &[&[]];

/// One instruction of classic BPF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// What it does.
    pub code: u16,
    /// How many instructions to skip if a test holds.
    pub if_true: u8,
    /// How many if it does not.
    pub if_false: u8,
    /// An offset, a value or a distance.
    pub operand: u32,
}

impl Instruction {
    /// `struct sock_filter`.
    pub fn to_bytes(self) -> [u8; 8] {
        let [a, b] = self.code.to_le_bytes();
        let [e, f, g, h] = self.operand.to_le_bytes();
        [a, b, self.if_true, self.if_false, e, f, g, h]
    }
}

/// Loads a word of the call's description.
pub const LOAD: u16 = 0x20;
/// Clears bits.
pub const AND: u16 = 0x54;
/// Skips by whether the word has a value.
pub const JUMP_IF_EQUAL: u16 = 0x15;
/// Skips by whether the word is greater.
pub const JUMP_IF_GREATER: u16 = 0x25;
/// Skips by whether the word is at least this.
pub const JUMP_IF_AT_LEAST: u16 = 0x35;
/// Skips by whether the word has one of these bits.
pub const JUMP_IF_ANY_BIT: u16 = 0x45;
/// Skips.
pub const JUMP: u16 = 0x05;
/// Ends the program with an action.
pub const RETURN: u16 = 0x06;

/// The host does the call.
pub const ALLOW: u32 = 0x7fff_0000;
/// The caller gets a `SIGSYS`.
pub const TRAP: u32 = 0x0003_0000;
/// The call answers `EPERM`.
pub const REFUSE: u32 = 0x0005_0000 | 1;
/// The process ends.
pub const KILL_PROCESS: u32 = 0x8000_0000;

/// Where the number is.
pub const NUMBER: u32 = 0;
/// Where the architecture is.
pub const ARCHITECTURE: u32 = 4;
/// Where the lower half of the caller's address is.
pub const ADDRESS_LOW: u32 = 8;
/// Where its upper half is.
pub const ADDRESS_HIGH: u32 = 12;
/// Where the first argument is; each has eight bytes.
pub const FIRST_ARGUMENT: u32 = 16;
/// The one architecture.
pub const X86_64: u32 = 0xc000_003e;

/// Loads a word.
pub fn load(from: u32) -> Instruction {
    Instruction { code: LOAD, if_true: 0, if_false: 0, operand: from }
}

/// Ends with an action.
pub fn end(how: u32) -> Instruction {
    Instruction { code: RETURN, if_true: 0, if_false: 0, operand: how }
}

/// Skips by a test.
pub fn skip_if(code: u16, operand: u32, if_true: u8, if_false: u8) -> Instruction {
    Instruction { code, if_true, if_false, operand }
}

/// The instructions of some rules, which are tried in their order: what no rule names ends the
/// process, arguments that a rule does not allow lead to `otherwise`.
pub fn in_order(rules: &[Rule], otherwise: u32) -> Vec<Instruction> {
    let rules: Vec<&Rule> = rules.iter().collect();
    let mut program = vec![load(NUMBER)];
    program.extend(one_after_the_other(&rules, otherwise));
    program
}

/// The same, for many rules: the number is searched for by halves. When a filter is installed, the
/// host goes through it once for every number that there is.
pub fn by_number(rules: &[Rule], otherwise: u32) -> Vec<Instruction> {
    let mut sorted: Vec<&Rule> = rules.iter().collect();
    sorted.sort_by_key(|rule| rule.number);
    let mut program = vec![load(NUMBER)];
    program.extend(half(&sorted, otherwise));
    program
}

/// No instruction of a half leads behind it.
fn half(sorted: &[&Rule], otherwise: u32) -> Vec<Instruction> {
    const FEW: usize = 3;
    let (lower, upper) = sorted.split_at(sorted.len() / 2);
    let Some(first) = upper.first().filter(|_| sorted.len() > FEW) else {
        return one_after_the_other(sorted, otherwise);
    };
    let below = half(lower, otherwise);
    let mut program = vec![skip_if(JUMP_IF_AT_LEAST, first.number, 0, 1), jump(below.len())];
    program.extend(below);
    program.extend(half(upper, otherwise));
    program
}

fn one_after_the_other(rules: &[&Rule], otherwise: u32) -> Vec<Instruction> {
    let mut program = Vec::new();
    for rule in rules {
        let body = rule_body(rule, otherwise);
        program.extend([skip_if(JUMP_IF_EQUAL, rule.number, 1, 0), jump(body.len())]);
        program.extend(body);
    }
    program.push(end(KILL_PROCESS));
    program
}

/// Skips over some instructions. So many that they cannot be counted are a mistake that the unit
/// tests show.
fn jump(over: usize) -> Instruction {
    let operand = u32::try_from(over).unwrap_or(u32::MAX);
    Instruction { code: JUMP, if_true: 0, if_false: 0, operand }
}

/// The numbers that an assembled program does not end the process for, whatever the arguments are,
/// found by following it. Only tests need this: a filter is what its program does, not what its rules
/// say.
pub fn numbers(program: &[Instruction]) -> Vec<u32> {
    const END: u32 = 1024;
    (0..END).filter(|&number| knows(program, number)).collect()
}

fn knows(program: &[Instruction], number: u32) -> bool {
    let mut at = program.iter().position(|it| *it == load(NUMBER)).map_or(0, |at| at + 1);
    while let Some(&Instruction { code, if_true, if_false, operand }) = program.get(at) {
        let holds = match code {
            JUMP_IF_EQUAL => number == operand,
            JUMP_IF_AT_LEAST => number >= operand,
            JUMP => {
                at = at.saturating_add(operand as usize + 1);
                continue;
            }
            // An argument is looked at, or the end is reached.
            _ => return (code, operand) != (RETURN, KILL_PROCESS),
        };
        at += 1 + usize::from(if holds { if_true } else { if_false });
    }
    false
}

/// Puts this process, and every process that it starts from now on, under a filter, for good. The
/// process must have given up new privileges, and it must have one thread only.
pub fn install(program: &[Instruction]) -> io::Result<()> {
    #[repr(C)]
    struct Program {
        length: libc::c_ushort,
        instructions: *const u8,
    }
    const SET_MODE_FILTER: libc::c_uint = 1;
    /// The processor's speculation is left as it is, as for every other program of the user.
    const SPEC_ALLOW: libc::c_ulong = 4;
    let bytes: Vec<u8> = program.iter().flat_map(|it| it.to_bytes()).collect();
    let length = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let argument = Program { length, instructions: bytes.as_ptr() };
    // SAFETY: reads the structure and as many instructions of eight bytes as it says; both live
    // until the call returns.
    let failed = unsafe {
        libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, SPEC_ALLOW, &raw const argument)
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The alternatives of a rule, each ending in "allow" and falling through to the next one.
fn rule_body(rule: &Rule, otherwise: u32) -> Vec<Instruction> {
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
    body.push(end(otherwise));
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
