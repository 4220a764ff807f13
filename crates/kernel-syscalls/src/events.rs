//! Polling, epoll, pipes, eventfd, timerfd: one file per call or small family.

mod eventfd;
mod pipe;
mod timerfd;

pub(crate) use eventfd::{eventfd, eventfd2};
pub(crate) use pipe::{pipe, pipe2};
pub(crate) use timerfd::{timerfd_create, timerfd_gettime, timerfd_settime};
