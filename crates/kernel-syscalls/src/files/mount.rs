//! `mount(2)`, `umount2(2)`, `pivot_root(2)`.

mod descriptors;
mod options;
mod overlay;

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_core::memory::{CString, PATH_MAX, UserPtr};
use kernel_core::supervisor;
use kernel_files::tmpfs::Tmpfs;
use kernel_files::walk::LastLink;
use kernel_files::{FileKind, FileSystem, Location, Mount, MountNamespace};
use kernel_tasks::Thread;
use linux_abi::files::MountFlags;
use linux_abi::{Errno, SysResult};

use super::caller::{Caller, HERE, read_path};
pub(crate) use descriptors::{fsconfig, fsmount, fsopen, move_mount, open_tree};

const MS_REMOUNT: u64 = 0x20;
const MS_BIND: u64 = 0x1000;
const MS_MOVE: u64 = 0x2000;
const MS_REC: u64 = 0x4000;
const MS_PROPAGATION: u64 = 0x1e_0000;
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
    let source = optional(source)?;
    let data = optional(data)?;
    let target = read_path(thread, target)?;
    let flags = if flags & MS_MAGIC_MASK == MS_MAGIC { flags & !MS_MAGIC_MASK } else { flags };
    let caller = Caller::new(thread);
    let place = caller.find(HERE, &target, 0, LastLink::Follow)?;
    check_may_mount(&caller)?;
    let namespace = caller.fs.namespace();
    let kept = MountFlags::from_bits_truncate(flags);
    if flags & MS_REMOUNT != 0 {
        return remount(&place, kept);
    }
    if flags & MS_BIND != 0 {
        let source = caller.find(HERE, &source, 0, LastLink::Follow)?;
        return bind(&namespace, &source, &place, flags & MS_REC != 0);
    }
    if flags & MS_PROPAGATION != 0 {
        if !(flags & MS_PROPAGATION).is_power_of_two() {
            return Err(Errno::EINVAL);
        }
        // There is one namespace to propagate to.
        return if place.is_mount_root() { Ok(()) } else { Err(Errno::EINVAL) };
    }
    if flags & MS_MOVE != 0 {
        let source = caller.find(HERE, &source, 0, LastLink::Follow)?;
        if !source.is_mount_root() || source.mount.place().is_none() {
            return Err(Errno::EINVAL);
        }
        return namespace.move_mount(&source.mount, &place);
    }
    let new = new_mount(&caller, &kind, &source, &data, kept)?;
    check_kinds(new.root.inode()?.kind(), &place)?;
    namespace.mount(&new, &place)
}

fn check_kinds(kind: FileKind, place: &Location) -> SysResult<()> {
    let both = [kind, place.inode()?.kind()].map(|kind| kind == FileKind::Directory);
    if both[0] == both[1] { Ok(()) } else { Err(Errno::ENOTDIR) }
}

fn remount(place: &Location, flags: MountFlags) -> SysResult<()> {
    if !place.is_mount_root() {
        return Err(Errno::EINVAL);
    }
    place.mount.set_flags(flags);
    Ok(())
}

fn bind(
    namespace: &MountNamespace,
    source: &Location,
    place: &Location,
    is_recursive: bool,
) -> SysResult<()> {
    check_kinds(source.inode()?.kind(), place)?;
    let bound = copy_tree(namespace, source, is_recursive)?;
    namespace.mount(&bound, place)
}

/// A copy of the mount at `source`, or of the part of it, that is at no place; with what is mounted
/// on it if `is_recursive`.
fn copy_tree(
    namespace: &MountNamespace,
    source: &Location,
    is_recursive: bool,
) -> SysResult<Rc<Mount>> {
    let copy = |mount: &Rc<Mount>, root| {
        Mount::new(Rc::clone(&mount.file_system), root, &mount.source, mount.flags())
    };
    let bound = copy(&source.mount, Rc::clone(&source.dentry));
    let mut pending = Vec::new();
    if is_recursive {
        for child in namespace.children(&source.mount) {
            let is_beneath = child.place().is_some_and(|at| source.dentry.contains(&at.dentry));
            if is_beneath {
                pending.push((child, Rc::clone(&bound)));
            }
        }
    }
    while let Some((mount, parent)) = pending.pop() {
        let Some(at) = mount.place() else { continue };
        let copied = copy(&mount, Rc::clone(&mount.root));
        let grandchildren = namespace.children(&mount);
        namespace.mount(&copied, &Location { mount: parent, dentry: at.dentry })?;
        pending.extend(grandchildren.into_iter().map(|child| (child, Rc::clone(&copied))));
    }
    Ok(bound)
}

/// The mount flags that `MOUNT_ATTR_*` of the newer calls stand for.
fn attributes_of(attributes: u32) -> SysResult<MountFlags> {
    const SAME_BITS: u32 = 0x0f;
    const ATIME: u32 = 0x70;
    const NO_ATIME: u32 = 0x10;
    const STRICT_ATIME: u32 = 0x20;
    const NO_DIR_ATIME: u32 = 0x80;
    const NO_SYMLINK_FOLLOW: u32 = 0x20_0000;
    let known = SAME_BITS | ATIME | NO_DIR_ATIME | NO_SYMLINK_FOLLOW;
    if attributes & !known != 0 {
        return Err(Errno::EINVAL);
    }
    let mut flags = MountFlags::from_bits_truncate(u64::from(attributes & SAME_BITS));
    match attributes & ATIME {
        0 => flags |= MountFlags::RELATIVE_ATIME,
        NO_ATIME => flags |= MountFlags::NO_ATIME,
        STRICT_ATIME => {}
        _ => return Err(Errno::EINVAL),
    }
    flags.set(MountFlags::NO_DIR_ATIME, attributes & NO_DIR_ATIME != 0);
    flags.set(MountFlags::NO_SYMLINK_FOLLOW, attributes & NO_SYMLINK_FOLLOW != 0);
    Ok(flags)
}

/// Whether there are file systems of this kind.
fn is_known_kind(kind: &[u8]) -> bool {
    let kinds: [&[u8]; 7] =
        [b"tmpfs", b"ramfs", b"proc", b"sysfs", b"devpts", b"mqueue", b"overlay"];
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
            let options = options::Tmpfs::parse(data)?;
            let fs = Tmpfs::new(options.limits, options.mode, options.uid, options.gid);
            Ok(Mount::of(fs as Rc<dyn FileSystem>, source, flags))
        }
        // The kernel has one of each; mounting it again shows the same.
        b"proc" | b"sysfs" | b"devpts" | b"mqueue" => {
            let name = std::str::from_utf8(kind).map_err(|_| Errno::ENODEV)?;
            let known = caller.fs.namespace().all();
            let known = known.iter().find(|mount| mount.file_system.type_name() == name);
            let known = known.ok_or(Errno::ENODEV)?;
            let fs = Rc::clone(&known.file_system);
            Ok(Mount::new(fs, Rc::clone(&known.root), source, flags))
        }
        b"overlay" => Ok(Mount::of(overlay::make(caller, data)?, source, flags)),
        b"" => Err(Errno::EINVAL),
        _ => Err(Errno::ENODEV),
    }
}

/// `EPERM` unless the caller may change the tree. Nobody may if there are rules about paths: a
/// path that was mounted elsewhere would get around them.
fn check_may_mount(caller: &Caller<'_>) -> SysResult<()> {
    if !caller.credentials.has(cap::SYS_ADMIN) || supervisor::has_rules() {
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
    let namespace = caller.fs.namespace();
    if !place.is_mount_root() || !namespace.has(&place.mount) {
        return Err(Errno::EINVAL);
    }
    let mount = Rc::clone(&place.mount);
    drop(place);
    if mount.place().is_none() {
        return Err(Errno::EBUSY);
    }
    // The namespace has it, and this function. Whoever else has it uses it.
    let is_used = Rc::strong_count(&mount) > 2 || !namespace.children(&mount).is_empty();
    if is_used && !is_lazy {
        return Err(Errno::EBUSY);
    }
    for child in namespace.children(&mount) {
        namespace.detach(&child)?;
    }
    namespace.detach(&mount)?;
    if !is_used && mount.root.parent().is_none() && Rc::strong_count(&mount.root) == 1 {
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
    let namespace = caller.fs.namespace();
    let root = caller.fs.root();
    let is_directory = |location: &Location| -> SysResult<bool> {
        Ok(location.inode()?.kind() == FileKind::Directory)
    };
    if !is_directory(&new)? || !is_directory(&old_place)? {
        return Err(Errno::ENOTDIR);
    }
    if Rc::ptr_eq(&new.mount, &root.mount) || Rc::ptr_eq(&old_place.mount, &root.mount) {
        return Err(Errno::EBUSY);
    }
    if !new.is_mount_root() || !namespace.is_beneath(&old_place, &new.mount) {
        return Err(Errno::EINVAL);
    }
    namespace.change_root(&new.mount, &old_place)?;
    if caller.fs.cwd().is_same(&root) {
        caller.fs.set_cwd(new.clone());
    }
    caller.fs.set_root(new);
    Ok(())
}
