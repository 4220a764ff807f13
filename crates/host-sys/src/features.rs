#![expect(unsafe_code, reason = "asks the host by calls that rustix does not wrap")]
//! What the host's kernel offers, found out by asking it.

use std::io;

use rustix::fs::{Mode, OFlags, ResolveFlags};

/// Why Landlock cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLandlock {
    /// The host's kernel does not have it.
    Unknown,
    /// The host's kernel has it, and was started without.
    SwitchedOff,
    /// Somebody forbids to ask for it.
    Forbidden,
}

impl std::fmt::Display for NoLandlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unknown => "the host's kernel has none; Linux can have it from 5.13 on",
            Self::SwitchedOff => {
                "the host's kernel has it, and was started without: `lsm=` on its command line \
                 names what it starts with"
            }
            Self::Forbidden => "whoever contains this process forbids to ask for it",
        })
    }
}

/// The version of Landlock that the host enforces.
pub fn landlock_abi() -> Result<u32, NoLandlock> {
    const LANDLOCK_CREATE_RULESET_VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the call takes a null pointer and a size of zero, reads nothing and
    // creates nothing.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0_usize,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(answer).map_err(|_| match io::Error::last_os_error().raw_os_error() {
        Some(libc::ENOSYS) => NoLandlock::Unknown,
        Some(libc::EOPNOTSUPP) => NoLandlock::SwitchedOff,
        _ => NoLandlock::Forbidden,
    })
}

/// Why programs cannot set the FS and GS base by themselves, which the shim does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFsgsbase {
    /// The processor cannot, or a virtual machine hides that it can.
    Processor,
    /// The host's kernel does not let them.
    Kernel,
}

impl std::fmt::Display for NoFsgsbase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Processor => {
                "the processor has no FSGSBASE; those of the last ten years have it, but a virtual \
                 machine may hide it: choose a newer processor model for it"
            }
            Self::Kernel => {
                "the host's kernel does not let programs use FSGSBASE; Linux does from 5.9 on, \
                 unless started with `nofsgsbase`"
            }
        })
    }
}

/// Whether programs can set the FS and GS base by themselves.
pub fn fsgsbase_available() -> Result<(), NoFsgsbase> {
    const OFFERED_BY_KERNEL: usize = 1 << 1;
    const EXTENDED_FEATURES: u32 = 7;
    if rustix::param::linux_hwcap().1 & OFFERED_BY_KERNEL != 0 {
        return Ok(());
    }
    let has_leaf = std::arch::x86_64::__cpuid(0).eax >= EXTENDED_FEATURES;
    if has_leaf && std::arch::x86_64::__cpuid_count(EXTENDED_FEATURES, 0).ebx & 1 != 0 {
        Err(NoFsgsbase::Kernel)
    } else {
        Err(NoFsgsbase::Processor)
    }
}

/// Whether processor and kernel save the state of vector registers by `xsave`, as signal frames need.
pub fn xsave_available() -> bool {
    const FEATURES: u32 = 1;
    const USED_BY_KERNEL: u32 = 1 << 27;
    // One question only: each leaves a virtual machine, and this is asked at every start.
    std::arch::x86_64::__cpuid(FEATURES).ecx & USED_BY_KERNEL != 0
}

/// What Yama, a security module of the host, says about reading the memory of descendants, if it
/// forbids it to processes without privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForbiddenByYama(u32);

impl std::fmt::Display for ForbiddenByYama {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(scope) = self;
        write!(
            f,
            "kernel.yama.ptrace_scope is {scope}, so that no process may read the memory of its \
             descendants; 1 lets it"
        )?;
        // The host does not let anybody lower this one.
        if *scope == 3 { f.write_str(", from the next start of the host on") } else { Ok(()) }
    }
}

/// Whether a process without privileges may read the memory of its descendants.
pub fn descendants_readable() -> Result<(), ForbiddenByYama> {
    match std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").map(|it| it.trim().parse())
    {
        Ok(Ok(scope @ 2..)) => Err(ForbiddenByYama(scope)),
        // Without Yama, and with its milder settings, a process may.
        _ => Ok(()),
    }
}

/// Whether the host opens files beneath a folder without a way out.
pub fn openat2_available() -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let root = rustix::fs::open("/", flags, Mode::empty())?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(root, ".", flags, Mode::empty(), resolve)?;
    Ok(())
}

/// Whether the host closes many descriptors at once.
pub fn close_range_available() -> io::Result<()> {
    // SAFETY: no descriptor has the largest number, so that nothing is closed.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, u32::MAX, u32::MAX, 0) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether the host lets a thread sleep on several words at once.
pub fn futex_waitv_available() -> bool {
    // SAFETY: no words are named: a host that knows the call refuses it as invalid.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_futex_waitv,
            std::ptr::null::<u8>(),
            0,
            0,
            std::ptr::null::<u8>(),
            0,
        )
    };
    answer < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL)
}

/// Whether the host's seccomp knows the action that turns a system call into a `SIGSYS`.
pub fn seccomp_trap_available() -> io::Result<()> {
    const SECCOMP_GET_ACTION_AVAIL: libc::c_uint = 2;
    let action: u32 = libc::SECCOMP_RET_TRAP;
    // SAFETY: the call reads the four bytes of `action`, which lives until it returns.
    let answer = unsafe {
        libc::syscall(libc::SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, std::ptr::from_ref(&action))
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
