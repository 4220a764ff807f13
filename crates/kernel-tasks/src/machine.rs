//! The host's side of a guest thread.

use std::ops::Range;
use std::rc::Rc;

use kernel_core::io::Sink;
use kernel_core::memory::UserMemory;
use kernel_core::wait::WaitQueue;
use kernel_files::MappedFile;
use kernel_files::lending::{Lender, Loan};
pub use kernel_loader::{Image, Segment};
use linux_abi::files::OpenFlags;
use linux_abi::signals::SigSet;
use linux_abi::{Errno, Fd, SysResult};

use crate::Thread;
use crate::process::Usage;

/// How a process asks about an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// By `fstat`.
    Stat,
    /// By `statx`.
    Statx,
}

/// A file that was opened, about which a process is told.
#[derive(Clone, Copy, Debug)]
pub struct SharedFile {
    /// Those of the open file, with `O_CLOEXEC` if the descriptor has that.
    pub flags: OpenFlags,
    /// Nobody else has the descriptor.
    pub is_alone: bool,
    /// To what the answer is.
    pub question: Question,
}

/// What a guest has done by itself since its last request. Claims, as all that guests say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// It has read this descriptor up to this position.
    pub moved: Option<(Fd, u64)>,
    /// It has closed this one.
    pub closed: Option<Fd>,
}

/// What the kernel can do to the host thread behind a guest thread. Implemented by
/// `backend-kernel`; tests implement it with plain memory.
pub trait Machine {
    /// The memory of the guest process.
    fn memory(&self) -> &dyn UserMemory;

    /// The guest's signal mask, which the shim changes without asking. Only bits, never trusted
    /// for more than the guest's own signals.
    fn signal_mask(&self) -> u64;

    /// Replaces the guest's signal mask.
    fn set_signal_mask(&self, mask: u64);

    /// Tells the shim whether a signal waits for this thread whatever its mask is: it then asks
    /// the kernel before it goes back to guest code, and after the mask changes.
    fn set_pending_signals(&self, pending: u64);

    /// Tells the shim whether to announce each call (`calls`), also its end (`ends`), and whether to
    /// show all of the thread's state (`traced`).
    fn set_watch(&self, calls: bool, ends: bool, traced: bool) {
        let _ = (calls, ends, traced);
    }

    /// The registers of a thread that is watched and asks the kernel something right now. A claim
    /// of the guest's.
    fn registers(&self) -> UserRegisters {
        UserRegisters::default()
    }

    /// Replaces the registers with which such a thread goes on.
    fn set_registers(&self, registers: &UserRegisters) {
        let _ = registers;
    }

    /// The extended processor state of such a thread, as `XSAVE` lays it out. A claim as well.
    fn extended_state(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Replaces the first bytes of the extended processor state of such a thread.
    fn set_extended_state(&self, state: &[u8]) {
        let _ = state;
    }

    /// Begins to write a word to memory that such a thread may only read.
    fn begin_poke(&self, address: u64, word: u64) -> SysResult<()> {
        let _ = (address, word);
        Err(Errno::EFAULT)
    }

    /// What came of that: `None` while it goes on. Told once.
    fn poke_outcome(&self) -> Option<SysResult<()>> {
        Some(Err(Errno::ESRCH))
    }

    /// Woken when that is over.
    fn poke_queue(&self) -> WaitQueue {
        WaitQueue::new()
    }

    /// Whether such a thread goes on for one instruction only.
    fn set_step(&self, step: bool) {
        let _ = step;
    }

    /// Makes the thread ask the kernel for signals soon: it runs guest code, sleeps in a host
    /// futex, or is on its way out of the shim. If it is inside a system call of ours, the call's
    /// future is polled again instead, so that an interruptible wait sees the signal.
    fn kick(&self);

    /// Where the thread says that the list of its locks is (`set_robust_list`); 0 if it has none, or
    /// has gone through it.
    fn robust_list(&self) -> u64 {
        0
    }

    /// Ends the host process as a whole (all threads of the guest process) at once, and drops
    /// their calls. For a child in `vfork`, gives the host thread back to the parent instead.
    fn kill_process(&self);

    /// Ends this host thread at once (another thread's `execve` or `exit_group` wants that), and
    /// drops its call.
    fn kill_thread(&self);

    /// User and system CPU time of the host thread in nanoseconds.
    fn thread_cpu_time(&self) -> (u64, u64);

    /// User and system CPU time of the whole host process in nanoseconds.
    fn process_cpu_time(&self) -> (u64, u64);

    /// What the host process said that it has used, if it said so with the call under way.
    fn told_usage(&self) -> Option<Usage> {
        None
    }

    /// Resident memory of the host process in bytes.
    fn resident_bytes(&self) -> u64;

    /// Whether the thread waits in a system call of ours, as opposed to running.
    fn is_waiting(&self) -> bool {
        false
    }

    /// Whether another thread of the sandbox runs, and so may ask for something while this one's call
    /// is answered.
    fn others_run(&self) -> bool {
        true
    }

    /// What the host tells of the host process in one of the files of its `/proc` directory.
    fn host_text(&self, file: HostFile) -> SysResult<Vec<u8>> {
        let _ = file;
        Err(Errno::EIO)
    }

    /// The address ranges that are the shim's own, and that no guest is told of.
    fn hidden_ranges(&self) -> Vec<Range<u64>> {
        Vec::new()
    }

    /// The ids that the shim answers by itself changed.
    fn publish_ids(&self, ids: Ids);

    /// From now on the requests of this host thread are made by `thread`.
    fn attach(&self, thread: &Rc<Thread>);

    /// Prepares a copy of the host process (`fork`). The shim makes it when it reads the reply of
    /// the call that is under way; the result is the first thread of the copy, which begins at
    /// `start`.
    fn fork(&self, start: Start) -> SysResult<Rc<dyn Machine>>;

    /// Lets this host thread play the child of a `vfork` until it calls `execve` or `_exit`. The
    /// result is the child's machine; this one becomes the parent's again by itself.
    fn vfork(&self, start: Start) -> SysResult<Rc<dyn Machine>>;

    /// Prepares a host thread for another guest process that uses the same memory (`CLONE_VM`).
    /// The shim makes it as it does with [`new_thread`](Self::new_thread).
    fn new_process_beside(&self, start: Start) -> SysResult<Rc<dyn Machine>> {
        let _ = start;
        Err(Errno::EINVAL)
    }

    /// Prepares one more host thread in the same host process. The shim makes it when it reads
    /// the reply of the call that is under way.
    fn new_thread(&self, start: Start) -> SysResult<Rc<dyn Machine>>;

    /// Starts `image` in a fresh host process. The old one ends (or goes back to the parent of a
    /// `vfork`) when it reads the reply of the call that is under way.
    fn exec(&self, image: Image) -> SysResult<Rc<dyn Machine>>;

    /// The shim maps this file when it reads the reply of the call that is under way (`mmap`,
    /// `shmat`), and that decides the result. `detail`: flags to be added to the mapping's for
    /// `mmap`, the length for `shmat`. `EAGAIN` if too many threads do so at once.
    fn map_file(&self, file: &MappedFile, detail: u64) -> SysResult<()> {
        let _ = (file, detail);
        Err(Errno::ENODEV)
    }

    /// Who lends files to the guest process; `None` if nothing can be lent to it now.
    fn lender(&self) -> Option<Rc<dyn Lender>> {
        None
    }

    /// Lets the guest process use the file behind `fd` without asking, for reading, and a device
    /// also for writing, as `access` says. Returns whether it does the call under way by itself.
    fn lend(&self, fd: u32, loan: &Loan, access: OpenFlags) -> SysResult<bool> {
        let _ = (fd, loan, access);
        Err(Errno::ENOSYS)
    }

    /// Lets the guest process close the file that the call under way has opened without saying so
    /// before its next call. Returns whether it can. `flags` are those of the open file, with
    /// `O_CLOEXEC` if the descriptor has that.
    fn allow_later_close(&self, flags: OpenFlags) -> bool {
        let _ = flags;
        false
    }

    /// Nothing that was allowed so is allowed any more.
    fn forbid_later_close(&self) {}

    /// The longest content that can be [handed over](Self::hand).
    fn most_handed(&self) -> usize {
        0
    }

    /// Gives the guest process all that it may want to know of the file that the call under way
    /// has opened: what `fstat` says, and `length` bytes of content, which `fill` puts into a sink.
    fn hand(&self, stat: &[u8], length: usize, fill: &mut dyn FnMut(&mut dyn Sink) -> bool) {
        let _ = (stat, length, fill);
    }

    /// Tells the guest process what `fstat` says of the file that the call under way has opened: it
    /// may say so itself until something changes.
    fn tell_stat(&self, stat: &[u8]) {
        let _ = stat;
    }

    /// Tells the answer to a question about a file that others may use too, or that may be written.
    fn tell_shared(&self, answer: &[u8], about: SharedFile) {
        let _ = (answer, about);
    }

    /// What the guest process has done by itself and not yet told. `is_request`: it has just sent a
    /// request.
    fn take_told(&self, is_request: bool) -> Told {
        let _ = is_request;
        Told::default()
    }

    /// The threads of the guest process begin to differ in what their descriptors mean.
    fn stop_lending(&self) {}

    /// The guest's `RLIMIT_AS` and `RLIMIT_DATA` for its process: the host enforces them, because it
    /// maps the memory. `u64::MAX` is no limit.
    fn set_memory_limits(&self, address_space: u64, data: u64) {
        let _ = (address_space, data);
    }

    /// Keeps the host thread on these processors, 64 to a word.
    fn set_affinity(&self, processors: &[u64]) {
        let _ = processors;
    }

    /// The mappings of the host process, in the host's words (`/proc/<pid>/maps`), the shim's own
    /// included.
    fn maps_text(&self) -> Vec<u8> {
        Vec::new()
    }

    /// The same with sizes (`/proc/<pid>/smaps`).
    fn smaps_text(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// The registers of a thread: `struct user_regs_struct`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserRegisters(pub [u64; UserRegisters::COUNT]);

impl UserRegisters {
    /// How many there are.
    pub const COUNT: usize = 27;
    const RAX: usize = 10;
    /// The number of the call that the thread is in.
    pub const ORIGINAL_RAX: usize = 15;
    /// Where it goes on.
    pub const RIP: usize = 16;
    /// The code segment.
    pub const CS: usize = 17;
    /// The flags.
    pub const FLAGS: usize = 18;
    const RSP: usize = 19;
    /// The stack segment.
    pub const SS: usize = 20;
    /// The base of FS.
    pub const FS_BASE: usize = 21;
    /// The base of GS, and segments that 64-bit code does not use, up to the end.
    pub const GS_BASE: usize = 22;
    /// rdi, rsi, rdx, r10, r8, r9.
    const ARGUMENTS: [usize; 6] = [14, 13, 12, 7, 9, 8];

    fn at(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }

    /// The number of the call that the thread is in, or all ones.
    pub fn original_rax(&self) -> u64 {
        self.at(Self::ORIGINAL_RAX)
    }

    /// Where it goes on.
    pub fn rip(&self) -> u64 {
        self.at(Self::RIP)
    }

    /// The stack pointer.
    pub fn rsp(&self) -> u64 {
        self.at(Self::RSP)
    }

    /// The result of a call.
    pub fn result(&self) -> u64 {
        self.at(Self::RAX)
    }

    /// Replaces the result of a call.
    pub fn set_result(&mut self, value: u64) {
        if let Some(word) = self.0.get_mut(Self::RAX) {
            *word = value;
        }
    }

    /// The arguments of a call.
    pub fn arguments(&self) -> [u64; 6] {
        Self::ARGUMENTS.map(|index| self.at(index))
    }
}

/// A file in the host's `/proc` directory of a host process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostFile {
    /// `maps`.
    Maps,
    /// `smaps`.
    Smaps,
    /// `smaps_rollup`.
    SmapsRollup,
    /// `statm`.
    Statm,
    /// `status`.
    Status,
    /// `stat`.
    Stat,
}

impl HostFile {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Maps => "maps",
            Self::Smaps => "smaps",
            Self::SmapsRollup => "smaps_rollup",
            Self::Statm => "statm",
            Self::Status => "status",
            Self::Stat => "stat",
        }
    }
}

/// How a new thread begins: as its parent, right after the call, but for what is named here. The
/// shim obeys it, because only it reaches the memory of a copy that is yet to be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// The stack pointer, if it is not the parent's.
    pub stack_pointer: Option<u64>,
    /// The FS base, if it is not the parent's (`CLONE_SETTLS`).
    pub tls: Option<u64>,
    /// Where the new thread finds its own id, 32 bits (`CLONE_CHILD_SETTID`).
    pub set_child_tid: Option<u64>,
    /// Where a zero is written, and a futex woken, when the thread ends
    /// (`CLONE_CHILD_CLEARTID`, `set_tid_address`).
    pub clear_child_tid: Option<u64>,
}

/// What a guest thread may be told about itself without asking the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ids {
    /// `getpid`.
    pub pid: u32,
    /// `gettid`.
    pub tid: u32,
    /// `getppid`.
    pub ppid: u32,
    /// `getuid`.
    pub uid: u32,
    /// `geteuid`.
    pub euid: u32,
    /// `getgid`.
    pub gid: u32,
    /// `getegid`.
    pub egid: u32,
    /// The signals whose action is as in a new program.
    pub plain_actions: SigSet,
}
