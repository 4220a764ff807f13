//! Memory: one file per call or small family.
//!
//! Private and anonymous memory never comes here: the shim has the host do it under the filter.
//! What comes is files to be mapped, and what concerns other processes or limits.

mod advise;
mod lock;
mod map;
mod other_process;
mod policy;

pub(crate) use advise::process_madvise;
pub(crate) use lock::{mlock, mlock2, mlockall, munlock, munlockall};
pub(crate) use map::{mmap, remap_file_pages};
pub(crate) use other_process::{process_vm_readv, process_vm_writev};
pub(crate) use policy::{get_mempolicy, mbind, set_mempolicy};
