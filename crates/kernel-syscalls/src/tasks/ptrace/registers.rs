//! The registers of a traced thread.

use kernel_core::memory::{UserMemory, UserPtr};
use kernel_tasks::Thread;
use kernel_tasks::machine::UserRegisters;
use linux_abi::tasks::ptrace::note;
use linux_abi::{Errno, SysResult};
use zerocopy::{FromBytes, IntoBytes};

/// The size of `struct user`.
const USER_SIZE: u64 = 912;
/// Where the debug registers are in it.
const DEBUG_REGISTERS: u64 = 848;
/// The size of the general registers, and of an `FXSAVE` image.
const GENERAL_SIZE: usize = UserRegisters::COUNT * 8;
const FXSAVE_SIZE: usize = 512;
/// The flags that a tracer may change, and those that it sees always set.
const CHANGEABLE_FLAGS: u64 = 0x4_4dd5;
/// The first address that no program can have.
const END_OF_USER_SPACE: u64 = 0x7fff_ffff_f000;

/// Reads a word of `struct user`.
pub(super) fn peek_user(thread: &Thread, other: &Thread, at: u64, to: u64) -> SysResult<()> {
    if !at.is_multiple_of(8) || at >= USER_SIZE {
        return Err(Errno::EIO);
    }
    let registers = other.machine().registers();
    // What is behind the registers is of no use to anybody, and reads as zero.
    let index = usize::try_from(at / 8).unwrap_or(usize::MAX);
    let word = registers.0.get(index).copied().unwrap_or(0);
    UserPtr::new(to).write(&thread.memory(), &word)
}

/// Writes a word of `struct user`.
pub(super) fn poke_user(other: &Thread, at: u64, word: u64) -> SysResult<()> {
    if !at.is_multiple_of(8) || at >= USER_SIZE {
        return Err(Errno::EIO);
    }
    let index = usize::try_from(at / 8).unwrap_or(usize::MAX);
    if index >= UserRegisters::COUNT {
        // There are no hardware breakpoints: nothing but "none" can be asked for.
        return if at >= DEBUG_REGISTERS && word == 0 { Ok(()) } else { Err(Errno::EIO) };
    }
    let mut registers = other.machine().registers();
    set(&mut registers, index, word)?;
    other.machine().set_registers(&registers);
    Ok(())
}

/// Changes one register, as far as a tracer may.
fn set(registers: &mut UserRegisters, index: usize, word: u64) -> SysResult<()> {
    let place = registers.0.get_mut(index).ok_or(Errno::EIO)?;
    match index {
        UserRegisters::FLAGS => {
            *place = *place & !CHANGEABLE_FLAGS | word & CHANGEABLE_FLAGS;
        }
        UserRegisters::FS_BASE if word >= END_OF_USER_SPACE => return Err(Errno::EIO),
        // Segments are what they are, and GS is the shim's.
        UserRegisters::CS | UserRegisters::SS | UserRegisters::GS_BASE.. if *place != word => {
            return Err(Errno::EIO);
        }
        _ => *place = word,
    }
    Ok(())
}

fn set_many(other: &Thread, bytes: &[u8]) -> SysResult<()> {
    let mut registers = other.machine().registers();
    for (index, word) in bytes.chunks_exact(8).enumerate() {
        let word = u64::read_from_bytes(word).map_err(|_| Errno::EIO)?;
        set(&mut registers, index, word)?;
    }
    other.machine().set_registers(&registers);
    Ok(())
}

/// `PTRACE_GETREGS`.
pub(super) fn get_all(thread: &Thread, other: &Thread, to: u64) -> SysResult<()> {
    thread.memory().write(to, other.machine().registers().0.as_bytes())
}

/// `PTRACE_SETREGS`.
pub(super) fn set_all(thread: &Thread, other: &Thread, from: u64) -> SysResult<()> {
    let mut bytes = [0; GENERAL_SIZE];
    thread.memory().read(from, &mut bytes)?;
    set_many(other, &bytes)
}

/// `PTRACE_GETFPREGS`.
pub(super) fn get_floating(thread: &Thread, other: &Thread, to: u64) -> SysResult<()> {
    thread.memory().write(to, &floating(other))
}

/// `PTRACE_SETFPREGS`.
pub(super) fn set_floating(thread: &Thread, other: &Thread, from: u64) -> SysResult<()> {
    let mut bytes = [0; FXSAVE_SIZE];
    thread.memory().read(from, &mut bytes)?;
    change_state(other, &bytes)
}

fn floating(other: &Thread) -> Vec<u8> {
    let mut bytes = other.machine().extended_state();
    bytes.resize(FXSAVE_SIZE, 0);
    // What the host keeps for itself.
    if let Some(own) = bytes.get_mut(464..) {
        own.fill(0);
    }
    bytes
}

/// Replaces the first bytes of the extended state. What is there is in use from now on.
fn change_state(other: &Thread, bytes: &[u8]) -> SysResult<()> {
    const PARTS: usize = 512;
    const LEGACY: u8 = 3;
    const MXCSR: std::ops::Range<usize> = 24..28;
    const KNOWN_MXCSR: u32 = 0xffff;
    let word = bytes.get(MXCSR).and_then(|word| u32::read_from_bytes(word).ok()).unwrap_or(0);
    if word & !KNOWN_MXCSR != 0 {
        return Err(Errno::EINVAL);
    }
    let mut state = other.machine().extended_state();
    for (to, from) in state.iter_mut().zip(bytes) {
        *to = *from;
    }
    if bytes.len() <= PARTS
        && let Some(parts) = state.get_mut(PARTS)
    {
        *parts |= LEGACY;
    }
    other.machine().set_extended_state(&state);
    Ok(())
}

/// `struct iovec`.
type Range = [u64; 2];

/// `PTRACE_GETREGSET`: as much of a set as there is room for.
pub(super) fn get_set(thread: &Thread, other: &Thread, name: u64, range: u64) -> SysResult<()> {
    let memory = thread.memory();
    let [base, length] = UserPtr::<Range>::new(range).read(&memory)?;
    let bytes = match name {
        note::PRSTATUS => other.machine().registers().0.as_bytes().to_vec(),
        note::PRFPREG => floating(other),
        note::X86_XSTATE => other.machine().extended_state(),
        _ => return Err(Errno::EINVAL),
    };
    if !length.is_multiple_of(8) {
        return Err(Errno::EINVAL);
    }
    let n = bytes.len().min(usize::try_from(length).unwrap_or(usize::MAX));
    memory.write(base, bytes.get(..n).unwrap_or_default())?;
    UserPtr::<Range>::new(range).write(&memory, &[base, n as u64])
}

/// `PTRACE_SETREGSET`.
pub(super) fn set_set(thread: &Thread, other: &Thread, name: u64, range: u64) -> SysResult<()> {
    let memory = thread.memory();
    let [base, length] = UserPtr::<Range>::new(range).read(&memory)?;
    let size = match name {
        note::PRSTATUS => GENERAL_SIZE,
        note::PRFPREG => FXSAVE_SIZE,
        note::X86_XSTATE => other.machine().extended_state().len(),
        _ => return Err(Errno::EINVAL),
    };
    if !length.is_multiple_of(8) {
        return Err(Errno::EINVAL);
    }
    let n = size.min(usize::try_from(length).unwrap_or(usize::MAX));
    let mut bytes = vec![0; n];
    memory.read(base, &mut bytes)?;
    match name {
        note::PRSTATUS => set_many(other, &bytes)?,
        _ => change_state(other, &bytes)?,
    }
    UserPtr::<Range>::new(range).write(&memory, &[base, n as u64])
}

/// `PTRACE_ARCH_PRCTL`: the base of FS.
pub(super) fn arch_prctl(thread: &Thread, other: &Thread, value: u64, what: u64) -> SysResult<()> {
    const SET_FS: u64 = 0x1002;
    const GET_FS: u64 = 0x1003;
    let mut registers = other.machine().registers();
    match what {
        SET_FS => {
            set(&mut registers, UserRegisters::FS_BASE, value).map_err(|_| Errno::EPERM)?;
            other.machine().set_registers(&registers);
            Ok(())
        }
        GET_FS => {
            let base = registers.0.get(UserRegisters::FS_BASE).copied().unwrap_or(0);
            UserPtr::new(value).write(&thread.memory(), &base)
        }
        _ => Err(Errno::EINVAL),
    }
}
