//! Signals: one file per call or small family.

use linux_abi::signals::SigSet;
use linux_abi::{Errno, SysResult};

mod action;
mod send;
mod signalfd;
mod wait;

pub(crate) use action::rt_sigaction;
pub(crate) use send::{kill, rt_sigqueueinfo, rt_tgsigqueueinfo, tgkill, tkill};
pub(crate) use signalfd::{signalfd, signalfd4};
pub(crate) use wait::{pause, rt_sigpending, rt_sigprocmask, rt_sigsuspend, rt_sigtimedwait};

/// Every signal call is told how large its sets are; there is one size.
fn check_set_size(size: u64) -> SysResult<()> {
    if size == size_of::<SigSet>() as u64 { Ok(()) } else { Err(Errno::EINVAL) }
}

#[cfg(test)]
mod tests;
