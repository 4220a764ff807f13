//! `mount_setattr(2)`, and the part of `open_tree_attr(2)` that is the same.

use std::rc::Rc;

use kernel_core::memory::{CString, UserPtr};
use kernel_files::mount::{Propagation, tree_of};
use kernel_files::{Location, Mount};
use kernel_tasks::Thread;
use kernel_tasks::namespaces::{NamespaceFile, NamespaceRef};
use linux_abi::files::{MountAttr, MountFlags, at, mount_attr};
use linux_abi::{Errno, Fd, SysResult};

use super::super::caller::{Caller, check_flags, last_link, read_growing, read_path};
use super::descriptors::{require_admin, top_of};
use super::writers::is_written_through;
use super::{MS_PROPAGATION, flags_of_attributes, propagation_of};

/// Everything on the mount too.
pub(super) const AT_RECURSIVE: u32 = 0x8000;

/// The longest `struct mount_attr`: a page.
const MAX_SIZE: usize = 4096;

/// What becomes of mounts.
#[derive(Clone, Copy)]
pub(super) struct Change {
    set: MountFlags,
    clear: MountFlags,
    propagation: Option<Propagation>,
}

impl Change {
    /// Copies in what the caller wants; `None` if that is nothing.
    pub(super) fn read(
        thread: &Thread,
        attributes: UserPtr<MountAttr>,
        size: usize,
    ) -> SysResult<Option<Self>> {
        if size > MAX_SIZE {
            return Err(Errno::E2BIG);
        }
        if size < size_of::<MountAttr>() {
            return Err(Errno::EINVAL);
        }
        require_admin(thread)?;
        let wanted = read_growing(thread, attributes, size)?;
        if wanted.attr_set == 0 && wanted.attr_clr == 0 && wanted.propagation == 0 {
            return Ok(None);
        }
        Self::of(thread, &wanted).map(Some)
    }

    fn of(thread: &Thread, wanted: &MountAttr) -> SysResult<Self> {
        let MountAttr { attr_set, attr_clr, propagation, userns_fd } = *wanted;
        if propagation & !MS_PROPAGATION != 0 {
            return Err(Errno::EINVAL);
        }
        let propagation = if propagation == 0 { None } else { Some(propagation_of(propagation)?) };
        let both = attr_set | attr_clr;
        let mut set = flags_of_attributes(attr_set & !(mount_attr::ATIME | mount_attr::IDMAP))?;
        let mut clear = flags_of_attributes(attr_clr & !(mount_attr::ATIME | mount_attr::IDMAP))?;
        // How access times are kept is one of three, so that all are cleared to set another.
        match (attr_clr & mount_attr::ATIME, attr_set & mount_attr::ATIME) {
            (0, 0) => {}
            (mount_attr::ATIME, how) => {
                clear |= MountFlags::RELATIVE_ATIME | MountFlags::NO_ATIME;
                match how {
                    0 => set |= MountFlags::RELATIVE_ATIME,
                    mount_attr::NOATIME => set |= MountFlags::NO_ATIME,
                    mount_attr::STRICTATIME => {}
                    _ => return Err(Errno::EINVAL),
                }
            }
            _ => return Err(Errno::EINVAL),
        }
        if both & mount_attr::IDMAP != 0 {
            check_id_map(thread, attr_clr, userns_fd)?;
        }
        Ok(Self { set, clear, propagation })
    }

    fn of_flags(&self, old: MountFlags) -> MountFlags {
        (old - self.clear) | self.set
    }

    /// Changes the mount at a place, with what is on it if `flags` say so: all or none.
    pub(super) fn apply(&self, caller: &Caller<'_>, place: &Location, flags: u32) -> SysResult<()> {
        if !place.is_mount_root() {
            return Err(Errno::EINVAL);
        }
        let namespace = caller.fs.namespace();
        // What is at no place yet belongs to whoever has its descriptor.
        let is_detached = place.mount.namespace().is_none()
            && place.mount.place().is_none()
            && top_of(&place.mount).namespace().is_none();
        if !is_detached && !namespace.has(&place.mount) {
            return Err(Errno::EINVAL);
        }
        let is_recursive = flags & AT_RECURSIVE != 0;
        let mounts: Vec<Rc<Mount>> =
            if is_recursive { tree_of(&place.mount) } else { vec![Rc::clone(&place.mount)] };
        for mount in &mounts {
            let new = self.of_flags(mount.flags());
            mount.check_locked_flags(new)?;
            let closes = (new - mount.flags()).contains(MountFlags::READ_ONLY);
            if closes && is_written_through(caller.thread(), mount) {
                return Err(Errno::EBUSY);
            }
        }
        for mount in &mounts {
            mount.set_flags(self.of_flags(mount.flags()));
            if let Some(propagation) = self.propagation {
                mount.set_propagation(propagation);
            }
        }
        namespace.note_change();
        Ok(())
    }
}

/// The reasons why ids cannot be mapped, in Linux's order. The last is that no file system here
/// can, which some of Linux's cannot either.
fn check_id_map(thread: &Thread, clear: u64, userns_fd: u64) -> SysResult<()> {
    if clear & mount_attr::IDMAP != 0 {
        return Err(Errno::EINVAL);
    }
    let fd = i32::try_from(userns_fd).map_err(|_| Errno::EINVAL)?;
    let file = thread.file(Fd(fd))?;
    match NamespaceFile::of(&file) {
        Some(NamespaceRef::User(namespace)) if namespace.is_initial() => Err(Errno::EPERM),
        _ => Err(Errno::EINVAL),
    }
}

/// Changes the attributes of a mount.
pub(crate) fn mount_setattr(
    thread: &Rc<Thread>,
    directory: Fd,
    path: UserPtr<CString>,
    flags: u32,
    attributes: UserPtr<MountAttr>,
    size: usize,
) -> SysResult<()> {
    let known = at::EMPTY_PATH | AT_RECURSIVE | at::SYMLINK_NOFOLLOW | at::NO_AUTOMOUNT;
    check_flags(flags, known)?;
    let Some(change) = Change::read(thread, attributes, size)? else { return Ok(()) };
    let path = read_path(thread, path)?;
    let caller = Caller::new(thread);
    let place = caller.find(directory, &path, flags & at::EMPTY_PATH, last_link(flags))?;
    change.apply(&caller, &place, flags)
}
