//! What instructions compute: one place for the verifier, which follows numbers that are known,
//! and for the interpreter.

use linux_abi::tasks::bpf::{Instruction, code};

/// How many bytes a load or store moves.
pub(super) const fn width(code: u8) -> usize {
    match code & code::SIZE {
        code::B => 1,
        code::H => 2,
        code::W => 4,
        _ => 8,
    }
}

/// The lowest `bytes` of a number, with their sign.
pub(super) const fn sign_extend(value: u64, bytes: usize) -> u64 {
    let [a, b, c, d, ..] = value.to_le_bytes();
    match bytes {
        1 => i64::from_le_bytes([0, 0, 0, 0, 0, 0, 0, a]) >> 56,
        2 => i64::from_le_bytes([0, 0, 0, 0, 0, 0, a, b]) >> 48,
        4 => i64::from_le_bytes([0, 0, 0, 0, a, b, c, d]) >> 32,
        _ => value.cast_signed(),
    }
    .cast_unsigned()
}

/// The lower half of a number.
pub(super) const fn low(value: u64) -> u64 {
    value & 0xffff_ffff
}

/// An immediate number as an operand.
pub(super) const fn immediate(instruction: Instruction) -> u64 {
    (instruction.immediate as i64).cast_unsigned()
}

/// Whether an instruction works on 64 bits.
pub(super) const fn is_wide(code: u8) -> bool {
    matches!(code & code::CLASS, code::ALU64 | code::JMP)
}

/// What an arithmetic instruction makes of its two operands. The verifier has checked its form.
pub(super) fn compute(instruction: Instruction, left: u64, right: u64) -> u64 {
    let is_wide = is_wide(instruction.code);
    if instruction.code & code::OPERATION == code::END {
        return swap(instruction, left);
    }
    let is_signed = instruction.offset == 1;
    let value = match instruction.code & code::OPERATION {
        code::ADD => left.wrapping_add(right),
        code::SUB => left.wrapping_sub(right),
        code::MUL => left.wrapping_mul(right),
        code::DIV if is_signed => divide_signed(left, right, is_wide),
        code::MOD if is_signed => remainder_signed(left, right, is_wide),
        // Division by zero is zero, and its remainder what was divided.
        code::DIV if is_wide => left.checked_div(right).unwrap_or(0),
        code::DIV => low(left).checked_div(low(right)).unwrap_or(0),
        code::MOD if is_wide => left.checked_rem(right).unwrap_or(left),
        code::MOD => low(left).checked_rem(low(right)).unwrap_or(low(left)),
        code::OR => left | right,
        code::AND => left & right,
        code::XOR => left ^ right,
        code::NEG => left.wrapping_neg(),
        code::MOV => match instruction.offset {
            8 => sign_extend(right, 1),
            16 => sign_extend(right, 2),
            32 => sign_extend(right, 4),
            _ => right,
        },
        operation => shift(operation, left, right, is_wide),
    };
    if is_wide { value } else { low(value) }
}

fn shift(operation: u8, left: u64, right: u64, is_wide: bool) -> u64 {
    let by = right & if is_wide { 63 } else { 31 };
    match operation {
        code::LSH => left << by,
        code::RSH if is_wide => left >> by,
        code::RSH => low(left) >> by,
        _ if is_wide => (left.cast_signed() >> by).cast_unsigned(),
        _ => (sign_extend(left, 4).cast_signed() >> by).cast_unsigned(),
    }
}

fn operands_signed(left: u64, right: u64, is_wide: bool) -> (i64, i64) {
    let bytes = if is_wide { 8 } else { 4 };
    (sign_extend(left, bytes).cast_signed(), sign_extend(right, bytes).cast_signed())
}

fn divide_signed(left: u64, right: u64, is_wide: bool) -> u64 {
    match operands_signed(left, right, is_wide) {
        (_, 0) => 0,
        (left, right) => left.wrapping_div(right).cast_unsigned(),
    }
}

fn remainder_signed(left: u64, right: u64, is_wide: bool) -> u64 {
    match operands_signed(left, right, is_wide) {
        (_, 0) => left,
        (left, right) => left.wrapping_rem(right).cast_unsigned(),
    }
}

/// Puts bytes into another order, and cuts the number to its width. Numbers here have the lowest
/// byte first, so that only the other order takes work.
fn swap(instruction: Instruction, value: u64) -> u64 {
    let swaps = is_wide(instruction.code) || instruction.code & code::X != 0;
    let bits = instruction.immediate.clamp(16, 64).cast_unsigned();
    if swaps { value.swap_bytes() >> (64 - bits) } else { value & (u64::MAX >> (64 - bits)) }
}

/// Whether a conditional jump is taken. The verifier has checked its form.
pub(super) fn is_taken(code: u8, left: u64, right: u64) -> bool {
    let (left, right) = if is_wide(code) { (left, right) } else { (low(left), low(right)) };
    let bytes = if is_wide(code) { 8 } else { 4 };
    let signed = |value| sign_extend(value, bytes).cast_signed();
    match code & code::OPERATION {
        code::JEQ => left == right,
        code::JNE => left != right,
        code::JGT => left > right,
        code::JGE => left >= right,
        code::JLT => left < right,
        code::JLE => left <= right,
        code::JSET => left & right != 0,
        code::JSGT => signed(left) > signed(right),
        code::JSGE => signed(left) >= signed(right),
        code::JSLT => signed(left) < signed(right),
        code::JSLE => signed(left) <= signed(right),
        _ => true,
    }
}
