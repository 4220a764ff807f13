//! Changes of metadata: `chmod`, `chown`, `utimensat`, `truncate`.

use std::rc::Rc;

use kernel_core::credentials::{Credentials, cap};
use kernel_core::supervisor::{FileEvent, Right};
use linux_abi::files::mode;
use linux_abi::time::Timespec;
use linux_abi::{Errno, SysResult};

use crate::acl::AclKind;
use crate::inode::Inode;
use crate::landlock;
use crate::metadata::{AttributeChange, FileKind, Ownership, timestamp};
use crate::mount::Location;
use crate::notify::{self, Event};
use crate::observed;
use crate::permission::{self, Want, is_owner};

/// Changes permission, set-id and sticky bits.
pub fn change_mode(location: &Location, credentials: &Credentials, bits: u32) -> SysResult<()> {
    location.check_writable()?;
    let inode = location.inode()?;
    let ownership = inode.ownership()?;
    if !is_owner(ownership, credentials) {
        return Err(Errno::EPERM);
    }
    observed::check(location, Right::Write)?;
    let mut bits = bits & mode::CHANGEABLE;
    if !credentials.in_group(ownership.gid)
        && !credentials.has_over(cap::FSETID, ownership.uid, ownership.gid)
    {
        bits &= !mode::SET_GID;
    }
    let change =
        AttributeChange { mode: Some(bits), changed: Some(timestamp()), ..Default::default() };
    inode.set_attributes(&change)?;
    if let Ok(Some(acl)) = inode.acl(AclKind::Access) {
        inode.set_acl(AclKind::Access, Some(&acl.with_mode(bits)))?;
    }
    notify::at(location, Event::Attrib);
    observed::tell(location, FileEvent::Changed);
    Ok(())
}

/// Changes owner and group; `None` leaves one as it is.
pub fn change_owner(
    location: &Location,
    credentials: &Credentials,
    uid: Option<u32>,
    gid: Option<u32>,
) -> SysResult<()> {
    location.check_writable()?;
    let inode = location.inode()?;
    let now = inode.ownership()?;
    let owns = credentials.fsuid == now.uid;
    let may_chown = credentials.has_over(cap::CHOWN, now.uid, now.gid);
    if uid.is_some_and(|uid| !(may_chown || owns && uid == now.uid)) {
        return Err(Errno::EPERM);
    }
    let may_have = |gid| credentials.in_group(gid) || gid == now.gid;
    if gid.is_some_and(|gid| !(may_chown || owns && may_have(gid))) {
        return Err(Errno::EPERM);
    }
    observed::check(location, Right::Write)?;
    let mut change = AttributeChange { uid, gid, changed: Some(timestamp()), ..Default::default() };
    if inode.kind() != FileKind::Directory {
        change.mode = without_privileges(now, credentials);
    }
    inode.set_attributes(&change)?;
    remove_capabilities(&**inode)?;
    notify::at(location, Event::Attrib);
    observed::tell(location, FileEvent::Changed);
    Ok(())
}

/// A file with another owner loses the capabilities that it gave to those who execute it.
fn remove_capabilities(inode: &dyn Inode) -> SysResult<()> {
    const NAME: &[u8] = b"security.capability";
    match inode.xattrs() {
        Some(xattrs) if xattrs.get(NAME).is_ok() => xattrs.remove(NAME),
        _ => Ok(()),
    }
}

/// The mode without its set-id bits, if that is another one. A set-group-id bit without the right
/// to execute once meant mandatory locking and stays, unless the caller is a stranger to the group.
fn without_privileges(now: Ownership, credentials: &Credentials) -> Option<u32> {
    let mut bits = now.mode & mode::CHANGEABLE & !mode::SET_UID;
    let is_stranger =
        !credentials.in_group(now.gid) && !credentials.has_over(cap::FSETID, now.uid, now.gid);
    if now.mode & mode::GROUP_EXECUTE != 0 || is_stranger {
        bits &= !mode::SET_GID;
    }
    (bits != now.mode & mode::CHANGEABLE).then_some(bits)
}

/// Takes the set-id bits off a file that is written to, as Linux does unless the writer has
/// `CAP_FSETID`.
pub fn remove_privileges(inode: &Rc<dyn Inode>, credentials: &Credentials) -> SysResult<()> {
    if inode.sheds_privileges() {
        return Ok(());
    }
    let ownership = inode.ownership()?;
    if ownership.mode & (mode::SET_UID | mode::SET_GID) == 0 || credentials.has(cap::FSETID) {
        return Ok(());
    }
    match without_privileges(ownership, credentials) {
        Some(bits) => {
            inode.set_attributes(&AttributeChange { mode: Some(bits), ..Default::default() })
        }
        None => Ok(()),
    }
}

/// What shall become of one time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeChange {
    /// It stays.
    Keep,
    /// It becomes the present.
    Now,
    /// It becomes this.
    Set(Timespec),
}

/// Changes access and modification time.
pub fn change_times(
    location: &Location,
    credentials: &Credentials,
    accessed: TimeChange,
    modified: TimeChange,
) -> SysResult<()> {
    if accessed == TimeChange::Keep && modified == TimeChange::Keep {
        return Ok(());
    }
    location.check_writable()?;
    let inode = location.inode()?;
    let ownership = inode.ownership()?;
    if !is_owner(ownership, credentials) {
        // Whoever may write may say "now", but may not invent a time.
        if accessed != TimeChange::Now || modified != TimeChange::Now {
            return Err(Errno::EPERM);
        }
        permission::check(&**inode, credentials, Want::WRITE)?;
    }
    observed::check(location, Right::Write)?;
    let now = timestamp();
    let time = |change| match change {
        TimeChange::Keep => None,
        TimeChange::Now => Some(now),
        TimeChange::Set(time) => Some(time),
    };
    inode.set_attributes(&AttributeChange {
        accessed: time(accessed),
        modified: time(modified),
        changed: Some(now),
        ..Default::default()
    })?;
    let event = match (accessed, modified) {
        (TimeChange::Keep, _) => Event::Modify,
        (_, TimeChange::Keep) => Event::Access,
        _ => Event::Attrib,
    };
    notify::at(location, event);
    observed::tell(location, FileEvent::Changed);
    Ok(())
}

/// The checks of `truncate(2)` with a path.
pub fn check_truncate(location: &Location, credentials: &Credentials) -> SysResult<()> {
    let inode = location.inode()?;
    match inode.kind() {
        FileKind::Directory => return Err(Errno::EISDIR),
        FileKind::Regular => {}
        _ => return Err(Errno::EINVAL),
    }
    location.check_writable()?;
    permission::check(&**inode, credentials, Want::WRITE)?;
    landlock::check(credentials, location, kernel_core::landlock::fs::TRUNCATE)?;
    observed::check(location, Right::Write)
}

/// Changes the length of a regular file; without effect on what has none.
pub fn truncate_location(location: &Location, size: u64) -> SysResult<()> {
    match location.inode()?.content() {
        Some(content) => {
            content.truncate(size)?;
            notify::at(location, Event::Modify);
            observed::tell(location, FileEvent::Changed);
            Ok(())
        }
        None => Ok(()),
    }
}
