//! Answers about the system: one file per call or small family.

mod names;
mod random;
mod sysinfo;

pub(crate) use names::{setdomainname, sethostname, uname};
pub(crate) use random::getrandom;
pub(crate) use sysinfo::{getcpu, sysinfo};
