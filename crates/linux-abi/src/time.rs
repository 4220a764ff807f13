//! Clocks and time structures.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// `struct timespec`, as the guest lays it out.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct Timespec {
    /// Seconds.
    pub tv_sec: i64,
    /// Nanoseconds, from 0 to 999,999,999 when valid.
    pub tv_nsec: i64,
}

/// Nanoseconds in a second.
pub const NANOS_PER_SEC: u64 = 1_000_000_000;

impl Timespec {
    /// The time that is `nanos` nanoseconds after zero.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self {
            tv_sec: (nanos / NANOS_PER_SEC).cast_signed(),
            tv_nsec: (nanos % NANOS_PER_SEC).cast_signed(),
        }
    }

    /// Nanoseconds since zero, saturating; `None` for what Linux calls `EINVAL`.
    pub const fn to_nanos(self) -> Option<u64> {
        if self.tv_sec < 0 || self.tv_nsec < 0 || self.tv_nsec >= NANOS_PER_SEC.cast_signed() {
            return None;
        }
        Some(
            self.tv_sec
                .cast_unsigned()
                .saturating_mul(NANOS_PER_SEC)
                .saturating_add(self.tv_nsec.cast_unsigned()),
        )
    }
}

/// `struct timeval`, as the guest lays it out.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct Timeval {
    /// Seconds.
    pub tv_sec: i64,
    /// Microseconds, from 0 to 999,999 when valid.
    pub tv_usec: i64,
}

impl Timeval {
    /// The time that is `nanos` nanoseconds after zero, rounded down.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self {
            tv_sec: (nanos / NANOS_PER_SEC).cast_signed(),
            tv_usec: (nanos % NANOS_PER_SEC / 1000).cast_signed(),
        }
    }

    /// Nanoseconds since zero, saturating; `None` for what Linux calls `EINVAL`.
    pub const fn to_nanos(self) -> Option<u64> {
        if self.tv_sec < 0 || self.tv_usec < 0 || self.tv_usec >= 1_000_000 {
            return None;
        }
        Some(
            self.tv_sec
                .cast_unsigned()
                .saturating_mul(NANOS_PER_SEC)
                .saturating_add(self.tv_usec.cast_unsigned() * 1000),
        )
    }
}

/// `struct itimerspec`, as the guest lays it out.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct Itimerspec {
    /// From one expiration to the next; zero for a timer that expires once.
    pub it_interval: Timespec,
    /// When it expires first; zero for a timer that is not set.
    pub it_value: Timespec,
}

/// Clock ids of `clock_gettime(2)` and everything that takes a clock.
#[expect(missing_docs, reason = "the names are those of clock_gettime(2)")]
pub mod clock {
    pub const REALTIME: i32 = 0;
    pub const MONOTONIC: i32 = 1;
    pub const PROCESS_CPUTIME_ID: i32 = 2;
    pub const THREAD_CPUTIME_ID: i32 = 3;
    pub const MONOTONIC_RAW: i32 = 4;
    pub const REALTIME_COARSE: i32 = 5;
    pub const MONOTONIC_COARSE: i32 = 6;
    pub const BOOTTIME: i32 = 7;
    pub const REALTIME_ALARM: i32 = 8;
    pub const BOOTTIME_ALARM: i32 = 9;
    pub const TAI: i32 = 11;
}

/// `struct itimerval`, as the guest lays it out.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct Itimerval {
    /// From one expiration to the next; zero for a timer that expires once.
    pub it_interval: Timeval,
    /// When it expires first; zero for a timer that is not set.
    pub it_value: Timeval,
}

/// `struct timezone`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Timezone {
    /// Minutes west of Greenwich.
    pub minutes_west: i32,
    /// The kind of daylight saving time.
    pub dst_kind: i32,
}

/// The flag of `clock_nanosleep` and `timer_settime` that makes times absolute.
pub const TIMER_ABSTIME: u32 = 1;

/// `struct timex`, the part of `adjtimex(2)` that a guest may read.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of adjtimex(2)")]
pub struct Timex {
    pub modes: u32,
    pub padding: u32,
    pub offset: i64,
    pub frequency: i64,
    pub max_error: i64,
    pub estimated_error: i64,
    pub status: i32,
    pub padding2: i32,
    pub constant: i64,
    pub precision: i64,
    pub tolerance: i64,
    pub time: Timeval,
    pub tick: i64,
    pub pps: [i64; 2],
    pub shift: i32,
    pub padding3: i32,
    pub counts: [i64; 5],
    pub tai: i32,
    pub rest: [i32; 11],
}
