//! User and group ids: `getuid(2)`, `setuid(2)` and all their relatives, `getgroups(2)`,
//! `setgroups(2)`.
//!
//! As on Linux these change the calling thread only; the C library makes all threads call.

use std::rc::Rc;

use kernel_core::credentials::{Credentials, cap};
use kernel_core::memory::UserPtr;
use kernel_tasks::Thread;
use kernel_tasks::identity::{self, NewIds};
use linux_abi::{Errno, SysResult};

/// The most supplementary groups that a thread may have.
const NGROUPS_MAX: i32 = 65_536;

/// An id that is no id, or the wish to leave one as it is.
const NO_ID: u32 = u32::MAX;

/// The user that the guest means; `EINVAL` for a number that means nobody in its namespace.
fn user(thread: &Thread, id: u32) -> SysResult<u32> {
    let namespace = &thread.credentials().user_namespace;
    namespace.kernel_uid(id).filter(|_| id != NO_ID).ok_or(Errno::EINVAL)
}

/// The group that the guest means.
fn group(thread: &Thread, id: u32) -> SysResult<u32> {
    let namespace = &thread.credentials().user_namespace;
    namespace.kernel_gid(id).filter(|_| id != NO_ID).ok_or(Errno::EINVAL)
}

fn user_ids(thread: &Thread, ids: [u32; 3]) -> SysResult<NewIds> {
    let id = |id| if id == NO_ID { Ok(None) } else { user(thread, id).map(Some) };
    let [real, effective, saved] = ids;
    Ok(NewIds { real: id(real)?, effective: id(effective)?, saved: id(saved)? })
}

fn group_ids(thread: &Thread, ids: [u32; 3]) -> SysResult<NewIds> {
    let id = |id| if id == NO_ID { Ok(None) } else { group(thread, id).map(Some) };
    let [real, effective, saved] = ids;
    Ok(NewIds { real: id(real)?, effective: id(effective)?, saved: id(saved)? })
}

/// The real user.
pub(crate) fn getuid(thread: &Rc<Thread>) -> SysResult<u32> {
    let [uid, _, _, _] = thread.credentials().shown_ids();
    Ok(uid)
}

/// The effective user.
pub(crate) fn geteuid(thread: &Rc<Thread>) -> SysResult<u32> {
    let [_, euid, _, _] = thread.credentials().shown_ids();
    Ok(euid)
}

/// The real group.
pub(crate) fn getgid(thread: &Rc<Thread>) -> SysResult<u32> {
    let [_, _, gid, _] = thread.credentials().shown_ids();
    Ok(gid)
}

/// The effective group.
pub(crate) fn getegid(thread: &Rc<Thread>) -> SysResult<u32> {
    let [_, _, _, egid] = thread.credentials().shown_ids();
    Ok(egid)
}

/// Sets the user.
pub(crate) fn setuid(thread: &Rc<Thread>, uid: u32) -> SysResult<()> {
    let new = identity::set_uid(&thread.credentials(), user(thread, uid)?)?;
    thread.become_user(new);
    Ok(())
}

/// Sets the group.
pub(crate) fn setgid(thread: &Rc<Thread>, gid: u32) -> SysResult<()> {
    let new = identity::set_gid(&thread.credentials(), group(thread, gid)?)?;
    thread.become_user(new);
    Ok(())
}

/// Sets real and effective user.
pub(crate) fn setreuid(thread: &Rc<Thread>, real: u32, effective: u32) -> SysResult<()> {
    let ids = user_ids(thread, [real, effective, NO_ID])?;
    thread.become_user(identity::set_re_uid(&thread.credentials(), ids)?);
    Ok(())
}

/// Sets real and effective group.
pub(crate) fn setregid(thread: &Rc<Thread>, real: u32, effective: u32) -> SysResult<()> {
    let ids = group_ids(thread, [real, effective, NO_ID])?;
    thread.become_user(identity::set_re_gid(&thread.credentials(), ids)?);
    Ok(())
}

/// Sets real, effective and saved user.
pub(crate) fn setresuid(
    thread: &Rc<Thread>,
    real: u32,
    effective: u32,
    saved: u32,
) -> SysResult<()> {
    let ids = user_ids(thread, [real, effective, saved])?;
    thread.become_user(identity::set_res_uid(&thread.credentials(), ids)?);
    Ok(())
}

/// Sets real, effective and saved group.
pub(crate) fn setresgid(
    thread: &Rc<Thread>,
    real: u32,
    effective: u32,
    saved: u32,
) -> SysResult<()> {
    let ids = group_ids(thread, [real, effective, saved])?;
    thread.become_user(identity::set_res_gid(&thread.credentials(), ids)?);
    Ok(())
}

/// Real, effective and saved user.
pub(crate) fn getresuid(
    thread: &Rc<Thread>,
    real: UserPtr<u32>,
    effective: UserPtr<u32>,
    saved: UserPtr<u32>,
) -> SysResult<()> {
    let (who, memory) = (thread.credentials(), thread.memory());
    let shown = |id| who.user_namespace.shown_uid(id);
    real.write(&memory, &shown(who.uid))?;
    effective.write(&memory, &shown(who.euid))?;
    saved.write(&memory, &shown(who.suid))
}

/// Real, effective and saved group.
pub(crate) fn getresgid(
    thread: &Rc<Thread>,
    real: UserPtr<u32>,
    effective: UserPtr<u32>,
    saved: UserPtr<u32>,
) -> SysResult<()> {
    let (who, memory) = (thread.credentials(), thread.memory());
    let shown = |id| who.user_namespace.shown_gid(id);
    real.write(&memory, &shown(who.gid))?;
    effective.write(&memory, &shown(who.egid))?;
    saved.write(&memory, &shown(who.sgid))
}

/// Sets the user for file access. Returns the old one, whether that worked or not.
pub(crate) fn setfsuid(thread: &Rc<Thread>, uid: u32) -> SysResult<u32> {
    let old = thread.credentials();
    let wanted = user(thread, uid).ok();
    if let Some(new) = wanted.and_then(|uid| identity::set_fs_uid(&old, uid)) {
        thread.become_user(new);
    }
    Ok(old.user_namespace.shown_uid(old.fsuid))
}

/// Sets the group for file access. Returns the old one, whether that worked or not.
pub(crate) fn setfsgid(thread: &Rc<Thread>, gid: u32) -> SysResult<u32> {
    let old = thread.credentials();
    let wanted = group(thread, gid).ok();
    if let Some(new) = wanted.and_then(|gid| identity::set_fs_gid(&old, gid)) {
        thread.become_user(new);
    }
    Ok(old.user_namespace.shown_gid(old.fsgid))
}

/// The supplementary groups; with size 0 only how many there are.
pub(crate) fn getgroups(thread: &Rc<Thread>, size: i32, list: UserPtr<u32>) -> SysResult<usize> {
    let size = usize::try_from(size).map_err(|_| Errno::EINVAL)?;
    let who = thread.credentials();
    if size > 0 {
        if size < who.groups.len() {
            return Err(Errno::EINVAL);
        }
        let shown: Vec<u32> =
            who.groups.iter().map(|&gid| who.user_namespace.shown_gid(gid)).collect();
        list.write_many(&thread.memory(), &shown)?;
    }
    Ok(who.groups.len())
}

/// Sets the supplementary groups.
pub(crate) fn setgroups(thread: &Rc<Thread>, size: i32, list: UserPtr<u32>) -> SysResult<()> {
    let who = thread.credentials();
    if !who.has_own(cap::SETGID) || !who.user_namespace.may_set_groups() {
        return Err(Errno::EPERM);
    }
    if !(0..=NGROUPS_MAX).contains(&size) {
        return Err(Errno::EINVAL);
    }
    let n = usize::try_from(size).map_err(|_| Errno::EINVAL)?;
    let given: Vec<u32> = list.read_many(&thread.memory(), n)?;
    let mut groups =
        given.into_iter().map(|gid| group(thread, gid)).collect::<SysResult<Vec<u32>>>()?;
    groups.sort_unstable();
    let new = Credentials { groups: Rc::from(groups), ..(*who).clone() };
    thread.set_credentials(Rc::new(new));
    Ok(())
}
