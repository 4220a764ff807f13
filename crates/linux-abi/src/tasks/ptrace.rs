//! `ptrace(2)`.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// What is asked.
#[expect(missing_docs, reason = "the names are those of ptrace(2)")]
pub mod request {
    pub const TRACEME: u64 = 0;
    pub const PEEKTEXT: u64 = 1;
    pub const PEEKDATA: u64 = 2;
    pub const PEEKUSER: u64 = 3;
    pub const POKETEXT: u64 = 4;
    pub const POKEDATA: u64 = 5;
    pub const POKEUSER: u64 = 6;
    pub const CONT: u64 = 7;
    pub const KILL: u64 = 8;
    pub const SINGLESTEP: u64 = 9;
    pub const GETREGS: u64 = 12;
    pub const SETREGS: u64 = 13;
    pub const GETFPREGS: u64 = 14;
    pub const SETFPREGS: u64 = 15;
    pub const ATTACH: u64 = 16;
    pub const DETACH: u64 = 17;
    pub const OLDSETOPTIONS: u64 = 21;
    pub const SYSCALL: u64 = 24;
    pub const ARCH_PRCTL: u64 = 30;
    pub const SYSEMU: u64 = 31;
    pub const SYSEMU_SINGLESTEP: u64 = 32;
    pub const SETOPTIONS: u64 = 0x4200;
    pub const GETEVENTMSG: u64 = 0x4201;
    pub const GETSIGINFO: u64 = 0x4202;
    pub const SETSIGINFO: u64 = 0x4203;
    pub const GETREGSET: u64 = 0x4204;
    pub const SETREGSET: u64 = 0x4205;
    pub const SEIZE: u64 = 0x4206;
    pub const INTERRUPT: u64 = 0x4207;
    pub const LISTEN: u64 = 0x4208;
    pub const PEEKSIGINFO: u64 = 0x4209;
    pub const GETSIGMASK: u64 = 0x420a;
    pub const SETSIGMASK: u64 = 0x420b;
    pub const SECCOMP_GET_FILTER: u64 = 0x420c;
    pub const GET_SYSCALL_INFO: u64 = 0x420e;
}

/// `PTRACE_EVENT_*`.
#[expect(missing_docs, reason = "the names are those of ptrace(2)")]
pub mod event {
    pub const FORK: u32 = 1;
    pub const VFORK: u32 = 2;
    pub const CLONE: u32 = 3;
    pub const EXEC: u32 = 4;
    pub const VFORK_DONE: u32 = 5;
    pub const EXIT: u32 = 6;
    pub const SECCOMP: u32 = 7;
    pub const STOP: u32 = 128;
}

bitflags::bitflags! {
    /// `PTRACE_O_*`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct TraceOptions: u64 {
        /// Stops at calls have bit 7 of the signal set.
        const TRACESYSGOOD = 1;
        /// Stop after `fork`.
        const TRACEFORK = 1 << 1;
        /// Stop after `vfork`.
        const TRACEVFORK = 1 << 2;
        /// Stop after other kinds of `clone`.
        const TRACECLONE = 1 << 3;
        /// Stop in `execve`.
        const TRACEEXEC = 1 << 4;
        /// Stop when the child of a `vfork` has left.
        const TRACEVFORKDONE = 1 << 5;
        /// Stop before the end.
        const TRACEEXIT = 1 << 6;
        /// Stop where a filter says so.
        const TRACESECCOMP = 1 << 7;
        /// The end of the tracer is the end of the traced.
        const EXITKILL = 1 << 20;
        /// Filters of the traced do not work.
        const SUSPEND_SECCOMP = 1 << 21;
    }
}

impl TraceOptions {
    /// The option that asks for an event.
    pub const fn for_event(event: u32) -> Self {
        match event {
            1..=7 => Self::from_bits_truncate(1 << event),
            _ => Self::empty(),
        }
    }
}

/// Names of register sets.
pub mod note {
    /// General registers.
    pub const PRSTATUS: u64 = 1;
    /// x87 and SSE registers.
    pub const PRFPREG: u64 = 2;
    /// All of the extended state.
    pub const X86_XSTATE: u64 = 0x202;
}

/// `op` of [`SyscallInfo`].
#[expect(missing_docs, reason = "the names are those of ptrace(2)")]
pub mod syscall_op {
    pub const NONE: u8 = 0;
    pub const ENTRY: u8 = 1;
    pub const EXIT: u8 = 2;
    pub const SECCOMP: u8 = 3;
}

/// `struct ptrace_syscall_info`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SyscallInfo {
    /// One of [`syscall_op`].
    pub op: u8,
    /// Nothing.
    pub reserved: u8,
    /// Nothing.
    pub flags: u16,
    /// `AUDIT_ARCH_X86_64`.
    pub arch: u32,
    /// Where the call is.
    pub instruction_pointer: u64,
    /// The stack pointer.
    pub stack_pointer: u64,
    /// Entry: the number. Exit: the result.
    pub first: u64,
    /// Entry: the arguments. Exit: in the first byte whether the result is an error.
    pub rest: [u64; 6],
    /// Of a stop that a filter asked for: its data.
    pub filter_data: u64,
}

/// `struct ptrace_peeksiginfo_args`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct PeekArguments {
    /// From which signal on.
    pub offset: u64,
    /// [`PEEK_SHARED`](Self::SHARED): those of the process.
    pub flags: u32,
    /// How many.
    pub count: i32,
}

impl PeekArguments {
    /// `PTRACE_PEEKSIGINFO_SHARED`.
    pub const SHARED: u32 = 1;
}

/// `AUDIT_ARCH_X86_64`.
pub const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;
