//! Programs that guests give to the kernel (`bpf(2)`).
//!
//! One kind is offered: programs that judge the use of devices by the processes of a control group.
//! [`verify`] proves before that a program ends, reads only what it may, and answers 0 or 1;
//! [`interpret`] runs it, and checks every access again. [`arithmetic`] is what both share. A
//! program calls nothing, and what it sees and says stays in this kernel.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use kernel_files::{FileOps, OpenFile};
use linux_abi::files::OpenFlags;
use linux_abi::tasks::bpf::{Instruction, PROG_TYPE_CGROUP_DEVICE};
use linux_abi::{Errno, SysResult};

mod arithmetic;
mod interpret;
mod state;
#[cfg(test)]
mod tests;
mod verify;

pub use verify::Fault;

/// How many instructions a program may have.
pub const MAX_INSTRUCTIONS: usize = 4096;
/// How many programs a sandbox may have at a time.
const MAX_PROGRAMS: usize = 1024;
/// How much memory a program has for itself.
const STACK: usize = 512;
/// Registers 0 to 10.
const N_REGISTERS: usize = 11;
/// The register that points behind the stack, and cannot be changed.
const FRAME: usize = 10;

/// What a program sees of the use that it judges: the kind of use and of device, and its number.
pub type DeviceWords = [u32; 3];
/// How many bytes that are.
const CONTEXT: usize = size_of::<DeviceWords>();

/// All programs of a kernel, by their ids.
#[derive(Default)]
pub struct Programs {
    by_id: RefCell<BTreeMap<u32, Weak<Program>>>,
    last_id: Cell<u32>,
}

/// A program that has been verified.
pub struct Program {
    /// What it is known by.
    pub id: u32,
    name: Vec<u8>,
    instructions: Vec<Instruction>,
    home: Rc<Programs>,
}

impl Programs {
    /// Verifies a program and keeps it for as long as somebody has it.
    pub fn load(
        self: &Rc<Self>,
        instructions: Vec<Instruction>,
        name: &[u8],
    ) -> Result<Rc<Program>, Fault> {
        verify::verify(&instructions)?;
        let mut by_id = self.by_id.borrow_mut();
        if by_id.len() >= MAX_PROGRAMS {
            return Err(Fault::new(Errno::ENOMEM, 0, "too many programs"));
        }
        let mut id = self.last_id.get();
        loop {
            id = id.wrapping_add(1).max(1);
            if !by_id.contains_key(&id) {
                break;
            }
        }
        self.last_id.set(id);
        let program = Program { id, name: name.to_vec(), instructions, home: Rc::clone(self) };
        let program = Rc::new(program);
        by_id.insert(id, Rc::downgrade(&program));
        Ok(program)
    }

    /// The program of this id.
    pub fn by_id(&self, id: u32) -> Option<Rc<Program>> {
        self.by_id.borrow().get(&id).and_then(Weak::upgrade)
    }

    /// The lowest id above this one.
    pub fn next_id(&self, id: u32) -> Option<u32> {
        self.by_id.borrow().range(id.checked_add(1)?..).next().map(|(&id, _)| id)
    }
}

impl Program {
    /// Whether it lets this use of a device be.
    pub fn allows(&self, words: DeviceWords) -> bool {
        // What was verified answers. If it should not, nothing is allowed.
        interpret::run(&self.instructions, words) == Some(1)
    }

    /// An open file that stands for it.
    pub fn open(self: &Rc<Self>) -> Rc<OpenFile> {
        OpenFile::new(Rc::new(ProgramFile(Rc::clone(self))), OpenFlags::RDWR)
    }

    /// The program that an open file stands for; `EINVAL` for other files.
    pub fn of_file(file: &OpenFile) -> SysResult<Rc<Program>> {
        file.ops_as::<ProgramFile>().map(|file| Rc::clone(&file.0)).ok_or(Errno::EINVAL)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.home.by_id.borrow_mut().remove(&self.id);
    }
}

struct ProgramFile(Rc<Program>);

impl FileOps for ProgramFile {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn describe(&self) -> String {
        String::from("anon_inode:bpf-prog")
    }

    fn fdinfo(&self) -> String {
        let Program { id, name, instructions, .. } = &*self.0;
        let memory = size_of_val(instructions.as_slice()).next_multiple_of(4096);
        let name = String::from_utf8_lossy(name);
        format!(
            "prog_type:\t{PROG_TYPE_CGROUP_DEVICE}\nprog_jited:\t0\nprog_name:\t{name}\n\
             memlock:\t{memory}\nprog_id:\t{id}\n"
        )
    }
}
