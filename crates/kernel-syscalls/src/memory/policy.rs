//! `mbind(2)`, `set_mempolicy(2)`, `get_mempolicy(2)`: a machine with one memory node.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_tasks::Thread;
use linux_abi::{Errno, SysResult};

const MODE_MASK: u32 = 0xff;
/// `MPOL_WEIGHTED_INTERLEAVE` is the last one.
const LAST_MODE: u32 = 6;
const MPOL_F_NODE: u32 = 1;
const MPOL_F_ADDR: u32 = 2;
const MPOL_F_MEMS_ALLOWED: u32 = 4;
const PAGE: u64 = 4096;
const MAX_NODES: u64 = 1024;

/// Sets the policy of a range. Every policy means the one node.
pub(crate) fn mbind(
    _thread: &Rc<Thread>,
    address: u64,
    length: u64,
    mode: u32,
    _nodes: UserPtr<u64>,
    max_node: u64,
) -> SysResult<()> {
    if !address.is_multiple_of(PAGE) || address.checked_add(length).is_none() {
        return Err(Errno::EINVAL);
    }
    check_mode(mode, max_node)
}

/// Sets the policy of the thread.
pub(crate) fn set_mempolicy(
    _thread: &Rc<Thread>,
    mode: u32,
    _nodes: UserPtr<u64>,
    max_node: u64,
) -> SysResult<()> {
    check_mode(mode, max_node)
}

/// Tells the policy: always the default one, always node 0.
pub(crate) fn get_mempolicy(
    thread: &Rc<Thread>,
    mode: UserPtr<u32>,
    nodes: UserPtr<u64>,
    max_node: u64,
    _address: u64,
    flags: u32,
) -> SysResult<()> {
    if flags & !(MPOL_F_NODE | MPOL_F_ADDR | MPOL_F_MEMS_ALLOWED) != 0 {
        return Err(Errno::EINVAL);
    }
    if !nodes.is_null() && max_node == 0 {
        return Err(Errno::EINVAL);
    }
    let memory = thread.memory();
    mode.write_if_wanted(&memory, &0)?;
    let allowed = u64::from(flags & MPOL_F_MEMS_ALLOWED != 0);
    nodes.write_if_wanted(&memory, &allowed)
}

fn check_mode(mode: u32, max_node: u64) -> SysResult<()> {
    if mode & MODE_MASK > LAST_MODE || max_node > MAX_NODES * 8 {
        return Err(Errno::EINVAL);
    }
    Ok(())
}
