//! `shmget(2)`, `shmctl(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_events::ipc::permission::{Guarded, Want};
use kernel_events::ipc::shared_memory::{SHMMAX, SHMMNI, SharedMemory};
use kernel_tasks::Thread;
use linux_abi::events::sysv::{ShmLimits, ShmUsage, ShmidDs, command};
use linux_abi::{Errno, SysResult};

use super::{id_of, to_i32};

/// Finds or makes a segment.
pub(crate) fn shmget(thread: &Rc<Thread>, key: i32, size: u64, flags: u32) -> SysResult<u32> {
    let pid = thread.process().pid;
    thread.kernel().ipc.shared_memory.get(key, size, flags, &thread.credentials(), pid)
}

/// Looks at a segment, changes it or removes it.
pub(crate) fn shmctl(
    thread: &Rc<Thread>,
    id: i32,
    operation: i32,
    argument: u64,
) -> SysResult<u32> {
    let id = id_of(id)?;
    let all = &thread.kernel().ipc.shared_memory;
    let who = thread.credentials();
    match operation {
        command::IPC_INFO => limits(thread, all, argument),
        command::SHM_INFO => usage(thread, all, argument),
        command::IPC_STAT | command::SHM_STAT | command::SHM_STAT_ANY => {
            let (id, segment) = match operation {
                command::IPC_STAT => (id, all.table().find(id)?),
                _ => all.table().find_by_index(id)?,
            };
            if operation != command::SHM_STAT_ANY {
                segment.permission().get().check(&who, Want::READ)?;
            }
            UserPtr::new(argument).write(&thread.memory(), &segment.show(id))?;
            Ok(if operation == command::IPC_STAT { 0 } else { id })
        }
        command::IPC_SET => {
            let new = UserPtr::<ShmidDs>::new(argument).read(&thread.memory())?;
            all.change(id, &new, &who).map(|()| 0)
        }
        command::SHM_LOCK => all.lock(id, true, &who).map(|()| 0),
        command::SHM_UNLOCK => all.lock(id, false, &who).map(|()| 0),
        command::IPC_RMID => all.remove(id, &who).map(|()| 0),
        _ => Err(Errno::EINVAL),
    }
}

fn limits(thread: &Rc<Thread>, all: &SharedMemory, argument: u64) -> SysResult<u32> {
    let limits = ShmLimits {
        shmmax: SHMMAX,
        shmmin: 1,
        shmmni: SHMMNI as u64,
        shmseg: SHMMNI as u64,
        shmall: SHMMAX,
        ..ShmLimits::default()
    };
    UserPtr::new(argument).write(&thread.memory(), &limits)?;
    Ok(all.table().highest_index())
}

fn usage(thread: &Rc<Thread>, all: &SharedMemory, argument: u64) -> SysResult<u32> {
    let segments = all.table().all();
    let usage = ShmUsage {
        used_ids: to_i32(segments.len()),
        shm_tot: segments.iter().map(|(_, segment)| segment.mapped_size() / 4096).sum(),
        shm_rss: segments.iter().map(|(_, segment)| segment.resident_pages()).sum(),
        ..ShmUsage::default()
    };
    UserPtr::new(argument).write(&thread.memory(), &usage)?;
    Ok(all.table().highest_index())
}
