//! From an executable file to a program image, as Linux's `binfmt_elf` does it.
//!
//! [`load`] reads the program and its interpreter, decides where their segments go, and builds
//! the initial stack. Nothing is mapped here: the result is data that a shim carries out. Scripts
//! (`#!`) are the business of `execve`, which comes here with the interpreter.

#![forbid(unsafe_code)]

mod ahead;
mod code;
mod elf;
mod functions;
mod image;
pub mod prepared;
mod sites;
mod stack;

use std::rc::Rc;

use kernel_files::{MappedFile, OpenFile};
use linux_abi::{Errno, SysResult};

pub use ahead::CopyAhead;
use elf::Program;
pub use image::{Image, Segment};
pub use prepared::PreparedInterpreters;
use stack::{AuxiliaryValues, StackRequest};

/// What to load, and for whom.
pub struct LoadRequest<'a> {
    /// The program, opened for execution.
    pub program: &'a Rc<OpenFile>,
    /// The path by which it was named (`AT_EXECFN`).
    pub name: &'a [u8],
    /// The arguments.
    pub argv: &'a [Vec<u8>],
    /// The environment.
    pub envp: &'a [Vec<u8>],
    /// Opens the interpreter that the program names.
    pub open: &'a dyn Fn(&[u8]) -> SysResult<Rc<OpenFile>>,
    /// `AT_UID`, `AT_EUID`, `AT_GID`, `AT_EGID`.
    pub ids: [u32; 4],
    /// `AT_SECURE`: the program gained privileges.
    pub secure: bool,
    /// `RLIMIT_STACK`.
    pub stack_limit: u64,
    /// Copies of interpreters that may be used in place of their files.
    pub interpreters: Option<&'a PreparedInterpreters>,
}

/// A program that can be started.
pub struct Loaded {
    /// What the shim does.
    pub image: Image,
    /// The auxiliary vector, for `/proc/self/auxv`.
    pub auxiliary_vector: Vec<u8>,
    /// Where the arguments and the environment lie on the stack, for `/proc/self/stat`:
    /// `arg_start`, `arg_end`, `env_start`, `env_end`.
    pub strings: [u64; 4],
    /// The interpreter, and the copy of its code that is mapped in its place.
    pub prepared: Option<(Rc<OpenFile>, MappedFile)>,
}

/// Where position-independent programs go; their heap follows them.
const PROGRAM_BASE: u64 = 0x5555_5555_4000;
/// Where interpreters go.
const INTERPRETER_BASE: u64 = 0x7dff_0000_0000;
/// How many pages of each are left to chance.
const RANDOM_PAGES: u64 = 1 << 16;
const PAGE: u64 = 4096;

/// Loads a program.
///
/// # Errors
///
/// `ENOEXEC` if the file is not an x86-64 ELF program, `ELIBBAD` if its interpreter is not, what
/// opening the interpreter says, `E2BIG` if arguments and environment do not fit the stack.
pub fn load(request: &LoadRequest<'_>) -> SysResult<Loaded> {
    let program = Program::read(request.program)?;
    let base = program.base(PROGRAM_BASE + random_pages()? * PAGE);
    let mut segments = program.segments(request.program, base)?;
    let entry = base.wrapping_add(program.entry);
    let mut start = entry;
    let mut interpreter_base = 0;
    let mut prepared = None;
    if let Some(path) = &program.interpreter {
        let file = (request.open)(path)?;
        let interpreter = Program::read(&file).map_err(|errno| match errno {
            Errno::ENOEXEC => Errno::ELIBBAD,
            other => other,
        })?;
        interpreter_base = interpreter.base(INTERPRETER_BASE - random_pages()? * PAGE);
        let mut own = interpreter.segments(&file, interpreter_base)?;
        prepared = request
            .interpreters
            .and_then(|known| known.apply(&interpreter, interpreter_base, &mut own))
            .map(|prepared| (file, prepared));
        segments.extend(own);
        start = interpreter_base.wrapping_add(interpreter.entry);
    }
    let brk = program.end(base)?.next_multiple_of(PAGE) + (random_pages()? % 0x2000) * PAGE;
    let built = stack::build(&StackRequest {
        name: request.name,
        argv: request.argv,
        envp: request.envp,
        limit: request.stack_limit,
        is_executable: program.wants_executable_stack,
        values: AuxiliaryValues {
            headers: base.wrapping_add(program.headers_address),
            n_headers: program.n_headers,
            interpreter_base,
            entry,
            ids: request.ids,
            secure: request.secure,
        },
        random: random()?,
    })?;
    segments.insert(0, built.segment);
    let (prepared_code, trampolines) =
        prepared.as_ref().map_or(((0, 0), 0), |(_, it)| (it.code, it.trampolines));
    Ok(Loaded {
        image: Image {
            segments,
            entry: start,
            stack_pointer: built.pointer,
            stack: built.bytes,
            brk,
            prepared_code,
            trampolines,
        },
        auxiliary_vector: built.auxiliary_vector,
        strings: built.strings,
        prepared: prepared.map(|(file, prepared)| (file, prepared.file)),
    })
}

/// The interpreter that an ELF program names.
pub fn interpreter_of(file: &Rc<OpenFile>) -> Option<Vec<u8>> {
    Program::read(file).ok()?.interpreter
}

fn random<const N: usize>() -> SysResult<[u8; N]> {
    let mut bytes = [0; N];
    let flags = host_sys::rustix::rand::GetRandomFlags::empty();
    host_sys::rustix::rand::getrandom(&mut bytes, flags).map_err(host_sys::errno_of)?;
    Ok(bytes)
}

fn random_pages() -> SysResult<u64> {
    Ok(u64::from_le_bytes(random()?) % RANDOM_PAGES)
}
