//! `statmount(2)`, `listmount(2)`.
//!
//! Mounts are named by numbers that are never used again, all of them above 2^31 so that nobody
//! takes them for those of `mountinfo`.

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_core::memory::UserPtr;
use kernel_files::mount::{MountNamespace, NO_UNIQUE_ID};
use kernel_files::{Location, Mount};
use kernel_tasks::Thread;
use kernel_tasks::namespaces::{NamespaceFile, NamespaceRef};
use linux_abi::files::statmount_mask as wants;
use linux_abi::files::{MountFlags, MountIdRequest, StatMount, mount_attr};
use linux_abi::{Errno, Fd, SysResult};
use zerocopy::{FromZeros, IntoBytes};

use super::super::caller::check_flags;
use super::{MS_PRIVATE, MS_SHARED, MS_SLAVE, MS_UNBINDABLE};

/// The size of the first `struct mnt_id_req`, and of the longest.
const FIRST_SIZE: usize = 24;
const MAX_SIZE: usize = 4096;
/// The mount that the root of all is on, as it seems, as in `mountinfo`.
const ABOVE_ALL: u64 = 1;
/// The most that `listmount` lists.
const MAX_LISTED: usize = 1_000_000;
/// Stands for the root of the caller.
const LSMT_ROOT: u64 = u64::MAX;
const LISTMOUNT_REVERSE: u32 = 1;
const SB_RDONLY: u32 = 1;

/// Copies a request in.
fn read_request(thread: &Thread, pointer: UserPtr<MountIdRequest>) -> SysResult<MountIdRequest> {
    let memory = thread.memory();
    let size = pointer.cast::<u32>().read(&memory)? as usize;
    if size > MAX_SIZE {
        return Err(Errno::E2BIG);
    }
    if size < FIRST_SIZE {
        return Err(Errno::EINVAL);
    }
    let bytes = pointer.cast::<u8>().read_many(&memory, size)?;
    let mut request = MountIdRequest::default();
    let known = size.min(size_of::<MountIdRequest>());
    let (given, beyond) = bytes.split_at_checked(known).ok_or(Errno::EINVAL)?;
    if beyond.iter().any(|&byte| byte != 0) {
        return Err(Errno::E2BIG);
    }
    request.as_mut_bytes().get_mut(..known).ok_or(Errno::EINVAL)?.copy_from_slice(given);
    if request.mnt_ns_fd != 0 && request.mnt_ns_id != 0 || request.mnt_id <= NO_UNIQUE_ID {
        return Err(Errno::EINVAL);
    }
    Ok(request)
}

/// A namespace, and what is `/` in it for the caller.
struct View {
    namespace: Rc<MountNamespace>,
    root: Location,
    /// Whether the caller may see what cannot be reached from there.
    sees_all: bool,
}

impl View {
    fn of(thread: &Thread, request: &MountIdRequest) -> SysResult<Self> {
        let own = thread.fs().namespace();
        let namespace = if request.mnt_ns_id != 0 {
            find_namespace(thread, request.mnt_ns_id).ok_or(Errno::ENOENT)?
        } else if request.mnt_ns_fd != 0 {
            let fd = i32::try_from(request.mnt_ns_fd).map_err(|_| Errno::EBADF)?;
            match NamespaceFile::of(&*thread.file(Fd(fd))?) {
                Some(NamespaceRef::Mount(namespace)) => namespace,
                _ => return Err(Errno::EINVAL),
            }
        } else {
            Rc::clone(&own)
        };
        let sees_all = namespace.owner.grants(&thread.credentials(), cap::SYS_ADMIN);
        let is_own = Rc::ptr_eq(&namespace, &own);
        if !is_own && !sees_all {
            return Err(Errno::ENOENT);
        }
        let root = if is_own { thread.fs().root() } else { namespace.root()? };
        Ok(Self { namespace, root, sees_all })
    }

    fn check_reachable(&self, place: &Location) -> SysResult<()> {
        if self.sees_all || place.path_from(&self.root).1 { Ok(()) } else { Err(Errno::EPERM) }
    }
}

/// The namespace with this number, if anybody is in it.
fn find_namespace(thread: &Thread, number: u64) -> Option<Rc<MountNamespace>> {
    let own = thread.fs().namespace();
    if own.number == number {
        return Some(own);
    }
    let processes = thread.kernel().ids.processes();
    let mut others = processes.iter().flat_map(|process| process.threads());
    others.find_map(|other| Some(other.fs().namespace()).filter(|it| it.number == number))
}

/// Says what a mount is.
pub(crate) fn statmount(
    thread: &Rc<Thread>,
    request: UserPtr<MountIdRequest>,
    buffer: UserPtr<u8>,
    size: usize,
    flags: u32,
) -> SysResult<()> {
    check_flags(flags, 0)?;
    let request = read_request(thread, request)?;
    let view = View::of(thread, &request)?;
    if request.param & wants::TEXTS != 0 && size == size_of::<StatMount>() {
        return Err(Errno::EOVERFLOW);
    }
    let mount = view.namespace.find(request.mnt_id).ok_or(Errno::ENOENT)?;
    view.check_reachable(&mount.top())?;
    let mut answer = Answer { status: StatMount::new_zeroed(), texts: Vec::new(), room: size };
    answer.fill(&mount, &view, request.param)?;
    answer.add_texts(&mount, &view, request.param)?;
    answer.write(thread, buffer)
}

struct Answer {
    status: StatMount,
    texts: Vec<u8>,
    room: usize,
}

impl Answer {
    fn fill(&mut self, mount: &Rc<Mount>, view: &View, mask: u64) -> SysResult<()> {
        let status = &mut self.status;
        let known = wants::SB_BASIC | wants::MNT_BASIC | wants::PROPAGATE_FROM;
        status.mask = mask & (known | wants::MNT_NS_ID | wants::SUPPORTED_MASK);
        if mask & wants::SB_BASIC != 0 {
            let device = mount.file_system.device();
            (status.sb_dev_major, status.sb_dev_minor) = (device.major, device.minor);
            status.sb_magic = mount.file_system.usage()?.magic;
            status.sb_flags = if mount.is_file_system_read_only() { SB_RDONLY } else { 0 };
        }
        if mask & wants::MNT_BASIC != 0 {
            let parent = mount.place().map(|place| place.mount);
            status.mnt_id = mount.unique_id();
            status.mnt_parent_id =
                parent.as_ref().map_or(NO_UNIQUE_ID + ABOVE_ALL, |parent| parent.unique_id());
            let short = |id: u64| u32::try_from(id).unwrap_or(u32::MAX);
            status.mnt_id_old = short(mount.id);
            status.mnt_parent_id_old = short(parent.map_or(ABOVE_ALL, |parent| parent.id));
            status.mnt_attr = attributes_of(mount);
            status.mnt_propagation = propagation_of(mount);
            status.mnt_peer_group = mount.group();
            status.mnt_master = mount.master();
        }
        if mask & wants::PROPAGATE_FROM != 0 {
            status.propagate_from = mount.visible_master(&view.root).unwrap_or(0);
        }
        if mask & wants::MNT_NS_ID != 0 {
            status.mnt_ns_id = view.namespace.number;
        }
        if mask & wants::SUPPORTED_MASK != 0 {
            status.supported_mask = wants::ALL;
        }
        Ok(())
    }

    fn add_texts(&mut self, mount: &Rc<Mount>, view: &View, mask: u64) -> SysResult<()> {
        let options = mount.file_system.options();
        let (path, is_reachable) = mount.top().path_from(&view.root);
        let path = if is_reachable { path } else { Vec::new() };
        let type_name = mount.file_system.type_name().as_bytes();
        let root = mount.path_in_file_system();
        if mask & wants::TEXTS != 0 {
            // What is not there is the empty text at the start.
            self.texts.push(0);
        }
        self.status.fs_type = self.add(mask & wants::FS_TYPE, type_name)?;
        self.status.mnt_root = self.add(mask & wants::MNT_ROOT, &root)?;
        self.status.mnt_point = self.add(mask & wants::MNT_POINT, &path)?;
        self.status.mnt_opts = self.add(mask & wants::MNT_OPTS, options.as_bytes())?;
        self.status.sb_source = self.add(mask & wants::SB_SOURCE, &mount.source)?;
        let list = options.replace(',', "\0");
        self.status.opt_array = self.add(mask & wants::OPT_ARRAY, list.as_bytes())?;
        if self.status.opt_array != 0 {
            self.status.opt_num = u32::try_from(list.split('\0').count()).unwrap_or(0);
        }
        Ok(())
    }

    /// Adds a text, if it is wanted and there is one. Returns where it is.
    fn add(&mut self, flag: u64, text: &[u8]) -> SysResult<u32> {
        if flag == 0 || text.is_empty() {
            return Ok(0);
        }
        let at = u32::try_from(self.texts.len()).map_err(|_| Errno::EOVERFLOW)?;
        self.texts.extend_from_slice(text);
        if size_of::<StatMount>() + self.texts.len() >= self.room {
            return Err(Errno::EOVERFLOW);
        }
        self.texts.push(0);
        self.status.mask |= flag;
        Ok(at)
    }

    fn write(mut self, thread: &Thread, buffer: UserPtr<u8>) -> SysResult<()> {
        let memory = thread.memory();
        let copied = self.room.min(size_of::<StatMount>());
        self.status.size = u32::try_from(copied + self.texts.len()).unwrap_or(u32::MAX);
        let after = UserPtr::<u8>::new(
            buffer.address().checked_add(size_of::<StatMount>() as u64).ok_or(Errno::EFAULT)?,
        );
        if !self.texts.is_empty() {
            after.write_many(&memory, &self.texts)?;
        }
        let status = self.status.as_bytes().get(..copied).unwrap_or_default();
        buffer.write_many(&memory, status)
    }
}

/// `MOUNT_ATTR_*` of a mount.
fn attributes_of(mount: &Mount) -> u64 {
    let flags = mount.flags();
    let mut attributes = 0;
    for (flag, attribute) in [
        (MountFlags::NO_SUID, mount_attr::NOSUID),
        (MountFlags::NO_DEV, mount_attr::NODEV),
        (MountFlags::NO_EXEC, mount_attr::NOEXEC),
        (MountFlags::NO_DIR_ATIME, mount_attr::NODIRATIME),
        (MountFlags::NO_SYMLINK_FOLLOW, mount_attr::NOSYMFOLLOW),
    ] {
        if flags.contains(flag) {
            attributes |= attribute;
        }
    }
    if mount.is_shown_read_only() {
        attributes |= mount_attr::RDONLY;
    }
    if flags.contains(MountFlags::NO_ATIME) {
        attributes |= mount_attr::NOATIME;
    } else if !flags.contains(MountFlags::RELATIVE_ATIME) {
        attributes |= mount_attr::STRICTATIME;
    }
    attributes
}

/// Who hears of what, in the words of `mount(2)`.
fn propagation_of(mount: &Mount) -> u64 {
    let mut propagation = 0;
    if mount.is_shared() {
        propagation |= MS_SHARED;
    }
    if mount.master() != 0 {
        propagation |= MS_SLAVE;
    }
    if mount.is_unbindable() {
        propagation |= MS_UNBINDABLE;
    }
    if propagation == 0 { MS_PRIVATE } else { propagation }
}

/// Lists the mounts beneath one, by their numbers.
pub(crate) fn listmount(
    thread: &Rc<Thread>,
    request: UserPtr<MountIdRequest>,
    ids: UserPtr<u64>,
    n: usize,
    flags: u32,
) -> SysResult<usize> {
    check_flags(flags, LISTMOUNT_REVERSE)?;
    if n > MAX_LISTED {
        return Err(Errno::EOVERFLOW);
    }
    let request = read_request(thread, request)?;
    let last = request.param;
    if last != 0 && last <= NO_UNIQUE_ID {
        return Err(Errno::EINVAL);
    }
    let view = View::of(thread, &request)?;
    let top = if request.mnt_id == LSMT_ROOT {
        view.root.clone()
    } else {
        view.namespace.find(request.mnt_id).ok_or(Errno::ENOENT)?.top()
    };
    view.check_reachable(&top)?;
    let is_listed =
        |mount: &Rc<Mount>| mount.unique_id() != request.mnt_id && mount.top().path_from(&top).1;
    let all = view.namespace.all();
    let listed: Vec<u64> = if flags & LISTMOUNT_REVERSE != 0 {
        let is_next = |mount: &&Rc<Mount>| last == 0 || mount.unique_id() < last;
        let mounts = all.iter().rev().filter(is_next).filter(|mount| is_listed(mount));
        mounts.take(n).map(|mount| mount.unique_id()).collect()
    } else {
        let is_next = |mount: &&Rc<Mount>| mount.unique_id() > last;
        let mounts = all.iter().filter(is_next).filter(|mount| is_listed(mount));
        mounts.take(n).map(|mount| mount.unique_id()).collect()
    };
    ids.write_many(&thread.memory(), &listed)?;
    Ok(listed.len())
}
