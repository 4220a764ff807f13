//! Pipes, epoll, eventfd, timerfd, SysV and POSIX IPC.

#![forbid(unsafe_code)]
