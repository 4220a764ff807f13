//! The initial stack: arguments, environment, auxiliary vector.

use channel_abi::layout::STACK_TOP;
use host_sys::rustix::param;
use linux_abi::{Errno, SysResult};

use crate::Segment;

const PAGE: u64 = 4096;
/// Used for an unlimited stack, which we cannot map.
const LARGEST_STACK: u64 = 1 << 30;
const SMALLEST_STACK: u64 = 128 << 10;
/// Arguments and environment together may take a quarter of the stack, but not more than this.
const MAX_STRINGS: u64 = 6 << 20;

/// What the auxiliary vector tells that depends on the program.
pub struct AuxiliaryValues {
    /// `AT_PHDR`.
    pub headers: u64,
    /// `AT_PHNUM`.
    pub n_headers: u64,
    /// `AT_BASE`.
    pub interpreter_base: u64,
    /// `AT_ENTRY`.
    pub entry: u64,
    /// `AT_UID`, `AT_EUID`, `AT_GID`, `AT_EGID`.
    pub ids: [u32; 4],
    /// `AT_SECURE`.
    pub secure: bool,
}

/// What the stack is made from.
pub struct StackRequest<'a> {
    /// `AT_EXECFN`.
    pub name: &'a [u8],
    /// The arguments.
    pub argv: &'a [Vec<u8>],
    /// The environment.
    pub envp: &'a [Vec<u8>],
    /// `RLIMIT_STACK`.
    pub limit: u64,
    /// The program may run code on the stack.
    pub is_executable: bool,
    /// What the auxiliary vector tells.
    pub values: AuxiliaryValues,
    /// `AT_RANDOM`.
    pub random: [u8; 16],
}

/// A stack, ready to be mapped and filled.
pub struct Stack {
    /// Its memory.
    pub segment: Segment,
    /// The initial stack pointer.
    pub pointer: u64,
    /// What lies there.
    pub bytes: Vec<u8>,
    /// The auxiliary vector alone.
    pub auxiliary_vector: Vec<u8>,
    /// Start and end of the arguments and of the environment.
    pub strings: [u64; 4],
}

/// Strings, laid out upwards from a base that is known when all have been added.
struct Strings {
    bytes: Vec<u8>,
    base: u64,
}

impl Strings {
    fn add(&mut self, string: &[u8]) -> u64 {
        let at = self.end();
        self.bytes.extend_from_slice(string);
        self.bytes.push(0);
        at
    }

    fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }
}

/// Builds the stack.
pub fn build(request: &StackRequest<'_>) -> SysResult<Stack> {
    let size = request.limit.clamp(SMALLEST_STACK, LARGEST_STACK).next_multiple_of(PAGE);
    let strings = request.argv.iter().chain(request.envp).map(Vec::as_slice);
    let strings = strings.chain([request.name, PLATFORM]);
    let length: usize = strings.map(|string| string.len() + 1).sum();
    let n_pointers = request.argv.len() + request.envp.len();
    if length as u64 + 8 * n_pointers as u64 > (size / 4).min(MAX_STRINGS) {
        return Err(Errno::E2BIG);
    }
    let random_and_gap = 16 + 8;
    let base = (STACK_TOP - random_and_gap - length as u64) & !15;
    let mut strings = Strings { bytes: Vec::with_capacity(length + 32), base };
    let argv: Vec<u64> = request.argv.iter().map(|string| strings.add(string)).collect();
    let after_arguments = strings.end();
    let envp: Vec<u64> = request.envp.iter().map(|string| strings.add(string)).collect();
    let after_environment = strings.end();
    let name = strings.add(request.name);
    let platform = strings.add(PLATFORM);
    let random = strings.end();
    strings.bytes.extend_from_slice(&request.random);

    let vector = auxiliary_vector(&request.values, name, platform, random);
    let mut words: Vec<u64> = vec![argv.len() as u64];
    words.extend(argv);
    words.push(0);
    words.extend(envp);
    words.push(0);
    words.extend(vector.iter().flatten());
    let pointer = (base - 8 * words.len() as u64) & !15;
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.resize(usize::try_from(base - pointer).map_err(|_| Errno::E2BIG)?, 0);
    bytes.extend_from_slice(&strings.bytes);
    Ok(Stack {
        segment: Segment {
            address: STACK_TOP - size,
            length: size,
            protection: if request.is_executable { 7 } else { 3 },
            file: None,
            zero_from: None,
        },
        pointer,
        bytes,
        auxiliary_vector: vector.iter().flatten().flat_map(|word| word.to_le_bytes()).collect(),
        strings: [base, after_arguments, after_arguments, after_environment],
    })
}

const PLATFORM: &[u8] = b"x86_64";

/// Keys of the auxiliary vector.
mod key {
    pub const NULL: u64 = 0;
    pub const PHDR: u64 = 3;
    pub const PHENT: u64 = 4;
    pub const PHNUM: u64 = 5;
    pub const PAGESZ: u64 = 6;
    pub const BASE: u64 = 7;
    pub const FLAGS: u64 = 8;
    pub const ENTRY: u64 = 9;
    pub const UID: u64 = 11;
    pub const EUID: u64 = 12;
    pub const GID: u64 = 13;
    pub const EGID: u64 = 14;
    pub const PLATFORM: u64 = 15;
    pub const HWCAP: u64 = 16;
    pub const CLKTCK: u64 = 17;
    pub const SECURE: u64 = 23;
    pub const RANDOM: u64 = 25;
    pub const HWCAP2: u64 = 26;
    pub const EXECFN: u64 = 31;
    pub const SYSINFO_EHDR: u64 = 33;
    pub const MINSIGSTKSZ: u64 = 51;
}

fn auxiliary_vector(
    values: &AuxiliaryValues,
    name: u64,
    platform: u64,
    random: u64,
) -> Vec<[u64; 2]> {
    /// The shim keeps its own data behind the GS base: guests must not think that they may use it.
    const FSGSBASE: usize = 2;
    const HEADER_SIZE: u64 = 56;
    const TICKS_PER_SECOND: u64 = 100;
    let (hwcap, hwcap2) = param::linux_hwcap();
    let [uid, euid, gid, egid] = values.ids.map(u64::from);
    vec![
        // The shim fills in where the host put its vDSO.
        [key::SYSINFO_EHDR, 0],
        [key::MINSIGSTKSZ, host_sys::signal_frame_size()],
        [key::HWCAP, hwcap as u64],
        [key::PAGESZ, PAGE],
        [key::CLKTCK, TICKS_PER_SECOND],
        [key::PHDR, values.headers],
        [key::PHENT, HEADER_SIZE],
        [key::PHNUM, values.n_headers],
        [key::BASE, values.interpreter_base],
        [key::FLAGS, 0],
        [key::ENTRY, values.entry],
        [key::UID, uid],
        [key::EUID, euid],
        [key::GID, gid],
        [key::EGID, egid],
        [key::SECURE, u64::from(values.secure)],
        [key::RANDOM, random],
        [key::HWCAP2, (hwcap2 & !FSGSBASE) as u64],
        [key::EXECFN, name],
        [key::PLATFORM, platform],
        [key::NULL, 0],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request<'a>(argv: &'a [Vec<u8>], envp: &'a [Vec<u8>]) -> StackRequest<'a> {
        StackRequest {
            name: b"/bin/x",
            argv,
            envp,
            limit: 8 << 20,
            is_executable: false,
            values: AuxiliaryValues {
                headers: 1,
                n_headers: 2,
                interpreter_base: 3,
                entry: 4,
                ids: [5, 6, 7, 8],
                secure: false,
            },
            random: [9; 16],
        }
    }

    #[test]
    fn arguments_are_found_through_their_pointers() {
        let argv = [b"one".to_vec(), b"two".to_vec()];
        let stack = build(&request(&argv, &[])).unwrap();
        assert_eq!(stack.pointer % 16, 0);
        let word = |at: usize| u64::from_le_bytes(stack.bytes[at..at + 8].try_into().unwrap());
        assert_eq!(word(0), 2);
        let second = usize::try_from(word(16) - stack.pointer).unwrap();
        assert_eq!(&stack.bytes[second..second + 4], b"two\0");
        assert!(stack.pointer + stack.bytes.len() as u64 <= STACK_TOP);
    }

    #[test]
    fn too_many_strings_are_refused() {
        let argv = vec![vec![b'x'; 1 << 20]; 3];
        assert_eq!(build(&request(&argv, &[])).err(), Some(Errno::E2BIG));
    }
}
