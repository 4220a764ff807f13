//! Pipes, epoll, eventfd, timerfd, futexes, SysV and POSIX IPC.
//!
//! Everything here that a descriptor can name is a [`kernel_files::FileOps`]. Nothing here waits by
//! itself: a call that has to wait does so in `kernel-syscalls`, on the queue that the object
//! offers. The objects know no process; who asks is told by credentials and process ids.

#![forbid(unsafe_code)]

pub mod aio;
pub mod epoll;
pub mod eventfd;
pub mod futex;
pub mod ipc;
pub mod pipe;
pub mod poll;
pub mod timerfd;
