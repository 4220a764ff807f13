//! `siginfo_t`.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::Signal;
use crate::Pid;

/// `si_code`.
#[expect(missing_docs, reason = "the names are those of sigaction(2)")]
pub mod code {
    pub const SI_USER: i32 = 0;
    pub const SI_KERNEL: i32 = 0x80;
    pub const SI_QUEUE: i32 = -1;
    pub const SI_TIMER: i32 = -2;
    pub const SI_MESGQ: i32 = -3;
    pub const SI_ASYNCIO: i32 = -4;
    pub const SI_SIGIO: i32 = -5;
    pub const SI_TKILL: i32 = -6;
    pub const CLD_EXITED: i32 = 1;
    pub const CLD_KILLED: i32 = 2;
    pub const CLD_DUMPED: i32 = 3;
    pub const CLD_TRAPPED: i32 = 4;
    pub const CLD_STOPPED: i32 = 5;
    pub const CLD_CONTINUED: i32 = 6;
    pub const SEGV_MAPERR: i32 = 1;
    pub const SEGV_ACCERR: i32 = 2;
    pub const POLL_IN: i32 = 1;
    pub const POLL_OUT: i32 = 2;
    pub const POLL_MSG: i32 = 3;
    pub const POLL_ERR: i32 = 4;
    pub const POLL_PRI: i32 = 5;
    pub const POLL_HUP: i32 = 6;
    pub const SYS_SECCOMP: i32 = 1;
}

/// `siginfo_t`: 128 bytes, of which the meaning of the tail depends on signal and code.
#[derive(Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SigInfo {
    /// `si_signo`.
    pub signo: i32,
    /// `si_errno`.
    pub errno: i32,
    /// `si_code`, see [`code`].
    pub code: i32,
    padding: i32,
    fields: [u64; 14],
}

const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

const fn low(word: u64) -> u32 {
    (word & 0xffff_ffff) as u32
}

const fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

impl SigInfo {
    /// An info without any of the fields that depend on the code.
    pub const fn bare(signal: Signal, code: i32) -> Self {
        Self { signo: signal.number().cast_signed(), errno: 0, code, padding: 0, fields: [0; 14] }
    }

    /// From the kernel itself (`SI_KERNEL`).
    pub const fn kernel(signal: Signal) -> Self {
        Self::bare(signal, code::SI_KERNEL)
    }

    /// From another process: `SI_USER`, `SI_TKILL`, with sender.
    pub const fn from_process(signal: Signal, code: i32, pid: Pid, uid: u32) -> Self {
        let mut info = Self::bare(signal, code);
        info.fields[0] = pair(pid.0, uid);
        info
    }

    /// The same, with a value for the receiver (`si_value`).
    #[must_use]
    pub const fn with_value(mut self, value: u64) -> Self {
        self.fields[1] = value;
        self
    }

    /// `SIGCHLD`: what became of a child.
    pub const fn child(
        signal: Signal,
        code: i32,
        pid: Pid,
        uid: u32,
        status: i32,
        ticks: (u64, u64),
    ) -> Self {
        let mut info = Self::from_process(signal, code, pid, uid);
        info.fields[1] = pair(status.cast_unsigned(), 0);
        info.fields[2] = ticks.0;
        info.fields[3] = ticks.1;
        info
    }

    /// `SI_TIMER`: a POSIX timer expired.
    pub const fn timer(signal: Signal, id: i32, value: u64) -> Self {
        let mut info = Self::bare(signal, code::SI_TIMER);
        info.fields[0] = pair(id.cast_unsigned(), 0);
        info.fields[1] = value;
        info
    }

    /// Sets how many expirations of a POSIX timer were missed.
    pub const fn set_overrun(&mut self, overrun: i32) {
        self.fields[0] = pair(low(self.fields[0]), overrun.cast_unsigned());
    }

    /// A fault at `address`.
    pub const fn fault(signal: Signal, code: i32, address: u64) -> Self {
        let mut info = Self::bare(signal, code);
        info.fields[0] = address;
        info
    }

    /// `SIGSYS`: a filter refused the call `number` at `address`.
    pub const fn system_call(address: u64, number: u32, architecture: u32) -> Self {
        let mut info = Self::bare(Signal::SIGSYS, code::SYS_SECCOMP);
        info.fields[0] = address;
        info.fields[1] = pair(number, architecture);
        info
    }

    /// `SIGIO`: an event on a descriptor.
    pub const fn poll(signal: Signal, code: i32, band: i64, fd: i32) -> Self {
        let mut info = Self::bare(signal, code);
        info.fields[0] = band.cast_unsigned();
        info.fields[1] = pair(fd.cast_unsigned(), 0);
        info
    }

    /// The signal, if `si_signo` is one.
    pub const fn signal(&self) -> Option<Signal> {
        Signal::new(self.signo.cast_unsigned())
    }

    /// `si_pid`.
    pub const fn pid(&self) -> u32 {
        low(self.fields[0])
    }

    /// `si_uid`.
    pub const fn uid(&self) -> u32 {
        high(self.fields[0])
    }

    /// `si_status`.
    pub const fn status(&self) -> i32 {
        low(self.fields[1]).cast_signed()
    }

    /// `si_utime` and `si_stime`.
    pub const fn child_times(&self) -> (u64, u64) {
        (self.fields[2], self.fields[3])
    }

    /// `si_timerid`.
    pub const fn timer_id(&self) -> i32 {
        low(self.fields[0]).cast_signed()
    }

    /// `si_overrun`.
    pub const fn overrun(&self) -> i32 {
        high(self.fields[0]).cast_signed()
    }

    /// `si_value`.
    pub const fn value(&self) -> u64 {
        self.fields[1]
    }

    /// `si_addr`, and `si_band`.
    pub const fn address(&self) -> u64 {
        self.fields[0]
    }

    /// `si_fd`.
    pub const fn fd(&self) -> i32 {
        low(self.fields[1]).cast_signed()
    }
}

impl core::fmt::Debug for SigInfo {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SigInfo")
            .field("signo", &self.signo)
            .field("code", &self.code)
            .field("fields", &self.fields.get(..4))
            .finish()
    }
}
