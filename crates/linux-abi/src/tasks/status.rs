//! How a process ended.

use crate::signals::Signal;

/// The status word of `wait(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitStatus(pub u32);

impl ExitStatus {
    /// It called `exit` with this code, of which eight bits count.
    pub const fn exited(code: i32) -> Self {
        Self((code.cast_unsigned() & 0xff) << 8)
    }

    /// A signal ended it; `core` says whether the action includes a core dump.
    pub const fn signaled(signal: Signal, core: bool) -> Self {
        Self(signal.number() | if core { 0x80 } else { 0 })
    }

    /// A signal stopped it.
    pub const fn stopped(signal: Signal) -> Self {
        Self(signal.number() << 8 | 0x7f)
    }

    /// It stopped for its tracer: the signal, and the event above bit 8.
    pub const fn trapped(code: u32) -> Self {
        Self(code << 8 | 0x7f)
    }

    /// It runs again.
    pub const CONTINUED: Self = Self(0xffff);

    /// The code it gave to `exit`, unless a signal ended it.
    pub const fn code(self) -> Option<i32> {
        if self.0 & 0x7f == 0 { Some((self.0 >> 8 & 0xff).cast_signed()) } else { None }
    }

    /// The signal that ended it.
    pub const fn signal(self) -> Option<Signal> {
        match self.0 & 0x7f {
            0 | 0x7f => None,
            number => Signal::new(number),
        }
    }

    /// Whether the end was of the kind that dumps core.
    pub const fn dumped_core(self) -> bool {
        self.signal().is_some() && self.0 & 0x80 != 0
    }
}

bitflags::bitflags! {
    /// Options of `wait4` and `waitid`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct WaitOptions: u32 {
        /// Do not wait.
        const NOHANG = 1;
        /// `WUNTRACED` of `wait4`, `WSTOPPED` of `waitid`: tell of stops.
        const STOPPED = 2;
        /// Tell of ends (`waitid`; implied by `wait4`).
        const EXITED = 4;
        /// Tell of continuations.
        const CONTINUED = 8;
        /// Leave the child to be waited for again.
        const NOWAIT = 0x0100_0000;
        /// Only children of the calling thread.
        const NOTHREAD = 0x2000_0000;
        /// All children, whatever they send at their end.
        const ALL = 0x4000_0000;
        /// Only children that send no `SIGCHLD` at their end.
        const CLONE = 0x8000_0000;
    }
}

/// What the id given to `waitid` names.
#[expect(missing_docs, reason = "the names are those of waitid(2)")]
pub mod id_type {
    pub const P_ALL: u32 = 0;
    pub const P_PID: u32 = 1;
    pub const P_PGID: u32 = 2;
    pub const P_PIDFD: u32 = 3;
}
