//! `mount(2)`, `umount2(2)`, `pivot_root(2)`.

mod attributes;
mod cgroup;
mod descriptors;
mod options;
mod overlay;
mod status;
mod writers;

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_core::memory::{CString, PATH_MAX, UserPtr};
use kernel_core::supervisor;
use kernel_files::mount::{Propagation, attach, copy_tree, dissolve, move_tree, tree_of, unmount};
use kernel_files::tmpfs::Tmpfs;
use kernel_files::walk::LastLink;
use kernel_files::{FileKind, FileSystem, Location, Mount};
use kernel_tasks::Thread;
use kernel_tasks::namespaces::NamespaceFile;
use linux_abi::files::{MountFlags, mount_attr};
use linux_abi::{Errno, SysResult};

use super::caller::{Caller, HERE, read_path};
pub(crate) use attributes::mount_setattr;
pub(crate) use descriptors::{
    fsconfig, fsmount, fsopen, fspick, move_mount, open_tree, open_tree_attr,
};
pub(crate) use status::{listmount, statmount};
use writers::{is_written, is_written_through};

const MS_REMOUNT: u64 = 0x20;
const MS_BIND: u64 = 0x1000;
const MS_MOVE: u64 = 0x2000;
const MS_REC: u64 = 0x4000;
const MS_UNBINDABLE: u64 = 1 << 17;
const MS_PRIVATE: u64 = 1 << 18;
const MS_SLAVE: u64 = 1 << 19;
const MS_SHARED: u64 = 1 << 20;
const MS_PROPAGATION: u64 = MS_UNBINDABLE | MS_PRIVATE | MS_SLAVE | MS_SHARED;
/// A magic number in the upper half, from before there were so many flags.
const MS_MAGIC: u64 = 0xc0ed_0000;
const MS_MAGIC_MASK: u64 = 0xffff_0000;

const MNT_DETACH: u32 = 2;
const MNT_EXPIRE: u32 = 4;
const UMOUNT_NOFOLLOW: u32 = 8;
const UMOUNT_KNOWN: u32 = 0xf;

/// Mounts a file system, binds or moves a part of the tree, or changes a mount's flags.
pub(crate) fn mount(
    thread: &Rc<Thread>,
    source: UserPtr<CString>,
    target: UserPtr<CString>,
    kind: UserPtr<CString>,
    flags: u64,
    data: UserPtr<CString>,
) -> SysResult<()> {
    let memory = thread.memory();
    let optional = |text: UserPtr<CString>| match text.non_null() {
        Some(text) => text.read_string(&memory, PATH_MAX),
        None => Ok(Vec::new()),
    };
    let kind = optional(kind)?;
    let has_source = !source.is_null();
    let source = optional(source)?;
    let data = optional(data)?;
    let target = read_path(thread, target)?;
    let flags = if flags & MS_MAGIC_MASK == MS_MAGIC { flags & !MS_MAGIC_MASK } else { flags };
    let caller = Caller::new(thread);
    let place = caller.find(HERE, &target, 0, LastLink::Follow)?.topmost();
    check_may_mount(&caller)?;
    if flags & MS_REMOUNT != 0 {
        let is_bind = flags & MS_BIND != 0;
        return remount(&caller, &place, flags, (!is_bind).then_some(&*data));
    }
    if flags & MS_BIND != 0 {
        let source = caller.find(HERE, &source, 0, LastLink::Follow)?;
        return bind(&caller, &source, &place, flags & MS_REC != 0);
    }
    if flags & MS_PROPAGATION != 0 {
        return change_propagation(&caller, &place, flags);
    }
    if flags & MS_MOVE != 0 {
        let source = caller.find(HERE, &source, 0, LastLink::Follow)?;
        return move_to(&caller, &source, &place);
    }
    let source: &[u8] = if has_source { &source } else { b"none" };
    let new = new_mount(&caller, &kind, source, &data, mount_flags(flags, None))?;
    check_place(&caller, &place)?;
    check_kinds(new.root.inode()?.kind(), &place)?;
    if new.root.inode()?.kind() == FileKind::Symlink {
        return Err(Errno::EINVAL);
    }
    // The same file system on top of itself would be of no use.
    if place.is_mount_root()
        && Rc::ptr_eq(&place.mount.file_system, &new.file_system)
        && Rc::ptr_eq(place.inode()?, new.root.inode()?)
    {
        return Err(Errno::EBUSY);
    }
    attach(&new, &place)
}

/// The flags of a mount: access times are relative if nobody says otherwise, and stay as they
/// were if a change does not mention them.
fn mount_flags(flags: u64, old: Option<MountFlags>) -> MountFlags {
    const MS_STRICTATIME: u64 = 0x100_0000;
    let times = MountFlags::NO_ATIME | MountFlags::NO_DIR_ATIME | MountFlags::RELATIVE_ATIME;
    let mut kept = MountFlags::from_bits_truncate(flags);
    if let Some(old) = old
        && flags & (times.bits() | MS_STRICTATIME) == 0
    {
        return kept | (old & times);
    }
    if flags & MS_STRICTATIME != 0 {
        kept -= MountFlags::NO_ATIME | MountFlags::RELATIVE_ATIME;
    } else if kept.contains(MountFlags::NO_ATIME) {
        kept -= MountFlags::RELATIVE_ATIME;
    } else {
        kept |= MountFlags::RELATIVE_ATIME;
    }
    kept
}

/// `EINVAL` unless a place is in the caller's tree of mounts.
fn check_place(caller: &Caller<'_>, place: &Location) -> SysResult<()> {
    if caller.fs.namespace().has(&place.mount) { Ok(()) } else { Err(Errno::EINVAL) }
}

fn check_kinds(kind: FileKind, place: &Location) -> SysResult<()> {
    let both = [kind, place.inode()?.kind()].map(|kind| kind == FileKind::Directory);
    if both[0] == both[1] { Ok(()) } else { Err(Errno::ENOTDIR) }
}

/// Changes the flags of a mount and, with `data`, the options of its file system.
fn remount(
    caller: &Caller<'_>,
    place: &Location,
    flags: u64,
    data: Option<&[u8]>,
) -> SysResult<()> {
    if !place.is_mount_root() {
        return Err(Errno::EINVAL);
    }
    check_place(caller, place)?;
    let mount = &place.mount;
    let new = mount_flags(flags, Some(mount.flags()));
    mount.check_locked_flags(new)?;
    if let Some(data) = data {
        let is_read_only = new.contains(MountFlags::READ_ONLY);
        let is_foreign = mount.is_handed_down();
        reconfigure(caller, &mount.file_system, is_foreign, data, Some(is_read_only))?;
    } else if (new - mount.flags()).contains(MountFlags::READ_ONLY)
        && is_written_through(caller.thread(), mount)
    {
        return Err(Errno::EBUSY);
    }
    mount.set_flags(new);
    caller.fs.namespace().note_change();
    Ok(())
}

/// Changes a file system itself, for all of its mounts.
fn reconfigure(
    caller: &Caller<'_>,
    file_system: &Rc<dyn FileSystem>,
    is_foreign: bool,
    data: &[u8],
    is_read_only: Option<bool>,
) -> SysResult<()> {
    let options = match file_system.as_any().downcast_ref::<Tmpfs>() {
        Some(tmpfs) => Some((tmpfs, options::Tmpfs::parse(data, &caller.credentials)?)),
        None => None,
    };
    let owner = Rc::clone(&caller.fs.namespace().owner);
    if is_foreign || !caller.credentials.has(cap::SYS_ADMIN) && owner.is_initial() {
        return Err(Errno::EPERM);
    }
    let switch = file_system.read_only_switch();
    if let Some(switch) = switch
        && is_read_only == Some(true)
        && !switch.get()
        && is_written(caller.thread(), file_system)
    {
        return Err(Errno::EBUSY);
    }
    if let Some((tmpfs, options)) = options {
        options.change(tmpfs)?;
    }
    if let (Some(switch), Some(is_read_only)) = (switch, is_read_only) {
        switch.set(is_read_only);
    }
    caller.fs.namespace().note_change();
    Ok(())
}

fn bind(
    caller: &Caller<'_>,
    source: &Location,
    place: &Location,
    is_recursive: bool,
) -> SysResult<()> {
    check_place(caller, place)?;
    let is_namespace = NamespaceFile::is(&**source.inode()?);
    if !is_namespace {
        check_place(caller, source)?;
    }
    check_kinds(source.inode()?.kind(), place)?;
    let bound = copy_tree(source, is_recursive)?;
    attach(&bound, place).inspect_err(|_| dissolve(&bound))
}

/// The one propagation that `flags` name.
fn propagation_of(flags: u64) -> SysResult<Propagation> {
    match flags {
        MS_UNBINDABLE => Ok(Propagation::Unbindable),
        MS_PRIVATE => Ok(Propagation::Private),
        MS_SLAVE => Ok(Propagation::Slave),
        MS_SHARED => Ok(Propagation::Shared),
        _ => Err(Errno::EINVAL),
    }
}

fn change_propagation(caller: &Caller<'_>, place: &Location, flags: u64) -> SysResult<()> {
    const MS_SILENT: u64 = 1 << 15;
    let propagation = propagation_of(flags & !(MS_REC | MS_SILENT))?;
    if !place.is_mount_root() {
        return Err(Errno::EINVAL);
    }
    check_place(caller, place)?;
    if flags & MS_REC == 0 {
        place.mount.set_propagation(propagation);
        return Ok(());
    }
    for mount in tree_of(&place.mount) {
        mount.set_propagation(propagation);
    }
    Ok(())
}

fn move_to(caller: &Caller<'_>, source: &Location, place: &Location) -> SysResult<()> {
    check_place(caller, place)?;
    check_place(caller, source)?;
    if !source.is_mount_root() || source.mount.place().is_none() {
        return Err(Errno::EINVAL);
    }
    check_kinds(source.inode()?.kind(), place)?;
    move_tree(&source.mount, place)
}

/// The flags of a new mount that `MOUNT_ATTR_*` of the newer calls stand for.
fn attributes_of(attributes: u32) -> SysResult<MountFlags> {
    let attributes = u64::from(attributes);
    let flags = flags_of_attributes(attributes & !mount_attr::ATIME)?;
    match attributes & mount_attr::ATIME {
        0 => Ok(flags | MountFlags::RELATIVE_ATIME),
        mount_attr::NOATIME => Ok(flags | MountFlags::NO_ATIME),
        mount_attr::STRICTATIME => Ok(flags),
        _ => Err(Errno::EINVAL),
    }
}

/// The flags of a mount that `MOUNT_ATTR_*` stand for, but for those of access times and ids.
fn flags_of_attributes(attributes: u64) -> SysResult<MountFlags> {
    use mount_attr::{NODEV, NODIRATIME, NOEXEC, NOSUID, NOSYMFOLLOW, RDONLY};
    const SAME_BITS: u64 = RDONLY | NOSUID | NODEV | NOEXEC;
    if attributes & !(SAME_BITS | NODIRATIME | NOSYMFOLLOW) != 0 {
        return Err(Errno::EINVAL);
    }
    let mut flags = MountFlags::from_bits_truncate(attributes & SAME_BITS);
    flags.set(MountFlags::NO_DIR_ATIME, attributes & NODIRATIME != 0);
    flags.set(MountFlags::NO_SYMLINK_FOLLOW, attributes & NOSYMFOLLOW != 0);
    Ok(flags)
}

/// Whether there are file systems of this kind.
fn is_known_kind(kind: &[u8]) -> bool {
    let kinds: [&[u8]; 8] =
        [b"tmpfs", b"ramfs", b"proc", b"sysfs", b"devpts", b"mqueue", b"overlay", b"cgroup2"];
    kinds.contains(&kind)
}

fn new_mount(
    caller: &Caller<'_>,
    kind: &[u8],
    source: &[u8],
    data: &[u8],
    flags: MountFlags,
) -> SysResult<Rc<Mount>> {
    match kind {
        b"tmpfs" | b"ramfs" => {
            let options = options::Tmpfs::parse(data, &caller.credentials)?;
            Ok(Mount::of(options.make() as Rc<dyn FileSystem>, source, flags))
        }
        b"cgroup2" => cgroup::make(caller, source, data, flags),
        // The kernel has one of each; mounting it again shows the same.
        b"proc" | b"sysfs" | b"devpts" | b"mqueue" => {
            let name = std::str::from_utf8(kind).map_err(|_| Errno::ENODEV)?;
            caller.fs.special().mount_again(name, source, flags).ok_or(Errno::ENODEV)
        }
        b"overlay" => Ok(Mount::of(overlay::make(caller, data)?, source, flags)),
        b"" => Err(Errno::EINVAL),
        _ => Err(Errno::ENODEV),
    }
}

/// `EPERM` unless the caller may change the tree. Nobody may if there are rules about paths: a
/// path that was mounted elsewhere would get around them.
fn check_may_mount(caller: &Caller<'_>) -> SysResult<()> {
    let owner = Rc::clone(&caller.fs.namespace().owner);
    let confined =
        caller.credentials.landlock.as_ref().is_some_and(|domain| domain.concerns_files());
    if !owner.grants(&caller.credentials, cap::SYS_ADMIN) || supervisor::has_rules() || confined {
        return Err(Errno::EPERM);
    }
    Ok(())
}

/// Takes a mount out of the tree.
pub(crate) fn umount2(thread: &Rc<Thread>, target: UserPtr<CString>, flags: u32) -> SysResult<()> {
    let is_lazy = flags & MNT_DETACH != 0;
    if flags & !UMOUNT_KNOWN != 0 || (flags & MNT_EXPIRE != 0 && is_lazy) {
        return Err(Errno::EINVAL);
    }
    let target = read_path(thread, target)?;
    let caller = Caller::new(thread);
    let link = if flags & UMOUNT_NOFOLLOW != 0 { LastLink::Keep } else { LastLink::Follow };
    let place = caller.find(HERE, &target, 0, link)?;
    check_may_mount(&caller)?;
    let place = place.topmost();
    let namespace = caller.fs.namespace();
    if !place.is_mount_root() || !namespace.has(&place.mount) || place.mount.is_locked() {
        return Err(Errno::EINVAL);
    }
    let mount = Rc::clone(&place.mount);
    drop(place);
    if mount.place().is_none() {
        return Err(Errno::EBUSY);
    }
    thread.kernel().settle();
    unmount(&mount, is_lazy, 1)?;
    // This function has one handle.
    let is_last = Rc::strong_count(&mount) == 1 && Rc::strong_count(&mount.root) == 1;
    if is_last && mount.root.parent().is_none() {
        mount.root.forget_children();
    }
    Ok(())
}

/// Makes a mount the root of the tree and puts the old root beneath it.
pub(crate) fn pivot_root(
    thread: &Rc<Thread>,
    new_root: UserPtr<CString>,
    put_old: UserPtr<CString>,
) -> SysResult<()> {
    let new_root = read_path(thread, new_root)?;
    let put_old = read_path(thread, put_old)?;
    let caller = Caller::new(thread);
    check_may_mount(&caller)?;
    let new = caller.find(HERE, &new_root, 0, LastLink::Follow)?;
    let old_place = caller.find(HERE, &put_old, 0, LastLink::Follow)?;
    let new = new.topmost();
    let namespace = caller.fs.namespace();
    let root = caller.fs.root();
    let is_directory = |location: &Location| -> SysResult<bool> {
        Ok(location.inode()?.kind() == FileKind::Directory)
    };
    if !is_directory(&new)? || !is_directory(&old_place)? {
        return Err(Errno::ENOTDIR);
    }
    let parent_is_shared =
        |mount: &Rc<Mount>| mount.place().is_some_and(|place| place.mount.is_shared());
    if old_place.mount.is_shared()
        || parent_is_shared(&new.mount)
        || parent_is_shared(&root.mount)
        || !namespace.has(&root.mount)
        || !namespace.has(&new.mount)
        || new.mount.is_locked()
    {
        return Err(Errno::EINVAL);
    }
    if new.dentry.is_unlinked() {
        return Err(Errno::ENOENT);
    }
    if Rc::ptr_eq(&new.mount, &root.mount) || Rc::ptr_eq(&old_place.mount, &root.mount) {
        return Err(Errno::EBUSY);
    }
    let can_be_root = root.is_mount_root() && new.is_mount_root() && new.mount.place().is_some();
    if !can_be_root || !old_place.path_from(&new).1 || !new.path_from(&root).1 {
        return Err(Errno::EINVAL);
    }
    namespace.change_root(&root.mount, &new.mount, &old_place);
    // Everybody who was at the old root is at the new one.
    for process in thread.kernel().ids.processes() {
        for other in process.threads() {
            let fs = other.fs();
            if fs.root().is_same(&root) {
                fs.set_root(new.clone());
            }
            if fs.cwd().is_same(&root) {
                fs.set_cwd(new.clone());
            }
        }
    }
    Ok(())
}
