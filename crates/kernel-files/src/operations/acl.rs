//! Setting access control lists, and what new files get of them.

use kernel_core::credentials::{Credentials, cap};
use kernel_core::supervisor::{FileEvent, Right};
use linux_abi::files::mode;
use linux_abi::{Errno, SysResult};

use crate::acl::{Acl, AclKind};
use crate::inode::Inode;
use crate::metadata::{AttributeChange, FileKind, timestamp};
use crate::mount::Location;
use crate::notify::{self, Event};
use crate::observed;
use crate::permission::is_owner;

/// Sets a list, or takes it off. A list that says no more than a mode becomes the mode.
pub fn change_acl(
    location: &Location,
    credentials: &Credentials,
    kind: AclKind,
    acl: Option<Acl>,
) -> SysResult<()> {
    location.check_writable()?;
    let inode = location.inode()?;
    inode.acl(kind)?;
    if kind == AclKind::Default && inode.kind() != FileKind::Directory {
        return if acl.is_some() { Err(Errno::EACCES) } else { Ok(()) };
    }
    let ownership = inode.ownership()?;
    if !is_owner(ownership, credentials) {
        return Err(Errno::EPERM);
    }
    observed::check(location, Right::Write)?;
    let mut change = AttributeChange { changed: Some(timestamp()), ..Default::default() };
    let kept = match kind {
        AclKind::Default => acl,
        AclKind::Access => {
            let now = ownership.mode & mode::CHANGEABLE;
            let mut bits = acl.as_ref().map_or(now, |acl| now & !0o777 | acl.mode());
            if !credentials.in_group(ownership.gid)
                && !credentials.has_over(cap::FSETID, ownership.uid, ownership.gid)
            {
                bits &= !mode::SET_GID;
            }
            change.mode = Some(bits);
            acl.filter(|acl| !acl.is_minimal())
        }
    };
    inode.set_acl(kind, kept.as_ref())?;
    inode.set_attributes(&change)?;
    observed::tell(location, FileEvent::Changed);
    notify::at(location, Event::Attrib);
    Ok(())
}

/// The lists that a new file has from the directory that it is made in.
#[derive(Default)]
pub struct InheritedAcls {
    access: Option<Acl>,
    default: Option<Acl>,
}

impl InheritedAcls {
    /// What `parent` hands on to a file of this kind that was asked for with permissions `bits`;
    /// `None` if it has nothing to hand on, so that the `umask` counts.
    pub(super) fn of(parent: &dyn Inode, kind: FileKind, bits: u32) -> Option<(Self, u32)> {
        if kind == FileKind::Symlink {
            return None;
        }
        let default = parent.acl(AclKind::Default).ok()??;
        let access = default.limited_to(bits);
        let bits = bits & !0o777 | access.mode();
        let acls = Self {
            access: Some(access).filter(|acl| !acl.is_minimal()),
            default: Some(default).filter(|_| kind == FileKind::Directory),
        };
        Some((acls, bits))
    }

    /// Gives them to the new file.
    pub fn give(&self, inode: &dyn Inode) -> SysResult<()> {
        for (kind, acl) in [(AclKind::Access, &self.access), (AclKind::Default, &self.default)] {
            if acl.is_some() {
                inode.set_acl(kind, acl.as_ref())?;
            }
        }
        Ok(())
    }
}
