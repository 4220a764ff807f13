//! Polling, epoll, eventfd, timerfd, pipes, SysV and POSIX IPC.
