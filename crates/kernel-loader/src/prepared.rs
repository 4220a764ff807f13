//! Interpreters whose code need not be rewritten while it runs.
//!
//! The dynamic loader makes some thirty system calls in every program that starts, nearly all of
//! them once: too few to rewrite a site, and each costs a signal. It also asks the processor dozens
//! of questions, each of which leaves a virtual machine. So a copy of its code is made once, in which
//! the calls go straight to the shim, and the questions are breakpoints that the shim answers from
//! what it knows. Programs that start map the copy in place of the file's own code.

use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;
use std::rc::Rc;

use host_sys::{errno_of, rustix};
use kernel_files::open_file::{MapRequest, allocate_map_ids};
use kernel_files::{MappedFile, OpenFile};
use linux_abi::SysResult;
use rustix::fs::{MemfdFlags, SealFlags};

use crate::Segment;
use crate::elf::{Program, USER_END};
use crate::functions::Functions;
use crate::sites::{self, MOV_LENGTH, Site};

/// How many interpreters are prepared; there are hardly ever two.
const MAX_KNOWN: usize = 4;
/// Larger ones are not worth a copy.
const MAX_FILE: u64 = 1 << 20;
/// A file that was changed this short a time ago may be changed again without a sign.
const SETTLED_SECONDS: i64 = 2;
const PAGE: u64 = 4096;
/// The distance between the interpreter's memory and its trampolines.
const GAP: u64 = 64 << 10;
/// How far a jump reaches, with a margin.
const REACH: u64 = 1 << 30;
const TRAMPOLINE: usize = 32;
/// Room for trampolines: the shim's own go to what is left.
const AREA: u64 = channel_abi::image::TRAMPOLINES_SIZE;

/// How a host file looks that has not been changed.
pub type Signature = (u64, u64, i64, i64, i64);

/// A copy of an interpreter's code.
struct Copy {
    file: MappedFile,
    layout: Layout,
}

/// What a copy has where, as the interpreter's headers have it.
pub(crate) struct Layout {
    /// Where its code is in memory, before it is moved, and how long it is.
    address: u64,
    length: u64,
    /// The same place in the file and in the copy.
    offset: u64,
    /// Where its trampolines are in memory, before it is moved, and in the copy.
    trampolines: u64,
    trampolines_offset: u64,
}

struct Known {
    id: u64,
    signature: Signature,
    n_uses: Cell<u32>,
    /// `None` until it is worth it, or if nothing can be prepared.
    copy: RefCell<Option<Rc<Copy>>>,
}

/// The interpreters of one sandbox.
pub struct PreparedInterpreters {
    known: RefCell<Vec<Rc<Known>>>,
    /// A copy that somebody else has made, of a file that looked like this.
    offered: RefCell<Option<(Signature, OwnedFd)>>,
    /// Questions to the processor leave a virtual machine: they cost more than a signal.
    questions_are_dear: bool,
}

impl Default for PreparedInterpreters {
    fn default() -> Self {
        Self {
            known: RefCell::default(),
            offered: RefCell::default(),
            questions_are_dear: host_sys::cpuid_is_dear(),
        }
    }
}

/// What differs in the image of a program whose interpreter is prepared.
pub struct Prepared {
    /// The copy, for `/proc/<pid>/maps`.
    pub file: MappedFile,
    /// Its code: the first address and the first one after it.
    pub code: (u64, u64),
    /// Its trampolines.
    pub trampolines: u64,
}

impl PreparedInterpreters {
    /// Has a copy that is complete used for the file that it was made of.
    pub fn offer(&self, signature: Signature, copy: OwnedFd) {
        self.offered.replace(Some((signature, copy)));
    }

    /// Has an image use the copy of its interpreter, if there is one.
    pub(crate) fn apply(
        &self,
        interpreter: &Program,
        base: u64,
        segments: &mut Vec<Segment>,
    ) -> Option<Prepared> {
        let original =
            segments.iter().find_map(|segment| Some(segment.file.as_ref()?.0.clone()))?;
        let copy = self.copy_of(interpreter, &original)?;
        let layout = &copy.layout;
        let start = base.wrapping_add(layout.address);
        let segment = segments.iter_mut().find(|it| it.address == start && it.file.is_some())?;
        if segment.length != layout.length {
            return None;
        }
        let trampolines = base.wrapping_add(layout.trampolines);
        if trampolines.checked_add(AREA).is_none_or(|end| end >= USER_END) {
            return None;
        }
        segment.file = Some((copy.file.clone(), layout.offset));
        segments.push(Segment {
            address: trampolines,
            length: AREA,
            protection: 7,
            file: Some((copy.file.clone(), layout.trampolines_offset)),
            zero_from: None,
        });
        let code = (start, start + layout.length);
        Some(Prepared { file: copy.file.clone(), code, trampolines })
    }

    fn copy_of(&self, interpreter: &Program, original: &MappedFile) -> Option<Rc<Copy>> {
        let known = self.find(original)?;
        let n_uses = known.n_uses.get() + 1;
        known.n_uses.set(n_uses);
        // Where only signals are saved, that takes two programs to pay.
        let worth_it = if self.questions_are_dear { 1 } else { 2 };
        if n_uses == worth_it && is_settled(&original.host, known.signature) {
            let offered =
                self.offered.take().filter(|(signature, _)| *signature == known.signature);
            // Without a copy the program runs as well.
            let copy = match offered {
                Some((_, memory)) => Layout::of(interpreter).map(|it| Copy::new(memory, it)),
                None => make(&original.host, interpreter, self.questions_are_dear).ok().flatten(),
            };
            *known.copy.borrow_mut() = copy.map(Rc::new);
        }
        known.copy.borrow().clone()
    }

    /// What is known of a file that has not been changed since.
    fn find(&self, file: &MappedFile) -> Option<Rc<Known>> {
        let signature = signature(&file.host)?;
        let mut known = self.known.borrow_mut();
        let place = known.iter().position(|known| known.id == file.id);
        if let Some(found) = place.and_then(|place| known.get(place))
            && found.signature == signature
        {
            return Some(Rc::clone(found));
        }
        if let Some(place) = place {
            known.remove(place);
        } else if known.len() >= MAX_KNOWN {
            return None;
        }
        let new = Known { id: file.id, signature, n_uses: Cell::new(0), copy: RefCell::default() };
        let new = Rc::new(new);
        known.push(Rc::clone(&new));
        Some(new)
    }
}

pub(crate) fn signature(host: &OwnedFd) -> Option<Signature> {
    let stat = rustix::fs::fstat(host).ok()?;
    let changed = stat.st_ctime_nsec.cast_signed();
    Some((stat.st_dev, stat.st_ino, stat.st_size, stat.st_ctime, changed))
}

/// Whether a change of the file would show. Memory that is shared can be written without a sign.
fn is_settled(host: &OwnedFd, signature: Signature) -> bool {
    const TMPFS: i64 = 0x0102_1994;
    let in_memory = rustix::fs::fstatfs(host).map_or(true, |it| it.f_type == TMPFS);
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec;
    !in_memory && now - signature.3 >= SETTLED_SECONDS
}

/// Makes a copy of any file's code, and forgets it: for those who try what files can do here. Returns
/// whether there was something to replace.
pub fn rehearse(file: &Rc<OpenFile>) -> SysResult<bool> {
    let program = Program::read(file)?;
    let request = MapRequest { shared: false, writable: false, offset: 0, length: PAGE };
    let host = file.ops().map(file, request)?.host;
    Ok(make(&host, &program, true)?.is_some())
}

impl Layout {
    /// `None` if the code is not what linkers make.
    pub(crate) fn of(interpreter: &Program) -> Option<Self> {
        let code = interpreter.code().filter(|code| code.address % PAGE == 0)?;
        let trampolines = interpreter.end(0).ok()?.next_multiple_of(PAGE) + GAP;
        let length = code.size.next_multiple_of(PAGE);
        (trampolines - code.address < REACH).then_some(Self {
            address: code.address,
            length,
            offset: code.offset,
            trampolines,
            trampolines_offset: (code.offset + length).next_multiple_of(AREA),
        })
    }
}

impl Copy {
    fn new(memory: OwnedFd, layout: Layout) -> Self {
        let file = MappedFile { host: Rc::new(memory), id: allocate_map_ids(), is_for_once: false };
        Self { file, layout }
    }
}

/// Makes the copy. `None` if there is nothing to replace, or the file is not what linkers make.
fn make(file: &OwnedFd, interpreter: &Program, questions: bool) -> SysResult<Option<Copy>> {
    let Some(layout) = Layout::of(interpreter) else { return Ok(None) };
    let Some(bytes) = read_whole(file)? else { return Ok(None) };
    let memory = new_memory()?;
    let is_made = fill(&memory, bytes, interpreter, &layout, questions)?;
    Ok(is_made.then(|| Copy::new(memory, layout)))
}

/// What a copy is made in.
pub(crate) fn new_memory() -> SysResult<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    rustix::fs::memfd_create("belljar-interpreter", flags).map_err(errno_of)
}

/// Makes the copy of a file with these bytes. Returns whether there was something to replace.
pub(crate) fn fill(
    memory: &OwnedFd,
    mut bytes: Vec<u8>,
    interpreter: &Program,
    layout: &Layout,
    questions: bool,
) -> SysResult<bool> {
    let Some(code) = interpreter.code() else { return Ok(false) };
    let place = |address| interpreter.place(address);
    let functions =
        interpreter.unwind_table.and_then(|address| Functions::new(&bytes, address, &place));
    let range = usize::try_from(code.offset).unwrap_or(usize::MAX);
    let range = range..range.saturating_add(usize::try_from(code.size).unwrap_or(usize::MAX));
    let (Some(functions), Some(text)) = (functions, bytes.get(range.clone())) else {
        return Ok(false);
    };
    let mut sites = sites::find(text, code.address, &functions);
    sites.retain(|site| questions || !matches!(site, Site::Question { .. }));
    if sites.is_empty() {
        return Ok(false);
    }
    let Some(text) = bytes.get_mut(range) else { return Ok(false) };
    let code_of_trampolines = replace(text, code.address, &sites, layout.trampolines);
    rustix::fs::ftruncate(memory, layout.trampolines_offset + AREA).map_err(errno_of)?;
    for (from, at) in [(&*text, code.offset), (&code_of_trampolines, layout.trampolines_offset)] {
        write_all(memory, from, at)?;
    }
    // Guests get the descriptor. What they map of it is theirs alone, and they change nothing here.
    let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(memory, seals).map_err(errno_of)?;
    Ok(true)
}

/// The whole of a file, unless it is too large.
pub(crate) fn read_whole(file: &OwnedFd) -> SysResult<Option<Vec<u8>>> {
    let size = rustix::fs::fstat(file).map_err(errno_of)?.st_size.cast_unsigned();
    if size > MAX_FILE {
        return Ok(None);
    }
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    let mut done = 0;
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pread(file, rest, done as u64).map_err(errno_of)? {
            0 => return Ok(None), // it has become shorter
            n => done += n,
        }
    }
    Ok(Some(bytes))
}

fn write_all(file: &OwnedFd, mut bytes: &[u8], mut at: u64) -> SysResult<()> {
    while !bytes.is_empty() {
        let n = rustix::io::pwrite(file, bytes, at).map_err(errno_of)?;
        bytes = bytes.get(n..).unwrap_or_default();
        at += n as u64;
    }
    Ok(())
}

/// Replaces the sites in `text`, which begins at `address`. Returns the trampolines.
fn replace(text: &mut [u8], address: u64, sites: &[Site], trampolines: u64) -> Vec<u8> {
    const JUMP: u8 = 0xe9;
    const BREAKPOINT: u8 = 0xcc;
    /// `lea displacement(%rip), %rcx`.
    const LEA_RCX: [u8; 3] = [0x48, 0x8d, 0x0d];
    /// `jmp *%gs:24`: to the shim's entry.
    const JUMP_TO_SHIM: [u8; 8] = [0x65, 0xff, 0x24, 0x25, 24, 0, 0, 0];
    let distance = |from: u64, to: u64| u32::try_from(to.wrapping_sub(from) & 0xffff_ffff);
    let mut made = Vec::new();
    for site in sites {
        let (Site::Call { address: at, .. } | Site::Question { address: at }) = *site;
        let place = usize::try_from(at - address).unwrap_or(usize::MAX);
        let Site::Call { number, .. } = *site else {
            if let Some(byte) = text.get_mut(place) {
                *byte = BREAKPOINT;
            }
            continue;
        };
        if made.len() + TRAMPOLINE > usize::try_from(AREA).unwrap_or(0) {
            break;
        }
        let trampoline = trampolines + made.len() as u64;
        let behind = at + MOV_LENGTH as u64 + 2;
        let (Ok(there), Ok(back)) = (
            distance(at + MOV_LENGTH as u64, trampoline),
            distance(trampoline + (MOV_LENGTH + LEA_RCX.len() + 4) as u64, behind),
        ) else {
            continue;
        };
        let Some(mov) = text.get_mut(place..place + MOV_LENGTH) else { continue };
        let end = made.len() + TRAMPOLINE;
        made.push(0xb8);
        made.extend(u32::from(number).to_le_bytes());
        made.extend(LEA_RCX);
        made.extend(back.to_le_bytes());
        made.extend(JUMP_TO_SHIM);
        made.resize(end, 0);
        let [a, b, c, d] = there.to_le_bytes();
        mov.copy_from_slice(&[JUMP, a, b, c, d]);
    }
    made
}
