//! The programs that filters are: the classic packet filter's, on the words of a call.

use linux_abi::tasks::seccomp::{FilterInstruction, action};
use linux_abi::{Errno, SysResult};

/// The longest program.
const MAX_LENGTH: usize = 4096;
/// How many words a program can keep.
const MEMORY: usize = 16;
/// How many bytes of a call it sees.
const DATA_SIZE: u32 = 64;

/// Classes and parts of an instruction's code.
mod code {
    pub const LD_ABS: u16 = 0x20;
    pub const LD_IMM: u16 = 0x00;
    pub const LD_LEN: u16 = 0x80;
    pub const LD_MEM: u16 = 0x60;
    pub const LDX_IMM: u16 = 0x01;
    pub const LDX_LEN: u16 = 0x81;
    pub const LDX_MEM: u16 = 0x61;
    pub const ST: u16 = 0x02;
    pub const STX: u16 = 0x03;
    pub const RET_K: u16 = 0x06;
    pub const RET_A: u16 = 0x16;
    pub const TAX: u16 = 0x07;
    pub const TXA: u16 = 0x87;
    pub const JA: u16 = 0x05;
    pub const NEG: u16 = 0x84;
    /// The class of arithmetic, and of jumps.
    pub const ALU: u16 = 0x04;
    pub const JMP: u16 = 0x05;
    pub const CLASS: u16 = 0x07;
    /// The second operand is X.
    pub const X: u16 = 0x08;
    pub const OPERATION: u16 = 0xf0;
    pub const ADD: u16 = 0x00;
    pub const SUB: u16 = 0x10;
    pub const MUL: u16 = 0x20;
    pub const DIV: u16 = 0x30;
    pub const OR: u16 = 0x40;
    pub const AND: u16 = 0x50;
    pub const LSH: u16 = 0x60;
    pub const RSH: u16 = 0x70;
    pub const XOR: u16 = 0xa0;
    pub const JEQ: u16 = 0x10;
    pub const JGT: u16 = 0x20;
    pub const JGE: u16 = 0x30;
    pub const JSET: u16 = 0x40;
}

/// A program that was checked: it ends, and touches nothing but its own.
pub struct Program(Vec<FilterInstruction>);

impl Program {
    /// Takes a program that follows the rules; `EINVAL` for any other.
    pub fn check(instructions: Vec<FilterInstruction>) -> SysResult<Self> {
        let length = instructions.len();
        if length == 0 || length > MAX_LENGTH {
            return Err(Errno::EINVAL);
        }
        let ends = instructions.last().map(|last| last.code);
        if !matches!(ends, Some(code::RET_K | code::RET_A)) {
            return Err(Errno::EINVAL);
        }
        for (index, instruction) in instructions.iter().enumerate() {
            check_one(instruction, length - index - 1)?;
        }
        check_memory(&instructions)?;
        Ok(Self(instructions))
    }

    /// How many instructions there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Runs the program on the words of a call.
    pub fn run(&self, words: &[u32; 16]) -> u32 {
        let (mut a, mut x) = (0u32, 0u32);
        let mut memory = [0u32; MEMORY];
        let mut at = 0usize;
        while let Some(instruction) = self.0.get(at) {
            at += 1;
            let k = instruction.operand;
            let index = usize::try_from(k).unwrap_or(usize::MAX);
            match instruction.code {
                code::LD_ABS => a = words.get(index / 4).copied().unwrap_or(0),
                code::LD_IMM => a = k,
                code::LDX_IMM => x = k,
                code::LD_LEN => a = DATA_SIZE,
                code::LDX_LEN => x = DATA_SIZE,
                code::LD_MEM => a = memory.get(index).copied().unwrap_or(0),
                code::LDX_MEM => x = memory.get(index).copied().unwrap_or(0),
                code::ST | code::STX => {
                    let value = if instruction.code == code::ST { a } else { x };
                    if let Some(word) = memory.get_mut(index) {
                        *word = value;
                    }
                }
                code::TAX => x = a,
                code::TXA => a = x,
                code::RET_K => return k,
                code::RET_A => return a,
                code::JA => at = at.saturating_add(index),
                code::NEG => a = a.wrapping_neg(),
                other => {
                    let operand = if other & code::X != 0 { x } else { k };
                    if other & code::CLASS == code::ALU {
                        match compute(other & code::OPERATION, a, operand) {
                            Some(value) => a = value,
                            None => return action::KILL_THREAD,
                        }
                    } else if holds(other & code::OPERATION, a, operand) {
                        at += usize::from(instruction.if_true);
                    } else {
                        at += usize::from(instruction.if_false);
                    }
                }
            }
        }
        action::KILL_THREAD // not reached: the last instruction returns
    }
}

/// Division by zero is the end of the filter, with 0.
fn compute(operation: u16, a: u32, operand: u32) -> Option<u32> {
    Some(match operation {
        code::ADD => a.wrapping_add(operand),
        code::SUB => a.wrapping_sub(operand),
        code::MUL => a.wrapping_mul(operand),
        code::DIV => a.checked_div(operand)?,
        code::OR => a | operand,
        code::AND => a & operand,
        code::XOR => a ^ operand,
        code::LSH => a.wrapping_shl(operand),
        _ => a.wrapping_shr(operand),
    })
}

fn holds(operation: u16, a: u32, operand: u32) -> bool {
    match operation {
        code::JEQ => a == operand,
        code::JGT => a > operand,
        code::JGE => a >= operand,
        _ => a & operand != 0,
    }
}

fn check_one(instruction: &FilterInstruction, behind: usize) -> SysResult<()> {
    let k = instruction.operand;
    let in_reach = |distance: usize| distance < behind;
    let is_fine = match instruction.code {
        code::LD_ABS => k < DATA_SIZE && k.is_multiple_of(4),
        code::LD_IMM | code::LDX_IMM | code::LD_LEN | code::LDX_LEN => true,
        code::TAX | code::TXA | code::RET_K | code::RET_A | code::NEG => true,
        code::LD_MEM | code::LDX_MEM | code::ST | code::STX => {
            usize::try_from(k).is_ok_and(|index| index < MEMORY)
        }
        code::JA => usize::try_from(k).is_ok_and(in_reach),
        other if other & !(code::OPERATION | code::X | code::CLASS) != 0 => false,
        other if other & code::CLASS == code::ALU => {
            let by_k = other & code::X == 0;
            match other & code::OPERATION {
                code::DIV => !by_k || k != 0,
                code::LSH | code::RSH => !by_k || k < 32,
                code::ADD | code::SUB | code::MUL | code::OR | code::AND | code::XOR => true,
                _ => false,
            }
        }
        other if other & code::CLASS == code::JMP => {
            matches!(other & code::OPERATION, code::JEQ | code::JGT | code::JGE | code::JSET)
                && in_reach(instruction.if_true.into())
                && in_reach(instruction.if_false.into())
        }
        _ => false,
    };
    if is_fine { Ok(()) } else { Err(Errno::EINVAL) }
}

/// A word must have been written on every way to where it is read.
fn check_memory(instructions: &[FilterInstruction]) -> SysResult<()> {
    let mut known = vec![u16::MAX; instructions.len()];
    let mut written = 0u16;
    for (index, instruction) in instructions.iter().enumerate() {
        written &= known.get(index).copied().unwrap_or(0);
        let bit = 1u16.checked_shl(instruction.operand).unwrap_or(0);
        let mut reaches = |distance: usize, written: u16| {
            if let Some(word) = known.get_mut(index + 1 + distance) {
                *word &= written;
            }
        };
        match instruction.code {
            code::ST | code::STX => written |= bit,
            code::LD_MEM | code::LDX_MEM if written & bit == 0 => return Err(Errno::EINVAL),
            code::JA => {
                reaches(usize::try_from(instruction.operand).unwrap_or(0), written);
                written = u16::MAX;
            }
            other if other & code::CLASS == code::JMP => {
                reaches(instruction.if_true.into(), written);
                reaches(instruction.if_false.into(), written);
                written = u16::MAX;
            }
            _ => {}
        }
    }
    Ok(())
}
