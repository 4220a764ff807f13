//! Polling, epoll, eventfd, timerfd, pipes, SysV and POSIX IPC.

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
