//! Signal numbers and sets of them.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A valid signal number, from 1 to 64.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signal(u8);

macro_rules! signals {
    ($($name:ident = $number:literal;)*) => {
        #[expect(missing_docs, reason = "the names are those of signal(7)")]
        impl Signal {
            $(pub const $name: Self = Self($number);)*

            /// The name, as in signal(7); `None` for real-time signals.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

signals! {
    SIGHUP = 1;
    SIGINT = 2;
    SIGQUIT = 3;
    SIGILL = 4;
    SIGTRAP = 5;
    SIGABRT = 6;
    SIGBUS = 7;
    SIGFPE = 8;
    SIGKILL = 9;
    SIGUSR1 = 10;
    SIGSEGV = 11;
    SIGUSR2 = 12;
    SIGPIPE = 13;
    SIGALRM = 14;
    SIGTERM = 15;
    SIGSTKFLT = 16;
    SIGCHLD = 17;
    SIGCONT = 18;
    SIGSTOP = 19;
    SIGTSTP = 20;
    SIGTTIN = 21;
    SIGTTOU = 22;
    SIGURG = 23;
    SIGXCPU = 24;
    SIGXFSZ = 25;
    SIGVTALRM = 26;
    SIGPROF = 27;
    SIGWINCH = 28;
    SIGIO = 29;
    SIGPWR = 30;
    SIGSYS = 31;
}

impl Signal {
    /// The lowest real-time signal, as the kernel counts them.
    pub const RT_MIN: Self = Self(32);
    /// The highest signal.
    pub const MAX: Self = Self(64);

    /// The signal with this number; `None` for 0 and for what is no signal.
    pub const fn new(number: u32) -> Option<Self> {
        match number {
            #[expect(clippy::cast_possible_truncation, reason = "at most 64")]
            1..=64 => Some(Self(number as u8)),
            _ => None,
        }
    }

    /// The number.
    pub const fn number(self) -> u32 {
        self.0 as u32
    }

    /// The place in an array of 64.
    pub const fn index(self) -> usize {
        self.0 as usize - 1
    }

    /// The bit in a set.
    pub const fn bit(self) -> u64 {
        1 << (self.0 - 1)
    }

    /// Whether several instances queue, and in order of number.
    pub const fn is_real_time(self) -> bool {
        self.0 >= 32
    }
}

impl core::fmt::Debug for Signal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "SIGRT_{}", self.0 - 32),
        }
    }
}

/// `sigset_t` as the kernel has it: 64 bits.
#[derive(
    Clone, Copy, Default, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(transparent)]
pub struct SigSet(pub u64);

impl SigSet {
    /// No signal.
    pub const EMPTY: Self = Self(0);
    /// `SIGKILL` and `SIGSTOP`, which can be neither blocked, caught nor ignored.
    pub const UNBLOCKABLE: Self = Self(Signal::SIGKILL.bit() | Signal::SIGSTOP.bit());
    /// What stops a process by default.
    pub const STOPPING: Self = Self(
        Signal::SIGSTOP.bit()
            | Signal::SIGTSTP.bit()
            | Signal::SIGTTIN.bit()
            | Signal::SIGTTOU.bit(),
    );
    /// What the processor raises; taken before all others.
    pub const SYNCHRONOUS: Self = Self(
        Signal::SIGSEGV.bit()
            | Signal::SIGBUS.bit()
            | Signal::SIGILL.bit()
            | Signal::SIGTRAP.bit()
            | Signal::SIGFPE.bit()
            | Signal::SIGSYS.bit(),
    );

    /// The set of one signal.
    pub const fn of(signal: Signal) -> Self {
        Self(signal.bit())
    }

    /// Whether the signal is in the set.
    pub const fn contains(self, signal: Signal) -> bool {
        self.0 & signal.bit() != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The set with the signal in it.
    #[must_use]
    pub const fn with(self, signal: Signal) -> Self {
        Self(self.0 | signal.bit())
    }

    /// What is in either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in this one and not in the other.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// What is in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The lowest signal in the set.
    pub const fn lowest(self) -> Option<Signal> {
        if self.0 == 0 { None } else { Signal::new(self.0.trailing_zeros() + 1) }
    }
}

impl core::fmt::Debug for SigSet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}
