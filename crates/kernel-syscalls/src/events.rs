//! Polling, epoll, pipes, eventfd, timerfd: one file per call or small family.

mod pipe;

pub(crate) use pipe::{pipe, pipe2};
