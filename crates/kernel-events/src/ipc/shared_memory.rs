//! System V shared memory. See shmop(2).
//!
//! A segment is a host memfd. Attaching it maps the memfd into the guest process, which the shim
//! there does. Where it has put it only the host knows, who names each mapping's file by its inode;
//! here is kept how often each process has attached what, so that a segment that was removed goes
//! with its last attachment.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use host_sys::errno_of;
use host_sys::rustix::fs::{MemfdFlags, fstat, ftruncate, memfd_create};
use kernel_core::credentials::{Credentials, cap};
use kernel_core::ledger::{Charge, Kind};
use kernel_files::MappedFile;
use kernel_files::host_memory::HostMemory;
use linux_abi::events::sysv::{
    SHM_DEST, SHM_EXEC, SHM_HUGETLB, SHM_LOCKED, SHM_RDONLY, SHM_REMAP, SHM_RND, ShmidDs,
};
use linux_abi::{Errno, Pid, SysResult};

use super::permission::{Guarded, Permission, Want};
use super::semaphores::seconds;
use super::table::IpcTable;

/// How many segments there may be.
pub const SHMMNI: usize = 4096;
/// How large a segment may be. Linux allows more than an address space has.
pub const SHMMAX: u64 = 1 << 46;
/// The size of a page, which segments are made of.
const PAGE: u64 = 4096;

/// A segment.
pub struct Segment {
    permission: Cell<Permission>,
    size: u64,
    memory: HostMemory,
    _charge: Charge,
    /// The inode number of the memfd.
    inode: u64,
    n_attached: Cell<u64>,
    is_locked: Cell<bool>,
    /// It was removed, and goes with its last attachment.
    is_doomed: Cell<bool>,
    maker: Pid,
    last: Cell<Last>,
}

/// Who did what when.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    attached: i64,
    detached: i64,
    changed: i64,
    user: u32,
}

impl Guarded for Segment {
    fn permission(&self) -> &Cell<Permission> {
        &self.permission
    }
}

impl Segment {
    fn new(permission: Permission, size: u64, maker: Pid) -> SysResult<Self> {
        let charge = Charge::of::<Self>(Kind::Queues).map_err(|_| Errno::ENOMEM)?;
        let host = memfd_create("SYSV", MemfdFlags::CLOEXEC).map_err(errno_of)?;
        ftruncate(&host, size.next_multiple_of(PAGE)).map_err(errno_of)?;
        let inode = fstat(&host).map_err(errno_of)?.st_ino;
        Ok(Self {
            inode,
            permission: Cell::new(permission),
            size,
            memory: HostMemory::new(host, None),
            _charge: charge,
            n_attached: Cell::new(0),
            is_locked: Cell::new(false),
            is_doomed: Cell::new(false),
            maker,
            last: Cell::new(Last { changed: seconds(), ..Last::default() }),
        })
    }

    /// The size that was asked for.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The size of its mapping.
    pub fn mapped_size(&self) -> u64 {
        self.size.next_multiple_of(PAGE)
    }

    /// How many pages of it are in memory.
    pub fn resident_pages(&self) -> u64 {
        self.memory.recount() / PAGE
    }

    /// What the guest process maps.
    fn mapped_file(&self, is_read_only: bool) -> SysResult<MappedFile> {
        self.memory.map(!is_read_only)
    }

    /// Owner, times and use, as `IPC_STAT` shows them.
    pub fn show(&self, id: u32) -> ShmidDs {
        let last = self.last.get();
        let mut perm = self.permission.get().show(id);
        if self.is_doomed.get() {
            (perm.mode, perm.key) = (perm.mode | SHM_DEST, 0);
        }
        if self.is_locked.get() {
            perm.mode |= SHM_LOCKED;
        }
        ShmidDs {
            perm,
            segsz: self.size,
            atime: last.attached,
            dtime: last.detached,
            ctime: last.changed,
            cpid: self.maker.0,
            lpid: last.user,
            nattch: self.n_attached.get(),
            ..ShmidDs::default()
        }
    }
}

/// A segment that is about to be mapped.
pub struct Attach {
    /// What to map, from its start.
    pub file: MappedFile,
    /// How much.
    pub length: u64,
    /// Where; `None` leaves that to the address space.
    pub address: Option<u64>,
    /// Whether what is mapped there already makes way. If not, the call is `EINVAL`.
    pub replaces: bool,
    /// Whether the mapping can be written to.
    pub is_writable: bool,
    /// Whether the mapping can be executed.
    pub is_executable: bool,
}

/// Where `shmat` shall attach, by its address and flags.
fn place(address: u64, flags: u32) -> SysResult<Option<u64>> {
    let (rounds, replaces) = (flags & SHM_RND != 0, flags & SHM_REMAP != 0);
    match address {
        0 if replaces => Err(Errno::EINVAL),
        0 => Ok(None),
        _ if address.is_multiple_of(PAGE) => Ok(Some(address)),
        _ if !rounds || (replaces && address < PAGE) => Err(Errno::EINVAL),
        _ => Ok(Some(address - address % PAGE)),
    }
}

/// What a process has attached: how often, by the id of the segment.
type Attached = HashMap<u32, u64>;

/// All segments.
pub struct SharedMemory {
    table: IpcTable<Segment>,
    attached: RefCell<HashMap<Pid, Attached>>,
}

impl Default for SharedMemory {
    fn default() -> Self {
        Self { table: IpcTable::new(SHMMNI), attached: RefCell::default() }
    }
}

impl SharedMemory {
    /// The segments by id.
    pub fn table(&self) -> &IpcTable<Segment> {
        &self.table
    }

    /// Finds or makes a segment (`shmget`).
    pub fn get(
        &self,
        key: i32,
        size: u64,
        flags: u32,
        who: &Credentials,
        pid: Pid,
    ) -> SysResult<u32> {
        let fits = |segment: &Segment| match size > segment.size {
            true => Err(Errno::EINVAL),
            false => Ok(()),
        };
        self.table.get_or_make(key, flags, who, fits, || {
            if size == 0 || size > SHMMAX {
                return Err(Errno::EINVAL);
            }
            if flags & SHM_HUGETLB != 0 {
                // As on a machine without huge pages.
                return Err(Errno::ENOMEM);
            }
            Segment::new(Permission::new(key, flags, who), size, pid)
        })
    }

    /// What `shmat` shall map. The caller maps it, and then tells with
    /// [`attached`](Self::attached).
    pub fn prepare_attach(
        &self,
        id: u32,
        address: u64,
        flags: u32,
        who: &Credentials,
    ) -> SysResult<Attach> {
        let address = place(address, flags)?;
        let (is_writable, is_executable) = (flags & SHM_RDONLY == 0, flags & SHM_EXEC != 0);
        let write = if is_writable { Want::WRITE.0 } else { 0 };
        let execute = if is_executable { 0o111 } else { 0 };
        let segment = self.table.find(id)?;
        segment.permission.get().check(who, Want(Want::READ.0 | write | execute))?;
        Ok(Attach {
            file: segment.mapped_file(!is_writable)?,
            length: segment.mapped_size(),
            address,
            replaces: flags & SHM_REMAP != 0,
            is_writable,
            is_executable,
        })
    }

    /// The process has the segment mapped once more.
    pub fn attached(&self, pid: Pid, id: u32) -> SysResult<()> {
        let segment = self.table.find(id)?;
        *self.attached.borrow_mut().entry(pid).or_default().entry(id).or_default() += 1;
        segment.n_attached.set(segment.n_attached.get() + 1);
        segment.last.set(Last { attached: seconds(), user: pid.0, ..segment.last.get() });
        Ok(())
    }

    /// The process wants the mapping of the memfd with this inode number gone (`shmdt`). Returns
    /// how long the mapping is; `EINVAL` if that is no segment that it has attached.
    pub fn detach(&self, pid: Pid, inode: u64) -> SysResult<u64> {
        let (id, length) = {
            let mut all = self.attached.borrow_mut();
            let attached = all.get_mut(&pid).ok_or(Errno::EINVAL)?;
            let found = attached.keys().find_map(|&id| {
                let segment = self.table.find(id).ok()?;
                (segment.inode == inode).then(|| (id, segment.mapped_size()))
            });
            let (id, length) = found.ok_or(Errno::EINVAL)?;
            if let Some(count) = attached.get_mut(&id) {
                *count = count.saturating_sub(1);
            }
            attached.retain(|_, count| *count > 0);
            if attached.is_empty() {
                all.remove(&pid);
            }
            (id, length)
        };
        self.release(id, pid);
        Ok(length)
    }

    /// Which processes may have the segment attached, and the inode number of its memfd. Guests
    /// also unmap a segment without a word to us, so whoever needs the true count asks the host
    /// for each process, and [tells](Self::recount).
    pub fn users(&self, id: u32) -> (Vec<Pid>, u64) {
        let all = self.attached.borrow();
        let users = all.iter().filter(|(_, attached)| attached.contains_key(&id));
        let inode = self.table.find(id).map_or(0, |segment| segment.inode);
        (users.map(|(pid, _)| *pid).collect(), inode)
    }

    /// The process has the segment mapped so many times.
    pub fn recount(&self, pid: Pid, id: u32, count: u64) {
        let Ok(segment) = self.table.find(id) else { return };
        let mut all = self.attached.borrow_mut();
        let Some(place) = all.get_mut(&pid).and_then(|attached| attached.get_mut(&id)) else {
            return;
        };
        let others = segment.n_attached.get().saturating_sub(*place);
        segment.n_attached.set(others + count);
        *place = count;
    }

    /// One attachment less.
    fn release(&self, id: u32, pid: Pid) {
        let Ok(segment) = self.table.find(id) else { return };
        let n = segment.n_attached.get().saturating_sub(1);
        segment.n_attached.set(n);
        segment.last.set(Last { detached: seconds(), user: pid.0, ..segment.last.get() });
        if n == 0 && segment.is_doomed.get() {
            // It is there: it was found above.
            let _ = self.table.remove(id);
        }
    }

    /// A process was copied, and its mappings with it.
    pub(super) fn copy_attachments(&self, parent: Pid, child: Pid) {
        let Some(attached) = self.attached.borrow().get(&parent).cloned() else { return };
        for (&id, &count) in &attached {
            if let Ok(segment) = self.table.find(id) {
                segment.n_attached.set(segment.n_attached.get() + count);
                let last = segment.last.get();
                segment.last.set(Last { attached: seconds(), user: child.0, ..last });
            }
        }
        self.attached.borrow_mut().insert(child, attached);
    }

    /// A process has lost all its mappings.
    pub(super) fn detach_all(&self, pid: Pid) {
        let attached = self.attached.borrow_mut().remove(&pid).unwrap_or_default();
        for (id, count) in attached {
            for _ in 0..count {
                self.release(id, pid);
            }
        }
    }

    /// Changes owner and mode (`IPC_SET`).
    pub fn change(&self, id: u32, from: &ShmidDs, who: &Credentials) -> SysResult<()> {
        let segment = self.table.find(id)?;
        let mut permission = segment.permission.get();
        permission.check_control(who)?;
        permission.update(&from.perm)?;
        segment.permission.set(permission);
        segment.last.set(Last { changed: seconds(), ..segment.last.get() });
        Ok(())
    }

    /// Locks a segment in memory, or no more. The host decides what stays in memory, so only the
    /// mark changes.
    pub fn lock(&self, id: u32, is_locked: bool, who: &Credentials) -> SysResult<()> {
        let segment = self.table.find(id)?;
        if !who.has(cap::IPC_LOCK) {
            segment.permission.get().check_control(who)?;
        }
        segment.is_locked.set(is_locked);
        Ok(())
    }

    /// Removes a segment (`IPC_RMID`): at once, or with its last attachment. Until then its id
    /// still works and its key finds nothing.
    pub fn remove(&self, id: u32, who: &Credentials) -> SysResult<()> {
        let segment = self.table.find(id)?;
        segment.permission.get().check_control(who)?;
        if segment.n_attached.get() == 0 {
            self.table.remove(id)?;
        } else {
            self.table.forget_key(segment.permission.get().key, id);
            segment.is_doomed.set(true);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use linux_abi::events::sysv::{IPC_CREAT, IPC_PRIVATE};

    use super::*;

    const ME: Pid = Pid(5);
    const CHILD: Pid = Pid(6);

    #[test]
    fn a_removed_segment_lives_as_long_as_somebody_has_it_attached() {
        let all = SharedMemory::default();
        let who = Credentials::of_user(0, 0);
        let id = all.get(9, 5000, IPC_CREAT | 0o600, &who, ME).unwrap();
        assert_eq!(all.prepare_attach(id, 0, 0, &who).unwrap().length, 8192);
        all.attached(ME, id).unwrap();
        let inode = all.table().find(id).unwrap().inode;
        all.copy_attachments(ME, CHILD);
        all.remove(id, &who).unwrap();
        assert_eq!(all.get(9, 1, 0, &who, ME), Err(Errno::ENOENT));
        assert_eq!(all.detach(ME, inode + 1), Err(Errno::EINVAL));
        assert_eq!(all.detach(ME, inode), Ok(8192));
        assert_eq!(all.detach(ME, inode), Err(Errno::EINVAL));
        assert_eq!(all.table().find(id).unwrap().show(id).nattch, 1);
        all.detach_all(CHILD);
        assert_eq!(all.table().find(id).err(), Some(Errno::EINVAL));
    }

    #[test]
    fn sizes_and_permissions_are_checked() {
        let all = SharedMemory::default();
        let who = Credentials::of_user(1, 1);
        let other = Credentials::of_user(2, 2);
        assert_eq!(all.get(IPC_PRIVATE, 0, 0o600, &who, ME), Err(Errno::EINVAL));
        let id = all.get(4, 10, IPC_CREAT | 0o644, &who, ME).unwrap();
        assert_eq!(all.get(4, 11, 0, &who, ME), Err(Errno::EINVAL));
        assert_eq!(all.prepare_attach(id, 0, 0, &other).err(), Some(Errno::EACCES));
        assert!(all.prepare_attach(id, 0, SHM_RDONLY, &other).is_ok());
        assert_eq!(all.prepare_attach(id, 0x1234, 0, &who).err(), Some(Errno::EINVAL));
        assert_eq!(all.prepare_attach(id, 0x1234, SHM_RND, &who).unwrap().address, Some(0x1000));
        assert_eq!(all.remove(id, &other), Err(Errno::EPERM));
    }
}
