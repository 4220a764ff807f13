//! Mounts of the control groups.

use std::rc::Rc;

use kernel_files::Mount;
use linux_abi::files::MountFlags;
use linux_abi::{Errno, SysResult};

use super::super::caller::Caller;

/// A mount of the groups, from the one on that the caller sees as the root. Who sees them all also
/// says whether the roots of namespaces are borders.
pub(super) fn make(
    caller: &Caller<'_>,
    source: &[u8],
    data: &[u8],
    flags: MountFlags,
) -> SysResult<Rc<Mount>> {
    let mut delegates = false;
    for option in data.split(|&byte| byte == b',').filter(|option| !option.is_empty()) {
        match option {
            b"nsdelegate" => delegates = true,
            b"favordynmods" | b"memory_localevents" | b"memory_recursiveprot" => {}
            _ => return Err(Errno::EINVAL),
        }
    }
    let whole = caller.fs.special().mount_again("cgroup2", source, flags).ok_or(Errno::ENODEV)?;
    let root = Rc::clone(&caller.thread().namespaces().cgroup.root);
    if root.is_root() {
        caller.thread().kernel().cgroups.delegates.set(delegates);
        return Ok(whole);
    }
    let names: Vec<&[u8]> =
        root.ancestors().filter(|group| !group.is_root()).map(|group| group.name()).collect();
    let mut dentry = Rc::clone(&whole.root);
    for name in names.iter().rev() {
        dentry = dentry.child(name)?;
        dentry.inode()?;
    }
    Ok(Mount::new(Rc::clone(&whole.file_system), dentry, source, flags))
}
