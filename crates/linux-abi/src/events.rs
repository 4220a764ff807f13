//! Polling, epoll, eventfd, timerfd, pipes, SysV and POSIX IPC.

pub mod aio;
pub mod futex;
pub mod mqueue;
pub mod sysv;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The `ioctl` that asks how many bytes there are to read.
pub const FIONREAD: u32 = 0x541b;

bitflags::bitflags! {
    /// `EFD_*`, of `eventfd2(2)`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct EventFdFlags: u32 {
        /// A read takes one instead of everything.
        const SEMAPHORE = 1;
        /// Do not wait.
        const NONBLOCK = 0o4000;
        /// Close on `execve`.
        const CLOEXEC = 0o2000000;
    }

    /// `TFD_TIMER_*`, of `timerfd_settime(2)`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct TimerFdFlags: u32 {
        /// The first expiration is a time of day, not a duration.
        const ABSTIME = 1;
        /// Tell the reader when the clock is set.
        const CANCEL_ON_SET = 2;
    }
}

/// The `ioctl` that sets the number of expirations of a timerfd.
pub const TFD_IOC_SET_TICKS: u32 = 0x4008_5400;

/// `struct epoll_event`, as the guest lays it out on x86-64: without padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, packed)]
pub struct EpollEvent {
    /// `EPOLL*`.
    pub events: u32,
    /// What the guest wants to be told with the event.
    pub data: u64,
}

/// Operations of `epoll_ctl(2)` and bits of [`EpollEvent::events`] that are no readiness.
pub mod epoll {
    /// Adds a descriptor.
    pub const CTL_ADD: i32 = 1;
    /// Removes a descriptor.
    pub const CTL_DEL: i32 = 2;
    /// Changes what a descriptor is watched for.
    pub const CTL_MOD: i32 = 3;
    /// Of several epolls that watch, wake as few as possible.
    pub const EXCLUSIVE: u32 = 1 << 28;
    /// Keep the machine awake. Without meaning here.
    pub const WAKEUP: u32 = 1 << 29;
    /// Disable after one event.
    pub const ONESHOT: u32 = 1 << 30;
    /// Tell of changes instead of states.
    pub const EDGE: u32 = 1 << 31;
    /// All of these.
    pub const PRIVATE_BITS: u32 = EXCLUSIVE | WAKEUP | ONESHOT | EDGE;
}

/// `struct pollfd`, as the guest lays it out.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct PollFd {
    /// The descriptor; ignored if negative.
    pub fd: i32,
    /// What is asked for.
    pub events: u16,
    /// What is ready.
    pub revents: u16,
}

/// The signal mask and its size, as `pselect6` wants them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct SigSetArgument {
    /// The address of the mask.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
}
