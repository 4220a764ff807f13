//! Proves that a program may run: it ends, it uses what was put somewhere before, it reads and
//! writes only its own stack and reads what it judges, and it answers 0 or 1.
//!
//! Jumps lead forward alone, so one pass over the instructions sees every way. Where ways meet, what
//! holds on all of them is kept: this is stricter than Linux, which follows each way by itself.

use linux_abi::Errno;
use linux_abi::tasks::bpf::{Instruction, code};

use super::arithmetic::{compute, immediate, is_wide, low, width};
use super::state::{Known, State, number_of_width};
use super::{CONTEXT, FRAME, N_REGISTERS};

/// Why a program may not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What the guest gets.
    pub errno: Errno,
    /// Which instruction it is about.
    pub at: usize,
    /// For the log.
    pub reason: &'static str,
}

impl Fault {
    pub(super) const fn new(errno: Errno, at: usize, reason: &'static str) -> Self {
        Self { errno, at, reason }
    }
}

type Checked<T = ()> = Result<T, (Errno, &'static str)>;

const fn malformed<T>(reason: &'static str) -> Checked<T> {
    Err((Errno::EINVAL, reason))
}

const fn forbidden<T>(reason: &'static str) -> Checked<T> {
    Err((Errno::EACCES, reason))
}

/// Where an instruction leads, next to the one behind it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The end.
    End,
    /// So many instructions further, by all means.
    Skip(usize),
    /// So many instructions further, or to the next one.
    Either(usize),
}

/// Checks a whole program.
pub(super) fn verify(instructions: &[Instruction]) -> Result<(), Fault> {
    // Whether any way leads there, and what is known then. A way that no value takes has no state.
    let mut is_met = vec![false; instructions.len()];
    let mut states: Vec<Option<Box<State>>> = vec![None; instructions.len()];
    if let (Some(met), Some(state)) = (is_met.first_mut(), states.first_mut()) {
        *met = true;
        *state = Some(Box::new(State::at_start()));
    }
    let mut at = 0;
    while let Some(&instruction) = instructions.get(at) {
        let fault = |(errno, reason)| Fault::new(errno, at, reason);
        if !is_met.get(at).is_some_and(|&met| met) {
            return Err(fault((Errno::EINVAL, "unreachable instruction")));
        }
        let length = check_form(instruction, instructions.get(at + 1)).map_err(fault)?;
        let next = leads_to(instruction).map_err(fault)?;
        let ways = match states.get_mut(at).and_then(Option::take) {
            Some(state) => {
                follow(instruction, instructions.get(at + 1), *state, next).map_err(fault)?
            }
            None => (None, None),
        };
        let behind = at + length;
        let mut arrive = |target: usize, state: Option<State>| {
            let (Some(met), Some(known)) = (is_met.get_mut(target), states.get_mut(target)) else {
                return Err(fault((Errno::EINVAL, "jump out of range, or no exit at the end")));
            };
            *met = true;
            match (known.as_mut(), state) {
                (Some(known), Some(state)) => known.join(&state),
                (None, state) => *known = state.map(Box::new),
                (Some(_), None) => {}
            }
            Ok(())
        };
        match next {
            Next::End => {}
            Next::Skip(by) => arrive(behind + by, ways.0)?,
            Next::Either(by) => {
                arrive(behind + by, ways.0)?;
                arrive(behind, ways.1)?;
            }
        }
        at = behind;
    }
    Ok(())
}

/// Checks the parts of an instruction, and says how many places it takes.
fn check_form(instruction: Instruction, following: Option<&Instruction>) -> Checked<usize> {
    let Instruction { code, offset, immediate, .. } = instruction;
    let (destination, source) = (instruction.destination(), instruction.source());
    if usize::from(destination) >= N_REGISTERS || usize::from(source) >= N_REGISTERS {
        return malformed("no such register");
    }
    let class = code & code::CLASS;
    let changes = matches!(class, code::LD | code::LDX | code::ALU | code::ALU64);
    if changes && usize::from(destination) == FRAME {
        return forbidden("the frame pointer cannot be changed");
    }
    match class {
        code::ALU | code::ALU64 => check_arithmetic(instruction).map(|()| 1),
        code::JMP | code::JMP32 => check_jump(instruction).map(|()| 1),
        code::LD if code == code::LOAD_WIDE => match following {
            _ if source != 0 => malformed("there are no maps"),
            Some(Instruction { code: 0, registers: 0, offset: 0, .. }) if offset == 0 => Ok(2),
            _ => malformed("the second half of a wide number is missing"),
        },
        code::LDX if immediate == 0 && code & code::MODE == code::MEM => Ok(1),
        code::LDX if immediate == 0 && code & code::MODE == code::MEMSX && width(code) < 8 => Ok(1),
        code::ST if source == 0 && code & code::MODE == code::MEM => Ok(1),
        code::STX if immediate == 0 && code & code::MODE == code::MEM => Ok(1),
        _ => malformed("unknown instruction"),
    }
}

fn check_arithmetic(instruction: Instruction) -> Checked {
    let Instruction { code, offset, immediate, .. } = instruction;
    let is_register = code & code::X != 0;
    let operation = code & code::OPERATION;
    let is_alone = match operation {
        code::END => {
            let is_known = matches!(immediate, 16 | 32 | 64) && offset == 0;
            let is_plain_wide = is_wide(code) && is_register;
            if !is_known || is_plain_wide || instruction.source() != 0 {
                return malformed("unknown order of bytes");
            }
            return Ok(());
        }
        code::NEG => is_register || immediate != 0,
        _ if is_register => immediate != 0,
        _ => false,
    };
    if is_alone || !is_register && instruction.source() != 0 {
        return malformed("reserved parts are used");
    }
    let fits = match operation {
        code::DIV | code::MOD => matches!(offset, 0 | 1),
        code::MOV if is_register => matches!(offset, 0 | 8 | 16) || offset == 32 && is_wide(code),
        _ => offset == 0,
    };
    if !fits || operation > code::END {
        return malformed("unknown arithmetic");
    }
    if is_register {
        return Ok(());
    }
    match operation {
        code::DIV | code::MOD if immediate == 0 => malformed("division by zero"),
        code::LSH | code::RSH | code::ARSH
            if !(0..if is_wide(code) { 64 } else { 32 }).contains(&immediate) =>
        {
            malformed("shift out of range")
        }
        _ => Ok(()),
    }
}

fn check_jump(instruction: Instruction) -> Checked {
    let Instruction { code, offset, immediate, registers } = instruction;
    let is_register = code & code::X != 0;
    let is_narrow = code & code::CLASS == code::JMP32;
    let is_plain = match code & code::OPERATION {
        code::JA if is_narrow => !is_register && registers == 0 && offset == 0,
        code::JA => !is_register && registers == 0 && immediate == 0,
        code::EXIT => !is_narrow && !is_register && registers == 0 && offset == 0 && immediate == 0,
        // A call: no functions are offered.
        0x80 => return malformed("unknown function"),
        operation if operation > code::JSLE => false,
        _ if is_register => immediate == 0,
        _ => instruction.source() == 0,
    };
    if is_plain { Ok(()) } else { malformed("reserved parts are used") }
}

fn leads_to(instruction: Instruction) -> Checked<Next> {
    let Instruction { code, offset, immediate, .. } = instruction;
    let forward = |by: i32| match usize::try_from(by) {
        Ok(by) => Ok(by),
        Err(_) => malformed("a jump back: loops are not taken"),
    };
    match (code & code::CLASS, code & code::OPERATION) {
        (code::JMP, code::EXIT) => Ok(Next::End),
        (code::JMP, code::JA) => forward(offset.into()).map(Next::Skip),
        (code::JMP32, code::JA) => forward(immediate).map(Next::Skip),
        (code::JMP | code::JMP32, _) => forward(offset.into()).map(Next::Either),
        _ => Ok(Next::Skip(0)),
    }
}

/// What is known where an instruction leads: by its jump, or on; and on, if it may do either.
fn follow(
    instruction: Instruction,
    following: Option<&Instruction>,
    mut state: State,
    next: Next,
) -> Checked<(Option<State>, Option<State>)> {
    match (next, instruction.code & code::CLASS) {
        (Next::End, _) => match state.get(0) {
            Known::Number(_, 0..=1) => {}
            Known::Number(..) => return malformed("the answer must be 0 or 1"),
            _ => return forbidden("there is no answer in register 0"),
        },
        (Next::Either(_), _) => return branch(instruction, &state),
        (_, code::ALU | code::ALU64) => arithmetic(instruction, &mut state)?,
        (_, code::LD) => {
            let upper = following.map_or(0, |it| it.immediate.cast_unsigned());
            let value = u64::from(upper) << 32 | u64::from(instruction.immediate.cast_unsigned());
            state.set(instruction.destination(), Known::exactly(value));
        }
        (_, code::LDX) => load(instruction, &mut state)?,
        (_, code::ST | code::STX) => store(instruction, &mut state)?,
        _ => {}
    }
    Ok((Some(state), None))
}

fn used(state: &State, register: u8) -> Checked<Known> {
    match state.get(register) {
        Known::Nothing => forbidden("a register is used before it is set"),
        known => Ok(known),
    }
}

fn operand(instruction: Instruction, state: &State) -> Checked<Known> {
    if instruction.code & code::X != 0 {
        return used(state, instruction.source());
    }
    Ok(Known::exactly(immediate(instruction)))
}

fn branch(instruction: Instruction, state: &State) -> Checked<(Option<State>, Option<State>)> {
    used(state, instruction.destination())?;
    let with = operand(instruction, state)?;
    match with.value() {
        Some(with) if is_wide(instruction.code) => {
            let operation = instruction.code & code::OPERATION;
            Ok(state.split(operation, instruction.destination(), with))
        }
        _ => Ok((Some(state.clone()), Some(state.clone()))),
    }
}

fn arithmetic(instruction: Instruction, state: &mut State) -> Checked {
    let operation = instruction.code & code::OPERATION;
    let is_end = operation == code::END;
    let right = if is_end { Known::exactly(0) } else { operand(instruction, state)? };
    let is_move = operation == code::MOV;
    let left = if is_move { Known::exactly(0) } else { used(state, instruction.destination())? };
    let moves_all = is_move && is_wide(instruction.code) && instruction.offset == 0;
    let result = match (left, right) {
        _ if moves_all => right,
        (Known::Number(..), Known::Number(..)) => number(instruction, left, right),
        (Known::Context(_) | Known::Stack(_), Known::Number(..))
            if is_wide(instruction.code) && matches!(operation, code::ADD | code::SUB) =>
        {
            moved(left, operation, right)?
        }
        // A pointer as a number: of no use, but harmless.
        _ => number_of_width(if is_wide(instruction.code) { 8 } else { 4 }),
    };
    state.set(instruction.destination(), result);
    Ok(())
}

/// What arithmetic makes of numbers that are known in part.
fn number(instruction: Instruction, left: Known, right: Known) -> Known {
    if let (Some(left), Some(right)) = (left.value(), right.value()) {
        return Known::exactly(compute(instruction, left, right));
    }
    let (Known::Number(_, highest), Known::Number(_, most)) = (left, right) else {
        return Known::ANY_NUMBER;
    };
    let is_wide = is_wide(instruction.code);
    let limit = if is_wide { u64::MAX } else { low(u64::MAX) };
    let known = match instruction.code & code::OPERATION {
        // The upper halves do not count where only the lower ones are used.
        code::AND => Known::Number(0, highest.min(most)),
        code::RSH if highest <= limit => match right.value() {
            Some(by) => Known::Number(0, highest >> (by & if is_wide { 63 } else { 31 })),
            None => Known::Number(0, highest),
        },
        code::MOV if instruction.offset == 0 && most <= limit => right,
        code::MOD if instruction.offset == 0 && right.value().is_some_and(|it| low(it) != 0) => {
            let divisor = right.value().map_or(1, |it| if is_wide { it } else { low(it) });
            Known::Number(0, divisor - 1)
        }
        _ => return number_of_width(if is_wide { 8 } else { 4 }),
    };
    match known {
        Known::Number(_, highest) if highest > limit => Known::Number(0, limit),
        known => known,
    }
}

/// A pointer that is moved by a number, which must be known.
fn moved(pointer: Known, operation: u8, by: Known) -> Checked<Known> {
    /// Far beyond anything that can be reached, and far from where sums overflow.
    const FARTHEST: i64 = 1 << 29;
    let Some(by) = by.value().map(u64::cast_signed) else {
        return forbidden("a pointer is moved by an unknown number");
    };
    let sum = |from: i64| {
        let to = if operation == code::ADD { from.checked_add(by) } else { from.checked_sub(by) };
        to.filter(|to| (-FARTHEST..=FARTHEST).contains(to))
    };
    match pointer {
        Known::Context(from) => sum(from).map(Known::Context),
        Known::Stack(from) => sum(from).map(Known::Stack),
        _ => None,
    }
    .ok_or((Errno::EACCES, "a pointer is moved too far"))
}

fn load(instruction: Instruction, state: &mut State) -> Checked {
    let n = width(instruction.code);
    let offset = i64::from(instruction.offset);
    let read = match used(state, instruction.source())? {
        Known::Context(from) => {
            if from != 0 {
                return forbidden("what is judged is read by a pointer that was moved");
            }
            let start = usize::try_from(offset).unwrap_or(CONTEXT);
            // The first word may be read in parts, the others as a whole.
            let is_fit = n == 4 || n < 4 && start < 4;
            if start % n != 0 || start + n > CONTEXT || !is_fit {
                return forbidden("invalid access to what is judged");
            }
            number_of_width(n)
        }
        Known::Stack(from) => match state.load(from + offset, n) {
            Some(known) => known,
            None => return forbidden("invalid access to the stack"),
        },
        _ => return forbidden("a number is used as a pointer"),
    };
    let is_signed = instruction.code & code::MODE == code::MEMSX;
    state.set(instruction.destination(), if is_signed { Known::ANY_NUMBER } else { read });
    Ok(())
}

fn store(instruction: Instruction, state: &mut State) -> Checked {
    let n = width(instruction.code);
    let is_register = instruction.code & code::CLASS == code::STX;
    let value = if is_register {
        used(state, instruction.source())?
    } else {
        Known::exactly(immediate(instruction))
    };
    match used(state, instruction.destination())? {
        Known::Stack(from) => {
            let stored = state.store(from + i64::from(instruction.offset), n, value);
            stored.ok_or((Errno::EACCES, "invalid access to the stack"))
        }
        Known::Context(_) => forbidden("what is judged cannot be changed"),
        _ => forbidden("a number is used as a pointer"),
    }
}
