//! `shmget(2)`, `shmat(2)`, `shmdt(2)`, `shmctl(2)`.

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

/// Attaches a segment. The shim maps it where it was asked to, and answers with the address.
pub(crate) fn shmat(thread: &Rc<Thread>, id: i32, address: u64, flags: u32) -> SysResult<()> {
    let id = id_of(id)?;
    let all = &thread.kernel().ipc.shared_memory;
    let attach = all.prepare_attach(id, address, flags, &thread.credentials())?;
    thread.machine().map_file(&attach.file, attach.length)?;
    all.attached(thread.process().pid, id)
}

/// Detaches what is attached at `address`. The shim unmaps as many bytes there as we answer.
pub(crate) fn shmdt(thread: &Rc<Thread>, address: u64) -> SysResult<u64> {
    let maps = thread.machine().maps_text();
    let inode = inode_mapped_at(&maps, address).ok_or(Errno::EINVAL)?;
    thread.kernel().ipc.shared_memory.detach(thread.process().pid, inode)
}

/// The inode number of the file whose mapping starts at `address`, by a text like
/// `/proc/self/maps`: `start-end permissions offset device inode path`.
fn inode_mapped_at(maps: &[u8], address: u64) -> Option<u64> {
    let text = String::from_utf8_lossy(maps);
    text.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (start, _) = fields.next()?.split_once('-')?;
        let is_here = u64::from_str_radix(start, 16).ok()? == address;
        is_here.then(|| fields.nth(3)?.parse().ok())?
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_inode_of_a_mapping() {
        let maps = b"00400000-00452000 r-xp 00000000 08:02 173521 /usr/bin/dbus-daemon\n\
            7f00a0000000-7f00a0002000 rw-s 00000000 00:01 1042 /memfd:SYSV (deleted)\n";
        assert_eq!(inode_mapped_at(maps, 0x7f00_a000_0000), Some(1042));
        assert_eq!(inode_mapped_at(maps, 0x7f00_a000_1000), None);
    }
}
