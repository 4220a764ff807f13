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
