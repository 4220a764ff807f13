//! Starts the zygote and orders host processes from it.

#![expect(unsafe_code, reason = "forks and executes a program with chosen descriptors")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use channel_abi::layout::{DOORBELL_FD, SOCKET_FD};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::process::Pid;

use crate::bell::SharedBell;
use crate::channel::Channel;
use crate::host_process::{Claims, HostProcess, send, socket_pair};
use crate::shim;
use crate::staging::StagingTable;

/// The name by which the host shows the program of guest processes.
pub const PROGRAM_NAME: &str = "belljar-shim";

/// The zygote of one sandbox.
#[derive(Debug)]
pub struct Zygote {
    socket: OwnedFd,
    pid: Pid,
    claims: Rc<Claims>,
}

impl Zygote {
    /// Executes the zygote. The calling process must have one thread only.
    pub fn start(
        bell: &SharedBell,
        table: &StagingTable,
        doorbell: BorrowedFd<'_>,
    ) -> Result<Self, Errno> {
        let program = program_file()?;
        let null = rustix::fs::open(
            "/dev/null",
            rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        )?;
        let (ours, theirs) = socket_pair()?;
        // SAFETY: the child of a process with one thread may do anything; it only rearranges its
        // descriptors and executes another program.
        let pid = match unsafe { libc::fork() } {
            0 => become_zygote(&program, &null, &theirs, doorbell),
            // Negative: the host has no process left.
            pid => Pid::from_raw(pid.max(0)).ok_or(Errno::AGAIN)?,
        };
        let length = table.filter_length() as u64;
        let cpuid_is_dear = host_sys::cpuid_is_dear().into();
        send(ours.as_fd(), [length, cpuid_is_dear], &[bell.file(), table.file()])?;
        Ok(Self { socket: ours, pid, claims: Rc::default() })
    }

    /// Its process id, until it has been reaped.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Ends it. Those that it has forked go on.
    pub fn kill(&self) {
        // It is our child and has not been reaped, so the number is its own.
        let _ = rustix::process::kill_process(self.pid, rustix::process::Signal::KILL);
    }

    /// Orders a host process that talks through `channel`. It waits for a program.
    pub fn spawn(&self, channel: &Channel) -> Result<HostProcess, Errno> {
        let (ours, theirs) = socket_pair()?;
        send(self.socket.as_fd(), [0, 0], &[channel.file(), theirs.as_fd()])?;
        Ok(self.host_process(ours))
    }

    /// The host process at the other end of this socket.
    pub fn host_process(&self, socket: OwnedFd) -> HostProcess {
        HostProcess::new(socket, &self.claims)
    }
}

/// The shim as an executable file without a name.
fn program_file() -> Result<OwnedFd, Errno> {
    let file = rustix::fs::memfd_create(PROGRAM_NAME, MemfdFlags::CLOEXEC)?;
    let mut rest = shim::PROGRAM;
    while !rest.is_empty() {
        let n = rustix::io::write(&file, rest)?;
        rest = rest.get(n..).unwrap_or_default();
    }
    Ok(file)
}

/// In the child: keeps the socket and the doorbell, and nothing else of ours.
fn become_zygote(
    program: &OwnedFd,
    null: &OwnedFd,
    socket: &OwnedFd,
    doorbell: BorrowedFd<'_>,
) -> ! {
    /// Above every descriptor that is put in place: the program's, closed when it is executed.
    const PROGRAM_FD: i32 = 10;
    let high = |fd: i32| {
        // SAFETY: like all calls below, a plain system call on descriptors of this process; none
        // touches memory of ours but for reading constants.
        unsafe { libc::fcntl(fd, libc::F_DUPFD, PROGRAM_FD + 1) }
    };
    let (program, null) = (high(program.as_raw_fd()), high(null.as_raw_fd()));
    let (socket, doorbell) = (high(socket.as_raw_fd()), high(doorbell.as_raw_fd()));
    for (from, to) in
        [(null, 0), (null, 1), (null, 2), (socket, SOCKET_FD), (doorbell, DOORBELL_FD)]
    {
        // SAFETY: as above.
        unsafe { libc::dup2(from, to) };
    }
    // SAFETY: as above.
    unsafe { libc::dup3(program, PROGRAM_FD, libc::O_CLOEXEC) };
    // Guests may use every descriptor from here on, so not one may be left. No flags: the host has
    // them from 5.11 on only.
    for (first, last) in [(DOORBELL_FD + 1, PROGRAM_FD - 1), (PROGRAM_FD + 1, i32::MAX)] {
        // SAFETY: as above.
        if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } != 0 {
            // SAFETY: ends the child without running anything of the parent's.
            unsafe { libc::_exit(127) }
        }
    }
    // Guests may write to pipes that are passed to them, and to no file: those that they map shared
    // and writable are passed open for writing, and must not grow without the kernel's knowledge.
    let no_file = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: as above.
    if unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const no_file) } != 0 {
        // SAFETY: ends the child without running anything of the parent's.
        unsafe { libc::_exit(127) }
    }
    // What a terminal, or somebody on the host, sends to the whole process group is for the starter,
    // which passes it on as the guest's own signal. That nobody reads a pipe is the kernel's to tell.
    let others =
        [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGTSTP, libc::SIGPIPE];
    for signal in others {
        // SAFETY: ignoring a signal runs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let arguments = [c"belljar-guest".as_ptr(), std::ptr::null()];
    let environment = [std::ptr::null()];
    // SAFETY: both lists end with a null pointer.
    unsafe { libc::fexecve(PROGRAM_FD, arguments.as_ptr(), environment.as_ptr()) };
    // SAFETY: ends the child without running anything of the parent's.
    unsafe { libc::_exit(127) }
}
