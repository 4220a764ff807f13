//! Runs a program that has been verified.

use linux_abi::tasks::bpf::{Instruction, code};

use super::arithmetic::{compute, immediate, is_taken, sign_extend, width};
use super::{CONTEXT, DeviceWords, FRAME, N_REGISTERS, STACK};

/// Where a program finds what it judges, and its stack: far apart, and nothing in between.
const CONTEXT_START: u64 = 1 << 32;
const STACK_START: u64 = 1 << 33;

struct Machine {
    registers: [u64; N_REGISTERS],
    stack: [u8; STACK],
    context: [u8; CONTEXT],
}

/// What the program answers; nothing if it does what the verifier has ruled out.
pub(super) fn run(instructions: &[Instruction], words: DeviceWords) -> Option<u64> {
    let mut machine =
        Machine { registers: [0; N_REGISTERS], stack: [0; STACK], context: bytes_of(words) };
    *machine.registers.get_mut(1)? = CONTEXT_START;
    *machine.registers.get_mut(FRAME)? = STACK_START + STACK as u64;
    let mut next = 0_usize;
    loop {
        let instruction = *instructions.get(next)?;
        let class = instruction.code & code::CLASS;
        let is_jump = matches!(class, code::JMP | code::JMP32);
        if is_jump && instruction.code & code::OPERATION == code::EXIT {
            return machine.registers.first().copied();
        }
        // Jumps lead forward alone, so that this comes to an end.
        let skipped = if is_jump {
            machine.jump(instruction)?
        } else if instruction.code == code::LOAD_WIDE {
            let upper = instructions.get(next + 1)?.immediate.cast_unsigned();
            let lower = instruction.immediate.cast_unsigned();
            machine.set(instruction, u64::from(upper) << 32 | u64::from(lower))?;
            1
        } else {
            machine.step(instruction)?;
            0
        };
        next = next.checked_add(1)?.checked_add(skipped)?;
    }
}

fn bytes_of(words: DeviceWords) -> [u8; CONTEXT] {
    zerocopy::transmute!(words)
}

impl Machine {
    fn get(&self, register: u8) -> Option<u64> {
        self.registers.get(usize::from(register)).copied()
    }

    fn set(&mut self, instruction: Instruction, value: u64) -> Option<()> {
        *self.registers.get_mut(usize::from(instruction.destination()))? = value;
        Some(())
    }

    fn operand(&self, instruction: Instruction) -> Option<u64> {
        let is_register = instruction.code & code::X != 0;
        if is_register { self.get(instruction.source()) } else { Some(immediate(instruction)) }
    }

    /// How many instructions a jump skips.
    fn jump(&self, instruction: Instruction) -> Option<usize> {
        let Instruction { code, offset, immediate, .. } = instruction;
        if code & code::OPERATION == code::JA {
            let by = if code & code::CLASS == code::JMP { offset.into() } else { immediate };
            return usize::try_from(by).ok();
        }
        let left = self.get(instruction.destination())?;
        let is_taken = is_taken(code, left, self.operand(instruction)?);
        if is_taken { usize::try_from(offset).ok() } else { Some(0) }
    }

    fn step(&mut self, instruction: Instruction) -> Option<()> {
        let n = width(instruction.code);
        let offset = i64::from(instruction.offset);
        match instruction.code & code::CLASS {
            code::ALU | code::ALU64 => {
                let left = self.get(instruction.destination())?;
                let value = compute(instruction, left, self.operand(instruction)?);
                self.set(instruction, value)
            }
            code::LDX => {
                let from = self.get(instruction.source())?.wrapping_add_signed(offset);
                let value = self.load(from, n)?;
                let is_signed = instruction.code & code::MODE == code::MEMSX;
                self.set(instruction, if is_signed { sign_extend(value, n) } else { value })
            }
            code::ST | code::STX => {
                let to = self.get(instruction.destination())?.wrapping_add_signed(offset);
                let is_register = instruction.code & code::CLASS == code::STX;
                let value = if is_register {
                    self.get(instruction.source())?
                } else {
                    immediate(instruction)
                };
                self.store(to, n, value)
            }
            _ => None,
        }
    }

    fn load(&self, from: u64, n: usize) -> Option<u64> {
        let place = |start| usize::try_from(from.wrapping_sub(start)).ok();
        let in_memory = |memory: &[u8], start| -> Option<u64> {
            let at = place(start)?;
            let mut bytes = [0; 8];
            bytes.get_mut(..n)?.copy_from_slice(memory.get(at..at.checked_add(n)?)?);
            Some(u64::from_le_bytes(bytes))
        };
        in_memory(&self.context, CONTEXT_START).or_else(|| in_memory(&self.stack, STACK_START))
    }

    fn store(&mut self, to: u64, n: usize, value: u64) -> Option<()> {
        let at = usize::try_from(to.wrapping_sub(STACK_START)).ok()?;
        let memory = self.stack.get_mut(at..at.checked_add(n)?)?;
        memory.copy_from_slice(value.to_le_bytes().get(..n)?);
        Some(())
    }
}
