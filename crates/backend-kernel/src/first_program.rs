//! The first program of a sandbox.

use std::cell::Cell;
use std::rc::{Rc, Weak};

use std::os::unix::ffi::OsStrExt;

use kernel_core::io::VecSink;
use kernel_core::memory::UserMemory;
use kernel_files::Access;
use kernel_files::open::{OpenHow, open};
use kernel_files::walk::{LastLink, lookup};
use kernel_tasks::exec::{ExecRequest, Executable, execute, parse_script};
use kernel_tasks::machine::{Ids, Image, Start};
use kernel_tasks::{Machine, Thread};
use kernel_terminals::Terminal;
use linux_abi::files::{OpenFlags, ResolveFlags};
use linux_abi::signals::{SIG_IGN, SigAction, Signal};
use linux_abi::tasks::{Rlimit, rlimit};
use linux_abi::{Errno, SysResult};
use sandbox_spec::{Limits, SandboxSpec};

use crate::control::Refusal;
use crate::engine::{Engine, Place};
use crate::machine::GuestMachine;

/// Sets the limits of the first process, which its children inherit.
pub fn set_limits(thread: &Thread, limits: &Limits) {
    const SOFT_FILES: u64 = 1024;
    let process = thread.process();
    if let Some(files) = limits.open_files {
        let maximum = u64::from(files);
        let current = maximum.min(SOFT_FILES);
        process.set_limit(rlimit::NOFILE, Rlimit { current, maximum });
    }
    if let Some(size) = limits.file_size {
        process.set_limit(rlimit::FSIZE, Rlimit { current: size.0, maximum: size.0 });
    }
}

/// Has the first process ignore what this one was started to ignore, as `execve` does on Linux.
pub fn inherit_ignored(thread: &Thread, signals: &[u8]) {
    let ignore = SigAction { handler: SIG_IGN, ..SigAction::default() };
    for signal in signals.iter().filter_map(|&number| Signal::new(number.into())) {
        thread.process().signals.set_action(signal, ignore);
    }
}

/// Makes a terminal the controlling one of the first process's session, with it in the foreground.
pub fn take_terminal(thread: &Rc<Thread>, terminal: &Rc<Terminal>) {
    let group = thread.process().group();
    terminal.start_session(group.session().sid, group.pgid);
}

/// Starts the program that the specification names, found in its `PATH` as a shell would.
pub fn start(spec: &SandboxSpec, thread: &Rc<Thread>) -> Result<(), Refusal> {
    let argv: Vec<Vec<u8>> = spec.program.iter().map(|word| word.as_bytes().to_vec()).collect();
    let envp: Vec<Vec<u8>> = spec
        .environment
        .iter()
        .map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat())
        .collect();
    let fs = thread.fs();
    let credentials = thread.credentials();
    let access = Access { fs: &fs, credentials: &credentials, caller: &**thread };
    let folder = spec.working_directory.as_os_str().as_bytes();
    match lookup(&access, &fs.root(), folder, LastLink::Follow) {
        Ok(location) if location.inode().is_ok_and(|inode| inode.directory().is_some()) => {
            fs.set_cwd(location);
        }
        _ => return Err(Refusal::WorkingDirectory),
    }
    let name = argv.first().cloned().unwrap_or_default();
    if name.contains(&b'/') {
        return execute_at(thread, &name, &argv, &envp)
            .map_err(|errno| refusal(thread, &name, errno));
    }
    let path = spec.environment.iter().find(|(key, _)| key == "PATH").map(|(_, value)| value);
    let path = path.map_or(&b"/usr/local/bin:/usr/bin:/bin"[..], |value| value.as_bytes());
    let mut denied = None;
    for folder in path.split(|&byte| byte == b':') {
        let folder = if folder.is_empty() { b"." } else { folder };
        let candidate = [folder, b"/", &name].concat();
        match execute_at(thread, &candidate, &argv, &envp) {
            Ok(()) => return Ok(()),
            Err(Errno::ENOENT | Errno::ENOTDIR) if !exists(&access, &candidate) => {}
            Err(Errno::EACCES) => denied = Some(candidate),
            Err(errno) => return Err(refusal(thread, &candidate, errno)),
        }
    }
    match denied {
        Some(path) => Err(refusal(thread, &path, Errno::EACCES)),
        None => Err(Refusal::CommandNotFound),
    }
}

fn exists(access: &Access<'_>, path: &[u8]) -> bool {
    lookup(access, &access.fs.cwd(), path, LastLink::Follow).is_ok()
}

fn execute_at(
    thread: &Rc<Thread>,
    path: &[u8],
    argv: &[Vec<u8>],
    envp: &[Vec<u8>],
) -> SysResult<()> {
    let start = &thread.fs().cwd();
    let executable = Executable::Path { start, path, last_link: LastLink::Follow };
    let (argv, envp) = (argv.to_vec(), envp.to_vec());
    execute(thread, ExecRequest { executable, name: path, is_closed_on_exec: false, argv, envp })
}

/// What a shell would say: a file that is there but answers `ENOENT` names an interpreter that is
/// not, and a directory is not just a file without permission.
fn refusal(thread: &Rc<Thread>, path: &[u8], errno: Errno) -> Refusal {
    let fs = thread.fs();
    let credentials = thread.credentials();
    let access = Access { fs: &fs, credentials: &credentials, caller: &**thread };
    let found = lookup(&access, &fs.cwd(), path, LastLink::Follow);
    if errno == Errno::EACCES
        && let Ok(location) = &found
        && location.inode().is_ok_and(|inode| inode.directory().is_some())
    {
        return Refusal::Program(Errno::EISDIR.code().into());
    }
    if errno == Errno::ENOENT && found.is_ok() {
        let interpreter = interpreter_of(&access, path).unwrap_or_default();
        return Refusal::InterpreterNotFound(interpreter);
    }
    Refusal::Program(errno.code().into())
}

/// The interpreter that a script or an ELF program names.
fn interpreter_of(access: &Access<'_>, path: &[u8]) -> Option<Vec<u8>> {
    let how = OpenHow { flags: OpenFlags::empty(), mode: 0, resolve: ResolveFlags::empty() };
    let file = open(access, &access.fs.cwd(), path, &how).ok()?.into_file().ok()?;
    kernel_loader::interpreter_of(&file).or_else(|| {
        let mut sink = VecSink::new(256);
        file.ops().read(&file, &mut sink, 0).ok()?;
        Some(parse_script(&sink.bytes).ok()??.interpreter)
    })
}

/// What stands behind the first thread until it has a program: nothing.
pub struct NoMachine {
    engine: Weak<Engine>,
    mask: Cell<u64>,
}

impl NoMachine {
    /// For a thread that is about to execute its first program.
    pub fn new(engine: &Rc<Engine>) -> Rc<Self> {
        Rc::new(Self { engine: Rc::downgrade(engine), mask: Cell::new(0) })
    }
}

impl UserMemory for NoMachine {
    fn read_some(&self, _address: u64, _buffer: &mut [u8]) -> SysResult<usize> {
        Err(Errno::EFAULT)
    }

    fn write_some(&self, _address: u64, _bytes: &[u8]) -> SysResult<usize> {
        Err(Errno::EFAULT)
    }
}

impl Machine for NoMachine {
    fn memory(&self) -> &dyn UserMemory {
        self
    }

    fn signal_mask(&self) -> u64 {
        self.mask.get()
    }

    fn set_signal_mask(&self, mask: u64) {
        self.mask.set(mask);
    }

    fn set_pending_signals(&self, _pending: u64) {}

    fn kick(&self) {}

    fn kill_process(&self) {}

    fn kill_thread(&self) {}

    fn thread_cpu_time(&self) -> (u64, u64) {
        (0, 0)
    }

    fn process_cpu_time(&self) -> (u64, u64) {
        (0, 0)
    }

    fn resident_bytes(&self) -> u64 {
        0
    }

    fn publish_ids(&self, _ids: Ids) {}

    fn attach(&self, _thread: &Rc<Thread>) {}

    fn fork(&self, _start: Start) -> SysResult<Rc<dyn Machine>> {
        Err(Errno::ENOSYS)
    }

    fn vfork(&self, _start: Start) -> SysResult<Rc<dyn Machine>> {
        Err(Errno::ENOSYS)
    }

    fn new_thread(&self, _start: Start) -> SysResult<Rc<dyn Machine>> {
        Err(Errno::ENOSYS)
    }

    fn exec(&self, image: Image) -> SysResult<Rc<dyn Machine>> {
        let engine = self.engine.upgrade().ok_or(Errno::ESRCH)?;
        let space = engine.start_program(image)?;
        Ok(GuestMachine::new(&engine, Place { space, index: 0 }))
    }
}
