//! Who may do what to a file.

use kernel_core::credentials::{Credentials, cap};
use linux_abi::files::mode;
use linux_abi::{Errno, SysResult};

use crate::acl::AclKind;
use crate::inode::Inode;
use crate::metadata::Ownership;

const GROUP_BITS: u32 = 0o070;

bitflags::bitflags! {
    /// What somebody wants to do with a file, in the bits of `access(2)`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Want: u32 {
        /// Run it, or search it if it is a directory.
        const EXECUTE = 1;
        /// Change it.
        const WRITE = 2;
        /// Read it.
        const READ = 4;
    }
}

/// `EACCES` if `credentials` may not do `want` with a file of this ownership.
pub fn check_ownership(
    ownership: Ownership,
    credentials: &Credentials,
    want: Want,
) -> SysResult<()> {
    let bits = if credentials.fsuid == ownership.uid {
        ownership.mode >> 6
    } else if credentials.in_group(ownership.gid) {
        ownership.mode >> 3
    } else {
        ownership.mode
    };
    if want.bits() & !bits & 7 == 0 {
        return Ok(());
    }
    check_privilege(ownership, credentials, want)
}

/// `EACCES` if no capability gives what the permissions do not.
fn check_privilege(ownership: Ownership, credentials: &Credentials, want: Want) -> SysResult<()> {
    let is_directory = ownership.mode & mode::KIND == mode::DIRECTORY;
    // Capabilities give everything but the right to run what nobody may run.
    let is_runnable = is_directory || ownership.mode & 0o111 != 0;
    let has = |capability| credentials.has_over(capability, ownership.uid, ownership.gid);
    if has(cap::DAC_OVERRIDE) && (is_runnable || !want.contains(Want::EXECUTE)) {
        return Ok(());
    }
    let reading = if is_directory { Want::READ | Want::EXECUTE } else { Want::READ };
    if has(cap::DAC_READ_SEARCH) && reading.contains(want) {
        return Ok(());
    }
    Err(Errno::EACCES)
}

/// `EACCES` if `credentials` may not do `want` with this file.
pub fn check(inode: &dyn Inode, credentials: &Credentials, want: Want) -> SysResult<()> {
    if want.is_empty() {
        return Ok(());
    }
    let ownership = inode.ownership()?;
    // The owner's bits are the same in both; without any for the group nobody is named.
    if credentials.fsuid != ownership.uid
        && ownership.mode & GROUP_BITS != 0
        && let Ok(Some(acl)) = inode.acl(AclKind::Access)
    {
        return if acl.permits(ownership, credentials, want.bits()) {
            Ok(())
        } else {
            check_privilege(ownership, credentials, want)
        };
    }
    check_ownership(ownership, credentials, want)
}

/// `EACCES` if a directory may not be searched.
pub fn check_search(inode: &dyn Inode, credentials: &Credentials) -> SysResult<()> {
    if credentials.has(cap::DAC_OVERRIDE) {
        return Ok(());
    }
    check(inode, credentials, Want::EXECUTE)
}

/// Whether `credentials` count as the owner.
pub fn is_owner(ownership: Ownership, credentials: &Credentials) -> bool {
    credentials.fsuid == ownership.uid
        || credentials.has_over(cap::FOWNER, ownership.uid, ownership.gid)
}

/// `EPERM` if the sticky bit of `directory` keeps `credentials` from removing or renaming `victim`.
pub fn check_sticky(
    directory: Ownership,
    victim: Ownership,
    credentials: &Credentials,
) -> SysResult<()> {
    let is_protected = directory.mode & mode::STICKY != 0
        && victim.uid != credentials.fsuid
        && directory.uid != credentials.fsuid
        && !credentials.has_over(cap::FOWNER, victim.uid, victim.gid);
    if is_protected { Err(Errno::EPERM) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(mode: u32) -> Ownership {
        Ownership { mode: mode | mode::REGULAR, uid: 10, gid: 20 }
    }

    #[test]
    fn the_owner_is_judged_by_the_owners_bits_alone() {
        let owner = Credentials::of_user(10, 20);
        assert_eq!(check_ownership(file(0o077), &owner, Want::READ), Err(Errno::EACCES));
        assert_eq!(check_ownership(file(0o400), &owner, Want::READ), Ok(()));
    }

    #[test]
    fn root_runs_only_what_somebody_may_run() {
        let root = Credentials::of_user(0, 0);
        assert_eq!(check_ownership(file(0o600), &root, Want::EXECUTE), Err(Errno::EACCES));
        assert_eq!(check_ownership(file(0o610), &root, Want::EXECUTE), Ok(()));
        assert_eq!(check_ownership(file(0), &root, Want::READ | Want::WRITE), Ok(()));
    }
}
