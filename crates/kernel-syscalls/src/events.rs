//! Polling, epoll, pipes, eventfd, timerfd: one file per call or small family.
