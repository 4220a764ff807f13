//! What a process wants to happen on a signal.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::SigSet;

/// The handler address that means the default action.
pub const SIG_DFL: u64 = 0;
/// The handler address that means: ignore.
pub const SIG_IGN: u64 = 1;
/// What `signal(2)` of the C library returns for failure; no handler.
pub const SIG_ERR: u64 = u64::MAX;

bitflags::bitflags! {
    /// `SA_*`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct SigActionFlags: u64 {
        /// No `SIGCHLD` when a child stops.
        const NOCLDSTOP = 0x1;
        /// Children do not become zombies.
        const NOCLDWAIT = 0x2;
        /// The handler takes three arguments.
        const SIGINFO = 0x4;
        /// The handler's third argument is wanted with tag bits in `si_addr`.
        const EXPOSE_TAGBITS = 0x800;
        /// `restorer` is set. Always so on x86-64.
        const RESTORER = 0x0400_0000;
        /// Run on the alternate stack.
        const ONSTACK = 0x0800_0000;
        /// Run interrupted calls again.
        const RESTART = 0x1000_0000;
        /// Do not block the signal while its handler runs.
        const NODEFER = 0x4000_0000;
        /// Back to the default action once delivered.
        const RESETHAND = 0x8000_0000;
    }
}

/// `struct kernel_sigaction` of x86-64.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct SigAction {
    /// An address, [`SIG_DFL`] or [`SIG_IGN`].
    pub handler: u64,
    /// `SA_*`; see [`SigAction::flags`].
    pub flags: u64,
    /// Where the handler returns to.
    pub restorer: u64,
    /// What is blocked while the handler runs.
    pub mask: SigSet,
}

impl SigAction {
    /// The known flags.
    pub const fn flags(&self) -> SigActionFlags {
        SigActionFlags::from_bits_truncate(self.flags)
    }
}

/// `sigev_notify`.
#[expect(missing_docs, reason = "the names are those of sigevent(3type)")]
pub mod notify {
    pub const SIGNAL: i32 = 0;
    pub const NONE: i32 = 1;
    pub const THREAD: i32 = 2;
    pub const THREAD_ID: i32 = 4;
}

/// `struct sigevent`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Sigevent {
    /// `sigev_value`.
    pub value: u64,
    /// `sigev_signo`.
    pub signal: i32,
    /// `sigev_notify`, one of [`notify`].
    pub notify: i32,
    /// `sigev_notify_thread_id`.
    pub thread_id: i32,
    /// The rest of the union.
    pub rest: [u32; 11],
}
