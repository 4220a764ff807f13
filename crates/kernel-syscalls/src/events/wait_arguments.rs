//! Arguments that the waiting calls share: time-outs and signal masks.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_core::timers::{Instant, now};
use kernel_tasks::Thread;
use linux_abi::signals::SigSet;
use linux_abi::time::Timespec;
use linux_abi::{Errno, SysResult};

/// How long a call may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timeout {
    /// Not at all.
    Zero,
    /// Until this time.
    At(Instant),
    /// For as long as it takes.
    Never,
}

impl Timeout {
    /// So many nanoseconds from now.
    pub(super) fn from_nanos(nanos: u64) -> Self {
        if nanos == 0 { Self::Zero } else { Self::At(now().after(nanos)) }
    }

    /// So many milliseconds from now; for ever if negative.
    pub(super) fn from_millis(millis: i32) -> Self {
        match u64::try_from(millis) {
            Ok(millis) => Self::from_nanos(millis * 1_000_000),
            Err(_) => Self::Never,
        }
    }

    /// What the guest has at `address`; for ever if that is null.
    pub(super) fn from_timespec(
        thread: &Rc<Thread>,
        timespec: UserPtr<Timespec>,
    ) -> SysResult<Self> {
        let Some(timespec) = timespec.non_null() else { return Ok(Self::Never) };
        let timespec = timespec.read(&thread.memory())?;
        timespec.to_nanos().map(Self::from_nanos).ok_or(Errno::EINVAL)
    }

    /// When to give up, if ever.
    pub(super) fn deadline(self) -> Option<Instant> {
        match self {
            Self::Zero => Some(Instant(0)),
            Self::At(deadline) => Some(deadline),
            Self::Never => None,
        }
    }

    /// How many nanoseconds are left, for the calls that tell; `None` for those that had no time to
    /// begin with.
    pub(super) fn left(self) -> Option<u64> {
        match self {
            Self::At(deadline) => Some(deadline.0.saturating_sub(now().0)),
            Self::Zero | Self::Never => None,
        }
    }
}

/// The mask that a call shall run under, if the guest has passed one.
pub(super) fn read_mask(
    thread: &Rc<Thread>,
    mask: UserPtr<u64>,
    size: u64,
) -> SysResult<Option<SigSet>> {
    let Some(mask) = mask.non_null() else { return Ok(None) };
    if size != size_of::<u64>() as u64 {
        return Err(Errno::EINVAL);
    }
    Ok(Some(SigSet(mask.read(&thread.memory())?)))
}
