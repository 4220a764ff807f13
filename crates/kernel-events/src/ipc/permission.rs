//! Who may do what with a System V IPC object.

use std::cell::Cell;

use kernel_core::credentials::{Credentials, cap};
use linux_abi::events::sysv::IpcPerm;
use linux_abi::{Errno, SysResult};

/// What a caller wants to do, in the bits of a mode: for owner, group and others alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want(pub u32);

impl Want {
    /// To look.
    pub const READ: Self = Self(0o444);
    /// To change.
    pub const WRITE: Self = Self(0o222);
}

/// The bits of a mode that are permissions.
const PERMISSIONS: u32 = 0o777;

/// Owner, maker and mode of an object.
#[derive(Clone, Copy, Debug)]
pub struct Permission {
    /// The key it was made with.
    pub key: i32,
    /// The owner.
    pub uid: u32,
    /// The owner's group.
    pub gid: u32,
    cuid: u32,
    cgid: u32,
    /// The permission bits.
    pub mode: u32,
}

impl Permission {
    /// Of an object that `who` makes.
    pub fn new(key: i32, flags: u32, who: &Credentials) -> Self {
        let mode = flags & PERMISSIONS;
        Self { key, uid: who.euid, gid: who.egid, cuid: who.euid, cgid: who.egid, mode }
    }

    /// Whether `who` may do this; `EACCES` if not.
    pub fn check(&self, who: &Credentials, want: Want) -> SysResult<()> {
        let wanted = want.0 >> 6 | want.0 >> 3 | want.0;
        let granted = if who.euid == self.cuid || who.euid == self.uid {
            self.mode >> 6
        } else if who.in_group(self.cgid) || who.in_group(self.gid) {
            self.mode >> 3
        } else {
            self.mode
        };
        if wanted & !granted & 0o7 == 0 || who.has(cap::IPC_OWNER) {
            Ok(())
        } else {
            Err(Errno::EACCES)
        }
    }

    /// Whether `who` may change or remove the object itself; `EPERM` if not.
    pub fn check_control(&self, who: &Credentials) -> SysResult<()> {
        if who.euid == self.cuid || who.euid == self.uid || who.has(cap::SYS_ADMIN) {
            Ok(())
        } else {
            Err(Errno::EPERM)
        }
    }

    /// Takes owner and mode from what a guest has sent with `IPC_SET`. `EINVAL` for ids that are
    /// none.
    pub fn update(&mut self, from: &IpcPerm) -> SysResult<()> {
        if from.uid == u32::MAX || from.gid == u32::MAX {
            return Err(Errno::EINVAL);
        }
        (self.uid, self.gid) = (from.uid, from.gid);
        self.mode = self.mode & !PERMISSIONS | from.mode & PERMISSIONS;
        Ok(())
    }

    /// As `IPC_STAT` shows it, for an object with this id.
    pub fn show(&self, id: u32) -> IpcPerm {
        IpcPerm {
            key: self.key,
            uid: self.uid,
            gid: self.gid,
            cuid: self.cuid,
            cgid: self.cgid,
            mode: self.mode,
            seq: u16::try_from(id >> super::table::INDEX_BITS).unwrap_or(0),
            ..IpcPerm::default()
        }
    }

    /// Maker and the maker's group, for `/proc/sysvipc`.
    pub fn maker(&self) -> (u32, u32) {
        (self.cuid, self.cgid)
    }
}

/// An object that has a permission.
pub trait Guarded {
    /// Its permission.
    fn permission(&self) -> &Cell<Permission>;
}
