//! The file systems that tell of the kernel: `proc`, `sysfs` and `cgroup2`.
//!
//! Start with [`proc_fs`]. The root of `/proc` is in [`root`], what is told of the system as a
//! whole in [`system`], of a process in [`process`], and `/proc/sys` in [`sysctl`]. `/sys` is in
//! [`sys`]. What the host has to say comes through [`SystemFacts`] and
//! [`kernel_tasks::Machine`]: this crate opens nothing itself once it is set up.
//!
//! Nothing here changes what the kernel does, but for the few values that can be written.

#![forbid(unsafe_code)]

mod anonymous;
mod cgroup;
mod facts;
mod network;
mod process;
mod root;
mod sys;
mod sysctl;
mod system;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use kernel_files::pseudo::{PseudoFs, PseudoInode, PseudoType};
use kernel_tasks::Kernel;

pub use cgroup::CgroupFs;
pub use facts::SystemFacts;

/// What the files of these file systems are made from.
#[derive(Clone)]
pub struct Sources {
    /// The kernel to tell of.
    pub kernel: Rc<Kernel>,
    /// What is known of the machine.
    pub facts: Rc<SystemFacts>,
}

const PROC: PseudoType =
    PseudoType { name: "proc", magic: 0x9fa0, knows_all_names: true, file_size: 0 };
const SYSFS: PseudoType =
    PseudoType { name: "sysfs", magic: 0x6265_6572, knows_all_names: false, file_size: 4096 };

/// The file system of `/proc`.
pub fn proc_fs(sources: &Sources) -> Rc<PseudoFs> {
    let names = root::Root::new(sources);
    PseudoFs::new(PROC, "", |fs| PseudoInode::root(fs, names))
}

/// The file system of `/sys`.
pub fn sys_fs(sources: &Sources) -> Rc<PseudoFs> {
    let names = sys::root(sources);
    PseudoFs::new(SYSFS, "", |fs| PseudoInode::root(fs, names))
}

/// The file system of `/sys/fs/cgroup`.
pub fn cgroup_fs(sources: &Sources) -> Rc<CgroupFs> {
    CgroupFs::new(sources)
}
