//! Arguments made to the descriptions of the table.

use fastrand::Rng;
use kernel_syscalls::{Kind, Registers, Syscall};

use crate::memory::{Arena, word};

/// How many bytes a buffer has whose length another argument tells.
const BUFFER: usize = 600;
/// `AT_FDCWD`.
const HERE: u64 = (-100_i64).cast_unsigned();

/// The registers of one call.
pub fn registers(call: &Syscall, arena: &mut Arena<'_>, rng: &mut Rng) -> Registers {
    let mut registers: Registers = std::array::from_fn(|_| word(rng));
    for (register, argument) in registers.iter_mut().zip(call.arguments) {
        *register = value(argument.kind, arena, rng);
    }
    registers
}

fn value(kind: Kind, arena: &mut Arena<'_>, rng: &mut Rng) -> u64 {
    match kind {
        Kind::Fd => descriptor(rng),
        Kind::DirFd => match rng.u8(..4) {
            0 => descriptor(rng),
            _ => HERE,
        },
        Kind::Signal => rng.u64(..70),
        Kind::Mode => rng.u64(..0o10000),
        Kind::Hex => flags(rng),
        Kind::Int => match rng.u8(..4) {
            0 => word(rng),
            _ => rng.u64(..40),
        },
        Kind::Size => match rng.u8(..5) {
            0 => word(rng),
            1 => rng.u64(..64),
            _ => rng.u64(..BUFFER as u64),
        },
        Kind::Path => arena.path(rng),
        Kind::Address => arena.structure(rng, BUFFER),
        Kind::In(length) | Kind::InOut(length) => arena.structure(rng, length.into()),
        Kind::Out(length) => arena.room(rng, length.into()),
        Kind::InBy(_) => arena.structure(rng, BUFFER),
        Kind::OutBy(_) => arena.room(rng, BUFFER),
    }
}

fn descriptor(rng: &mut Rng) -> u64 {
    match rng.u8(..20) {
        0 => word(rng),
        1 => u64::MAX,
        2 => 1023,
        _ => rng.u64(..24),
    }
}

fn flags(rng: &mut Rng) -> u64 {
    match rng.u8(..6) {
        0 => word(rng),
        1 | 2 => 0,
        3 => 1 << rng.u64(..32),
        4 => 1 << rng.u64(..32) | 1 << rng.u64(..24),
        _ => rng.u64(..16),
    }
}
