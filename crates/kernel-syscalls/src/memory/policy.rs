//! `mbind(2)`, `set_mempolicy(2)`, `get_mempolicy(2)`: a machine with one memory node.
//!
//! Policies are checked, kept and told. Every one of them means the one node.

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_core::memory::{UserMemory, UserPtr};
use kernel_tasks::Thread;
use kernel_tasks::thread::MemoryPolicy;
use linux_abi::{Errno, SysResult};

const MPOL_DEFAULT: u32 = 0;
const MPOL_PREFERRED: u32 = 1;
const MPOL_INTERLEAVE: u32 = 3;
const MPOL_LOCAL: u32 = 4;
/// `MPOL_WEIGHTED_INTERLEAVE`.
const LAST_MODE: u32 = 6;
const MPOL_F_RELATIVE_NODES: u32 = 1 << 14;
const MPOL_F_STATIC_NODES: u32 = 1 << 15;
const MODE_FLAGS: u32 = MPOL_F_RELATIVE_NODES | MPOL_F_STATIC_NODES;
const MPOL_F_NODE: u32 = 1;
const MPOL_F_ADDR: u32 = 2;
const MPOL_F_MEMS_ALLOWED: u32 = 4;
/// `MPOL_MF_STRICT`, `MPOL_MF_MOVE`, `MPOL_MF_MOVE_ALL`.
const KNOWN_MOVES: u32 = 7;
/// Also what other processes use.
const MPOL_MF_MOVE_ALL: u32 = 4;
const PAGE: u64 = 4096;
const MAX_NODES: u64 = 1024;
const ONLY_NODE: u64 = 1;

/// Sets the policy of a range, which is not kept: whatever it is, memory comes from the one node.
pub(crate) fn mbind(
    thread: &Rc<Thread>,
    address: u64,
    length: u64,
    mode: u32,
    nodes: UserPtr<u64>,
    max_node: u64,
    flags: u32,
) -> SysResult<()> {
    if flags & !KNOWN_MOVES != 0 {
        return Err(Errno::EINVAL);
    }
    if flags & MPOL_MF_MOVE_ALL != 0 && !thread.credentials().has(cap::SYS_NICE) {
        return Err(Errno::EPERM);
    }
    if !address.is_multiple_of(PAGE) || address.checked_add(length).is_none() {
        return Err(Errno::EINVAL);
    }
    read_policy(thread, mode, nodes, max_node).map(drop)
}

/// Sets the policy of the thread.
pub(crate) fn set_mempolicy(
    thread: &Rc<Thread>,
    mode: u32,
    nodes: UserPtr<u64>,
    max_node: u64,
) -> SysResult<()> {
    let policy = read_policy(thread, mode, nodes, max_node)?;
    thread.change_attributes(|attributes| attributes.memory_policy = policy);
    Ok(())
}

/// Tells the policy of the thread, the default one of an address, or which node has an address.
pub(crate) fn get_mempolicy(
    thread: &Rc<Thread>,
    mode: UserPtr<u32>,
    nodes: UserPtr<u64>,
    max_node: u64,
    address: u64,
    flags: u32,
) -> SysResult<()> {
    let known = MPOL_F_NODE | MPOL_F_ADDR | MPOL_F_MEMS_ALLOWED;
    let asks_allowed = flags & MPOL_F_MEMS_ALLOWED != 0;
    if flags & !known != 0
        || !nodes.is_null() && max_node == 0
        || asks_allowed && flags != MPOL_F_MEMS_ALLOWED
        || flags & MPOL_F_ADDR == 0 && address != 0
    {
        return Err(Errno::EINVAL);
    }
    let memory = thread.memory();
    if asks_allowed {
        mode.write_if_wanted(&memory, &MPOL_DEFAULT)?;
        return nodes.write_if_wanted(&memory, &ONLY_NODE);
    }
    let policy = if flags & MPOL_F_ADDR != 0 {
        memory.read(address, &mut [0])?;
        MemoryPolicy::default()
    } else {
        thread.attributes().memory_policy
    };
    let answer = match (flags & MPOL_F_NODE != 0, flags & MPOL_F_ADDR != 0) {
        (false, _) => policy.mode,
        // The number of the node.
        (true, true) => 0,
        (true, false) if policy.mode & !MODE_FLAGS == MPOL_INTERLEAVE => 0,
        (true, false) => return Err(Errno::EINVAL),
    };
    mode.write_if_wanted(&memory, &answer)?;
    nodes.write_if_wanted(&memory, &policy.nodes)
}

/// The checks of Linux's `get_nodes` and `mpol_new`.
fn read_policy(
    thread: &Thread,
    mode: u32,
    nodes: UserPtr<u64>,
    max_node: u64,
) -> SysResult<MemoryPolicy> {
    let flags = mode & MODE_FLAGS;
    if mode & !MODE_FLAGS > LAST_MODE || flags == MODE_FLAGS {
        return Err(Errno::EINVAL);
    }
    let nodes = match nodes.non_null() {
        None => 0,
        // Linux subtracts one from the number, so that none is very many.
        Some(_) if max_node == 0 || max_node > MAX_NODES * 8 => return Err(Errno::EINVAL),
        Some(_) if max_node == 1 => 0,
        Some(nodes) => nodes.read(&thread.memory())?,
    };
    let wants_nodes = match mode & !MODE_FLAGS {
        MPOL_DEFAULT | MPOL_LOCAL if nodes != 0 || flags != 0 => return Err(Errno::EINVAL),
        MPOL_DEFAULT | MPOL_LOCAL => return Ok(MemoryPolicy { mode, nodes: 0 }),
        MPOL_PREFERRED if nodes == 0 && flags == 0 => {
            return Ok(MemoryPolicy { mode: MPOL_LOCAL, nodes: 0 });
        }
        _ => nodes,
    };
    if wants_nodes & ONLY_NODE == 0 {
        return Err(Errno::EINVAL);
    }
    Ok(MemoryPolicy { mode, nodes: ONLY_NODE })
}
