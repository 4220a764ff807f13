//! Polling, epoll, pipes, eventfd, timerfd: one file per call or small family.

mod aio;
mod epoll;
mod epoll_wait;
mod eventfd;
mod pipe;
mod poll;
mod select;
#[cfg(test)]
mod tests;
mod timerfd;
mod wait_arguments;

pub(crate) use aio::{io_cancel, io_destroy, io_getevents, io_pgetevents, io_setup, io_submit};
pub(crate) use epoll::{epoll_create, epoll_create1, epoll_ctl};
pub(crate) use epoll_wait::{epoll_pwait, epoll_pwait2, epoll_wait};
pub(crate) use eventfd::{eventfd, eventfd2};
pub(crate) use pipe::{pipe, pipe2};
pub(crate) use poll::{poll, ppoll};
pub(crate) use select::{pselect6, select};
pub(crate) use timerfd::{timerfd_create, timerfd_gettime, timerfd_settime};
