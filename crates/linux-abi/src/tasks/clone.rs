//! What `clone(2)` and `clone3(2)` take.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

bitflags::bitflags! {
    /// `CLONE_*`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct CloneFlags: u64 {
        /// A new time namespace (in the byte that `clone` uses for the exit signal).
        const NEWTIME = 0x80;
        /// Share memory.
        const VM = 0x100;
        /// Share root, working directory and umask.
        const FS = 0x200;
        /// Share the descriptor table.
        const FILES = 0x400;
        /// Share signal dispositions.
        const SIGHAND = 0x800;
        /// Give the parent a pidfd.
        const PIDFD = 0x1000;
        /// Let a tracer trace the child too.
        const PTRACE = 0x2000;
        /// The parent waits until the child calls `execve` or ends.
        const VFORK = 0x4000;
        /// Have the same parent as the caller.
        const PARENT = 0x8000;
        /// A thread of the same process.
        const THREAD = 0x1_0000;
        /// A new mount namespace.
        const NEWNS = 0x2_0000;
        /// Share semaphore undo values.
        const SYSVSEM = 0x4_0000;
        /// Set the FS base.
        const SETTLS = 0x8_0000;
        /// Write the child's id to the parent's memory.
        const PARENT_SETTID = 0x10_0000;
        /// Clear the child's id and wake a futex when the child ends.
        const CHILD_CLEARTID = 0x20_0000;
        /// Unused today.
        const DETACHED = 0x40_0000;
        /// No tracer may force `PTRACE` on the child.
        const UNTRACED = 0x80_0000;
        /// Write the child's id to the child's memory.
        const CHILD_SETTID = 0x100_0000;
        /// A new cgroup namespace.
        const NEWCGROUP = 0x200_0000;
        /// A new UTS namespace.
        const NEWUTS = 0x400_0000;
        /// A new IPC namespace.
        const NEWIPC = 0x800_0000;
        /// A new user namespace.
        const NEWUSER = 0x1000_0000;
        /// A new pid namespace.
        const NEWPID = 0x2000_0000;
        /// A new network namespace.
        const NEWNET = 0x4000_0000;
        /// Share an I/O context.
        const IO = 0x8000_0000;
        /// Reset caught signals in the child (`clone3` only).
        const CLEAR_SIGHAND = 0x1_0000_0000;
        /// Put the child into a cgroup (`clone3` only).
        const INTO_CGROUP = 0x2_0000_0000;
    }
}

impl CloneFlags {
    /// Everything that asks for a namespace.
    pub const NAMESPACES: Self = Self::NEWTIME
        .union(Self::NEWNS)
        .union(Self::NEWCGROUP)
        .union(Self::NEWUTS)
        .union(Self::NEWIPC)
        .union(Self::NEWUSER)
        .union(Self::NEWPID)
        .union(Self::NEWNET);

    /// The byte of `clone`'s flags that is the exit signal.
    pub const EXIT_SIGNAL_BITS: u64 = 0xff;
}

/// The size of [`CloneArgs`] when `clone3` was new.
pub const CLONE_ARGS_SIZE_VER0: usize = 64;
/// The size of [`CloneArgs`] that has `cgroup`.
pub const CLONE_ARGS_SIZE_VER2: usize = 88;

/// `struct clone_args`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CloneArgs {
    /// [`CloneFlags`].
    pub flags: u64,
    /// Where the pidfd goes.
    pub pidfd: u64,
    /// Where the child's id goes in the child's memory.
    pub child_tid: u64,
    /// Where the child's id goes in the parent's memory.
    pub parent_tid: u64,
    /// What the parent is sent when the child ends.
    pub exit_signal: u64,
    /// The lowest byte of the stack.
    pub stack: u64,
    /// The size of the stack.
    pub stack_size: u64,
    /// The FS base.
    pub tls: u64,
    /// Where wanted ids are, innermost namespace first.
    pub set_tid: u64,
    /// How many there are.
    pub set_tid_size: u64,
    /// A descriptor of a cgroup.
    pub cgroup: u64,
}
