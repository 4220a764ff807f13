//! Polling, epoll, eventfd, timerfd, pipes, SysV and POSIX IPC.

/// The `ioctl` that asks how many bytes there are to read.
pub const FIONREAD: u32 = 0x541b;
