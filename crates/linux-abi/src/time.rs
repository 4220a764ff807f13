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
