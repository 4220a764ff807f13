//! How identities may change. Pure rules: from old credentials to new ones, or `EPERM`.

use std::rc::Rc;

use kernel_core::credentials::{CapabilitySet, Credentials, cap};
use linux_abi::tasks::prctl::secbit;
use linux_abi::{Errno, SysResult};

use crate::Thread;
use crate::process::Flags;

#[cfg(test)]
mod tests;

/// The capabilities that come and go with the file system's user id.
const FILE_CAPABILITIES: CapabilitySet = 1 << cap::CHOWN
    | 1 << cap::DAC_OVERRIDE
    | 1 << cap::DAC_READ_SEARCH
    | 1 << cap::FOWNER
    | 1 << cap::FSETID
    | 1 << cap::LINUX_IMMUTABLE
    | 1 << cap::MKNOD
    | 1 << MAC_OVERRIDE;
const MAC_OVERRIDE: u32 = 32;

/// Real, effective and saved id; `None` leaves one as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewIds {
    /// The real id.
    pub real: Option<u32>,
    /// The effective id.
    pub effective: Option<u32>,
    /// The saved id.
    pub saved: Option<u32>,
}

/// `setuid(2)`: all three for the privileged, else only the effective one.
pub fn set_uid(old: &Credentials, uid: u32) -> SysResult<Credentials> {
    let mut new = old.clone();
    if old.has_own(cap::SETUID) {
        (new.uid, new.suid) = (uid, uid);
    } else if uid != old.uid && uid != old.suid {
        return Err(Errno::EPERM);
    }
    (new.euid, new.fsuid) = (uid, uid);
    Ok(fix_capabilities(new, old))
}

/// `setgid(2)`.
pub fn set_gid(old: &Credentials, gid: u32) -> SysResult<Credentials> {
    let mut new = old.clone();
    if old.has_own(cap::SETGID) {
        (new.gid, new.sgid) = (gid, gid);
    } else if gid != old.gid && gid != old.sgid {
        return Err(Errno::EPERM);
    }
    (new.egid, new.fsgid) = (gid, gid);
    Ok(new)
}

/// `setreuid(2)`: the saved id follows when the real one is set, or the effective one is set to
/// something else than the real one was.
pub fn set_re_uid(old: &Credentials, ids: NewIds) -> SysResult<Credentials> {
    let free = old.has_own(cap::SETUID);
    let allowed_real = [old.uid, old.euid];
    let allowed_effective = [old.uid, old.euid, old.suid];
    if !free
        && (ids.real.is_some_and(|id| !allowed_real.contains(&id))
            || ids.effective.is_some_and(|id| !allowed_effective.contains(&id)))
    {
        return Err(Errno::EPERM);
    }
    let mut new = old.clone();
    new.uid = ids.real.unwrap_or(old.uid);
    new.euid = ids.effective.unwrap_or(old.euid);
    if ids.real.is_some() || ids.effective.is_some_and(|id| id != old.uid) {
        new.suid = new.euid;
    }
    new.fsuid = new.euid;
    Ok(fix_capabilities(new, old))
}

/// `setregid(2)`.
pub fn set_re_gid(old: &Credentials, ids: NewIds) -> SysResult<Credentials> {
    let free = old.has_own(cap::SETGID);
    let allowed_real = [old.gid, old.egid];
    let allowed_effective = [old.gid, old.egid, old.sgid];
    if !free
        && (ids.real.is_some_and(|id| !allowed_real.contains(&id))
            || ids.effective.is_some_and(|id| !allowed_effective.contains(&id)))
    {
        return Err(Errno::EPERM);
    }
    let mut new = old.clone();
    new.gid = ids.real.unwrap_or(old.gid);
    new.egid = ids.effective.unwrap_or(old.egid);
    if ids.real.is_some() || ids.effective.is_some_and(|id| id != old.gid) {
        new.sgid = new.egid;
    }
    new.fsgid = new.egid;
    Ok(new)
}

/// `setresuid(2)`: each id to any of the old three, or freely for the privileged.
pub fn set_res_uid(old: &Credentials, ids: NewIds) -> SysResult<Credentials> {
    check_three(ids, [old.uid, old.euid, old.suid], old.has_own(cap::SETUID))?;
    let mut new = old.clone();
    new.uid = ids.real.unwrap_or(old.uid);
    new.euid = ids.effective.unwrap_or(old.euid);
    new.suid = ids.saved.unwrap_or(old.suid);
    new.fsuid = new.euid;
    Ok(fix_capabilities(new, old))
}

/// `setresgid(2)`.
pub fn set_res_gid(old: &Credentials, ids: NewIds) -> SysResult<Credentials> {
    check_three(ids, [old.gid, old.egid, old.sgid], old.has_own(cap::SETGID))?;
    let mut new = old.clone();
    new.gid = ids.real.unwrap_or(old.gid);
    new.egid = ids.effective.unwrap_or(old.egid);
    new.sgid = ids.saved.unwrap_or(old.sgid);
    new.fsgid = new.egid;
    Ok(new)
}

fn check_three(ids: NewIds, allowed: [u32; 3], free: bool) -> SysResult<()> {
    let mut wanted = [ids.real, ids.effective, ids.saved].into_iter().flatten();
    if free || wanted.all(|id| allowed.contains(&id)) { Ok(()) } else { Err(Errno::EPERM) }
}

/// `setfsuid(2)`; `None` if it is not allowed, which the call does not tell.
pub fn set_fs_uid(old: &Credentials, uid: u32) -> Option<Credentials> {
    if !old.has_own(cap::SETUID) && ![old.uid, old.euid, old.suid, old.fsuid].contains(&uid) {
        return None;
    }
    let mut new = Credentials { fsuid: uid, ..old.clone() };
    if old.securebits & secbit::NO_SETUID_FIXUP == 0 {
        let root = old.root_uid();
        if Some(old.fsuid) == root && Some(uid) != root {
            new.effective &= !FILE_CAPABILITIES;
        } else if Some(old.fsuid) != root && Some(uid) == root {
            new.effective |= new.permitted & FILE_CAPABILITIES;
        }
    }
    Some(new)
}

/// `setfsgid(2)`; `None` if it is not allowed.
pub fn set_fs_gid(old: &Credentials, gid: u32) -> Option<Credentials> {
    let allowed = [old.gid, old.egid, old.sgid, old.fsgid].contains(&gid);
    (allowed || old.has_own(cap::SETGID)).then(|| Credentials { fsgid: gid, ..old.clone() })
}

/// Leaving user 0 takes capabilities away, becoming effective user 0 puts them in force.
fn fix_capabilities(mut new: Credentials, old: &Credentials) -> Credentials {
    if old.securebits & secbit::NO_SETUID_FIXUP != 0 {
        return new;
    }
    let root = old.root_uid();
    let has_root =
        |who: &Credentials| [who.uid, who.euid, who.suid].iter().any(|&id| Some(id) == root);
    if has_root(old) && !has_root(&new) {
        if old.securebits & secbit::KEEP_CAPS == 0 {
            (new.permitted, new.effective) = (0, 0);
        }
        new.ambient = 0;
    }
    if Some(old.euid) == root && Some(new.euid) != root {
        new.effective = 0;
    } else if Some(old.euid) != root && Some(new.euid) == root {
        new.effective = new.permitted;
    }
    new
}

/// `capset(2)`.
pub fn set_capabilities(
    old: &Credentials,
    effective: CapabilitySet,
    permitted: CapabilitySet,
    inheritable: CapabilitySet,
) -> SysResult<Credentials> {
    let within = |set: CapabilitySet, bound: CapabilitySet| set & !bound == 0;
    if !old.has_own(cap::SETPCAP) && !within(inheritable, old.inheritable | old.permitted)
        || !within(inheritable, old.inheritable | old.bounding)
        || !within(permitted, old.permitted)
        || !within(effective, permitted)
    {
        return Err(Errno::EPERM);
    }
    let ambient = old.ambient & permitted & inheritable;
    Ok(Credentials { effective, permitted, inheritable, ambient, ..old.clone() })
}

/// What the bits of a file change.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileIds {
    /// The owner of a set-user-id program.
    pub set_uid: Option<u32>,
    /// The group of a set-group-id program.
    pub set_gid: Option<u32>,
}

/// The identity after `execve`, and whether it is more than it was: then the program is told by
/// `AT_SECURE`, and others may not look inside.
pub fn after_exec(old: &Credentials, file: FileIds) -> (Credentials, bool) {
    let mut new = old.clone();
    new.euid = file.set_uid.unwrap_or(old.euid);
    new.egid = file.set_gid.unwrap_or(old.egid);
    (new.suid, new.fsuid) = (new.euid, new.euid);
    (new.sgid, new.fsgid) = (new.egid, new.egid);
    let changed = new.euid != old.uid || new.egid != old.gid;
    let gained = new.euid != old.euid || new.egid != old.egid;
    if gained {
        new.ambient = 0;
    }
    let root = old.root_uid();
    let by_root = old.securebits & secbit::NOROOT == 0;
    let (root_permitted, root_effective) =
        match (by_root, Some(new.uid) == root, Some(new.euid) == root) {
            (true, _, true) => (old.inheritable | old.bounding, true),
            (true, true, false) => (old.inheritable | old.bounding, false),
            _ => (0, false),
        };
    new.permitted = root_permitted | new.ambient;
    new.effective = if root_effective { new.permitted } else { new.ambient };
    new.securebits &= !secbit::KEEP_CAPS;
    (new, changed)
}

impl Thread {
    /// Changes who the thread is, with what Linux changes along: others may not look inside any
    /// more, and the wish to hear of the parent's end is forgotten.
    pub fn become_user(&self, new: Credentials) {
        let old = self.credentials();
        let gained = new.permitted & !old.permitted != 0;
        let differs = (new.euid, new.egid, new.fsuid, new.fsgid)
            != (old.euid, old.egid, old.fsuid, old.fsgid);
        if differs || gained {
            self.process().set_flag(Flags::DUMPABLE, false);
            self.set_parent_death_signal(None);
        }
        self.set_credentials(Rc::new(new));
    }

    /// Whether this thread may look inside another process or change it.
    pub fn may_inspect(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.credentials(), other.credentials());
        let same_process = self.process().pid == other.process().pid;
        if let Some(domain) = &mine.landlock
            && !same_process
            && !domain.may_inspect(theirs.landlock.as_deref())
        {
            return false;
        }
        if same_process || theirs.user_namespace.grants(&mine, cap::SYS_PTRACE) {
            return true;
        }
        let same_user = [theirs.uid, theirs.euid, theirs.suid].iter().all(|&id| id == mine.uid);
        let same_group = [theirs.gid, theirs.egid, theirs.sgid].iter().all(|&id| id == mine.gid);
        same_user
            && same_group
            && other.process().has_flag(Flags::DUMPABLE)
            && theirs.user_namespace == mine.user_namespace
            && theirs.permitted & !mine.permitted == 0
    }
}
