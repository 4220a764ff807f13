//! ELF files: headers and segments.

use std::rc::Rc;

use kernel_core::io::VecSink;
use kernel_files::{MapRequest, OpenFile};
use linux_abi::{Errno, SysResult};
use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader};

use crate::Segment;

type Header = elf::FileHeader64<Endianness>;

/// How much of a file is read to find the program headers; Linux takes those of one page or up to
/// 64 KiB elsewhere.
const HEAD: usize = 4096;
const MAX_HEADERS: usize = 64 << 10;
/// The longest path of an interpreter.
const MAX_INTERPRETER: usize = 4096;
const PAGE: u64 = 4096;
/// Where user memory ends.
pub const USER_END: u64 = 1 << 47;

/// One `PT_LOAD` header.
struct Load {
    address: u64,
    file_size: u64,
    memory_size: u64,
    offset: u64,
    flags: u32,
}

/// The code of a program, before it is moved.
pub struct Code {
    /// Where it is in memory.
    pub address: u64,
    /// Where it is in the file.
    pub offset: u64,
    /// How long it is.
    pub size: u64,
}

/// What an executable file says of itself.
pub struct Program {
    /// The path of its interpreter.
    pub interpreter: Option<Vec<u8>>,
    /// Where it starts, before it is moved.
    pub entry: u64,
    /// Where the program headers are in memory, before it is moved.
    pub headers_address: u64,
    /// How many program headers there are.
    pub n_headers: u64,
    /// It asks for an executable stack.
    pub wants_executable_stack: bool,
    /// Where the table of its functions is, before it is moved.
    pub unwind_table: Option<u64>,
    is_movable: bool,
    loads: Vec<Load>,
}

fn read_at(file: &Rc<OpenFile>, offset: u64, length: usize) -> SysResult<Vec<u8>> {
    let mut sink = VecSink::new(length);
    let mut at = offset;
    loop {
        let n = file.ops().read(file, &mut sink, at)?;
        at += n as u64;
        if n == 0 || sink.bytes.len() >= length {
            return Ok(sink.bytes);
        }
    }
}

/// Reads so many bytes at a place of a file, or what there is.
type Read<'a> = &'a dyn Fn(u64, usize) -> SysResult<Vec<u8>>;

impl Program {
    /// Reads the headers.
    pub fn read(file: &Rc<OpenFile>) -> SysResult<Self> {
        Self::read_with(&|offset, length| read_at(file, offset, length))
    }

    /// Reads the headers of a file that is no file of a guest's.
    pub fn read_with(read: Read<'_>) -> SysResult<Self> {
        let head = read(0, HEAD)?;
        let header = Header::parse(&*head).map_err(|_| Errno::ENOEXEC)?;
        let endian = header.endian().map_err(|_| Errno::ENOEXEC)?;
        let kind = header.e_type(endian);
        let is_program = matches!(kind, elf::ET_EXEC | elf::ET_DYN);
        if !is_program || header.e_machine(endian) != elf::EM_X86_64 {
            return Err(Errno::ENOEXEC);
        }
        if usize::from(header.e_phentsize(endian)) != size_of::<elf::ProgramHeader64<Endianness>>()
        {
            return Err(Errno::ENOEXEC);
        }
        let entry = header.e_entry(endian);
        let (at, n) = (header.e_phoff(endian), usize::from(header.e_phnum(endian)));
        let length = n * size_of::<elf::ProgramHeader64<Endianness>>();
        if n == 0 || length > MAX_HEADERS {
            return Err(Errno::ENOEXEC);
        }
        let bytes = read(at, length)?;
        let (headers, _) =
            object::pod::slice_from_bytes::<elf::ProgramHeader64<Endianness>>(&bytes, n)
                .map_err(|()| Errno::ENOEXEC)?;
        let mut program = Self {
            interpreter: None,
            entry,
            headers_address: 0,
            n_headers: n as u64,
            wants_executable_stack: false,
            unwind_table: None,
            is_movable: kind == elf::ET_DYN,
            loads: Vec::new(),
        };
        for header in headers {
            program.take(read, header, endian, at)?;
        }
        if program.loads.is_empty() { Err(Errno::ENOEXEC) } else { Ok(program) }
    }

    fn take(
        &mut self,
        read: Read<'_>,
        header: &elf::ProgramHeader64<Endianness>,
        endian: Endianness,
        headers_offset: u64,
    ) -> SysResult<()> {
        match header.p_type(endian) {
            elf::PT_LOAD => self.add_load(header, endian, headers_offset),
            elf::PT_INTERP => {
                let length = usize::try_from(header.p_filesz(endian)).unwrap_or(usize::MAX);
                if !(2..=MAX_INTERPRETER).contains(&length) {
                    return Err(Errno::ENOEXEC);
                }
                let mut path = read(header.p_offset(endian), length)?;
                if path.pop() != Some(0) {
                    return Err(Errno::ENOEXEC);
                }
                // What is behind the first zero is of no use; nothing before it names a directory.
                path.truncate(path.iter().position(|&byte| byte == 0).unwrap_or(path.len()));
                if path.is_empty() {
                    return Err(Errno::EACCES);
                }
                self.interpreter = Some(path);
                Ok(())
            }
            elf::PT_GNU_STACK => {
                self.wants_executable_stack = header.p_flags(endian) & elf::PF_X != 0;
                Ok(())
            }
            elf::PT_GNU_EH_FRAME => {
                self.unwind_table = Some(header.p_vaddr(endian));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Its code, if that is in one piece which cannot be written.
    pub fn code(&self) -> Option<Code> {
        let mut pieces = self.loads.iter().filter(|load| load.flags & elf::PF_X != 0);
        let code = pieces.next()?;
        let plain = code.flags & elf::PF_W == 0 && code.file_size == code.memory_size;
        let Load { address, offset, file_size: size, .. } = *code;
        (plain && pieces.next().is_none()).then_some(Code { address, offset, size })
    }

    /// Where an address is in the file.
    pub fn place(&self, address: u64) -> Option<usize> {
        let within = |load: &&Load| address.wrapping_sub(load.address) < load.file_size;
        let load = self.loads.iter().find(within)?;
        usize::try_from(load.offset + (address - load.address)).ok()
    }

    fn add_load(
        &mut self,
        header: &elf::ProgramHeader64<Endianness>,
        endian: Endianness,
        headers_offset: u64,
    ) -> SysResult<()> {
        let load = Load {
            address: header.p_vaddr(endian),
            file_size: header.p_filesz(endian),
            memory_size: header.p_memsz(endian),
            offset: header.p_offset(endian),
            flags: header.p_flags(endian),
        };
        let fits = load.file_size <= load.memory_size
            && load.address.checked_add(load.memory_size).is_some_and(|end| end < USER_END)
            && (load.file_size == 0 || load.address % PAGE == load.offset % PAGE)
            && load.offset.checked_add(load.file_size).is_some();
        if !fits {
            return Err(Errno::ENOEXEC);
        }
        if (load.offset..load.offset + load.file_size).contains(&headers_offset) {
            self.headers_address = load.address + (headers_offset - load.offset);
        }
        self.loads.push(load);
        Ok(())
    }

    /// By how much the program is moved: not at all, or to `wanted`.
    pub fn base(&self, wanted: u64) -> u64 {
        if !self.is_movable {
            return 0;
        }
        let lowest = self.loads.iter().map(|load| load.address).min().unwrap_or(0);
        wanted.wrapping_sub(lowest / PAGE * PAGE)
    }

    /// Where its memory ends, once moved.
    pub fn end(&self, base: u64) -> SysResult<u64> {
        let end = self.loads.iter().map(|load| load.address + load.memory_size).max();
        Ok(base.wrapping_add(end.ok_or(Errno::ENOEXEC)?))
    }

    /// What to map, once moved. `ENOMEM` if that is more than user memory has room for.
    pub fn segments(&self, file: &Rc<OpenFile>, base: u64) -> SysResult<Vec<Segment>> {
        let mut segments = Vec::new();
        for load in &self.loads {
            let start = base.wrapping_add(load.address);
            if start.checked_add(load.memory_size).is_none_or(|end| end >= USER_END) {
                return Err(Errno::ENOMEM);
            }
            let page_start = start / PAGE * PAGE;
            let file_end = start + load.file_size;
            let mapped_end =
                if load.file_size == 0 { page_start } else { file_end.next_multiple_of(PAGE) };
            let memory_end = (start + load.memory_size).next_multiple_of(PAGE);
            let protection = protection_of(load.flags);
            if mapped_end > page_start {
                let offset = load.offset / PAGE * PAGE;
                let length = mapped_end - page_start;
                let request = MapRequest { shared: false, writable: false, offset, length };
                let mapped = file.ops().map(file, request)?;
                let has_zeroes = load.memory_size > load.file_size && load.flags & elf::PF_W != 0;
                segments.push(Segment {
                    address: page_start,
                    length,
                    protection,
                    file: Some((mapped, offset)),
                    zero_from: (has_zeroes && file_end % PAGE != 0).then_some(file_end),
                });
            }
            if memory_end > mapped_end {
                segments.push(Segment {
                    address: mapped_end,
                    length: memory_end - mapped_end,
                    // What is in no file can be written, whatever the segment says.
                    protection: protection | PROT_READ | PROT_WRITE,
                    file: None,
                    zero_from: None,
                });
            }
        }
        Ok(segments)
    }
}

const PROT_READ: u32 = 1;
const PROT_WRITE: u32 = 2;
const PROT_EXEC: u32 = 4;

fn protection_of(flags: u32) -> u32 {
    let mut protection = 0;
    for (flag, bit) in [(elf::PF_R, PROT_READ), (elf::PF_W, PROT_WRITE), (elf::PF_X, PROT_EXEC)] {
        if flags & flag != 0 {
            protection |= bit;
        }
    }
    protection
}
