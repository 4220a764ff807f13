//! `shmget(2)`, `shmat(2)`, `shmdt(2)`, `shmctl(2)`.

use std::collections::HashSet;
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
    thread.ipc().shared_memory.get(key, size, flags, &thread.credentials(), pid)
}

/// Attaches a segment. The shim maps it where it was asked to, and answers with the address.
pub(crate) fn shmat(thread: &Rc<Thread>, id: i32, address: u64, flags: u32) -> SysResult<()> {
    let id = id_of(id)?;
    let ipc = thread.ipc();
    let all = &ipc.shared_memory;
    let attach = all.prepare_attach(id, address, flags, &thread.credentials())?;
    thread.machine().map_file(&attach.file, attach.length)?;
    all.attached(thread.process().pid, id)
}

/// Detaches what is attached at `address`. The shim unmaps as many bytes there as we answer.
pub(crate) fn shmdt(thread: &Rc<Thread>, address: u64) -> SysResult<u64> {
    let maps = thread.machine().maps_text();
    let inode = inode_mapped_at(&maps, address).ok_or(Errno::EINVAL)?;
    thread.ipc().shared_memory.detach(thread.process().pid, inode)
}

/// Counts anew how often a segment is attached: guests may have unmapped it.
fn recount(thread: &Rc<Thread>, all: &SharedMemory, id: u32) {
    let (users, inode) = all.users(id);
    for pid in users {
        let process = thread.kernel().ids.process(pid);
        let Some(member) = process.and_then(|process| process.threads().into_iter().next()) else {
            continue;
        };
        all.recount(pid, id, n_mapped(&member.machine().maps_text(), inode));
    }
}

/// One line of a text like `/proc/self/maps`: `start-end permissions offset device inode path`.
struct Mapping {
    start: u64,
    offset: u64,
    inode: u64,
}

fn mappings(maps: &str) -> impl Iterator<Item = Mapping> {
    maps.lines().filter_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (start, _) = fields.next()?.split_once('-')?;
        let start = u64::from_str_radix(start, 16).ok()?;
        let offset = u64::from_str_radix(fields.nth(1)?, 16).ok()?;
        Some(Mapping { start, offset, inode: fields.nth(1)?.parse().ok()? })
    })
}

/// The inode number of the file whose mapping starts at `address`.
fn inode_mapped_at(maps: &[u8], address: u64) -> Option<u64> {
    let text = String::from_utf8_lossy(maps);
    mappings(&text).find(|mapping| mapping.start == address).map(|mapping| mapping.inode)
}

/// How many mappings of this file there are. Parts of one mapping count once.
fn n_mapped(maps: &[u8], inode: u64) -> u64 {
    let text = String::from_utf8_lossy(maps);
    let own = mappings(&text).filter(|mapping| mapping.inode == inode);
    let bases: HashSet<u64> =
        own.map(|mapping| mapping.start.wrapping_sub(mapping.offset)).collect();
    bases.len() as u64
}

/// Looks at a segment, changes it or removes it.
pub(crate) fn shmctl(
    thread: &Rc<Thread>,
    id: i32,
    operation: i32,
    argument: u64,
) -> SysResult<u32> {
    let id = id_of(id)?;
    let ipc = thread.ipc();
    let all = &ipc.shared_memory;
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
            recount(thread, all, id);
            UserPtr::new(argument).write(&thread.memory(), &segment.show(id))?;
            Ok(if operation == command::IPC_STAT { 0 } else { id })
        }
        command::IPC_SET => {
            let new = UserPtr::<ShmidDs>::new(argument).read(&thread.memory())?;
            all.change(id, &new, &who).map(|()| 0)
        }
        command::SHM_LOCK => all.lock(id, true, &who).map(|()| 0),
        command::SHM_UNLOCK => all.lock(id, false, &who).map(|()| 0),
        command::IPC_RMID => {
            recount(thread, all, id);
            all.remove(id, &who).map(|()| 0)
        }
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
        assert_eq!((n_mapped(maps, 1042), n_mapped(maps, 7)), (1, 0));
    }

    #[test]
    fn parts_of_a_mapping_count_once() {
        let maps = b"1000-2000 rw-s 00000000 00:01 9 /memfd:SYSV (deleted)\n\
            2000-3000 r--s 00001000 00:01 9 /memfd:SYSV (deleted)\n\
            8000-a000 rw-s 00000000 00:01 9 /memfd:SYSV (deleted)\n";
        assert_eq!(n_mapped(maps, 9), 2);
    }
}
