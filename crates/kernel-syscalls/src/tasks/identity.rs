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

fn given(id: u32) -> Option<u32> {
    (id != NO_ID).then_some(id)
}

fn required(id: u32) -> SysResult<u32> {
    given(id).ok_or(Errno::EINVAL)
}

/// The real user.
pub(crate) fn getuid(thread: &Rc<Thread>) -> SysResult<u32> {
    Ok(thread.credentials().uid)
}

/// The effective user.
pub(crate) fn geteuid(thread: &Rc<Thread>) -> SysResult<u32> {
    Ok(thread.credentials().euid)
}

/// The real group.
pub(crate) fn getgid(thread: &Rc<Thread>) -> SysResult<u32> {
    Ok(thread.credentials().gid)
}

/// The effective group.
pub(crate) fn getegid(thread: &Rc<Thread>) -> SysResult<u32> {
    Ok(thread.credentials().egid)
}

/// Sets the user.
pub(crate) fn setuid(thread: &Rc<Thread>, uid: u32) -> SysResult<()> {
    let new = identity::set_uid(&thread.credentials(), required(uid)?)?;
    thread.become_user(new);
    Ok(())
}

/// Sets the group.
pub(crate) fn setgid(thread: &Rc<Thread>, gid: u32) -> SysResult<()> {
    let new = identity::set_gid(&thread.credentials(), required(gid)?)?;
    thread.become_user(new);
    Ok(())
}

/// Sets real and effective user.
pub(crate) fn setreuid(thread: &Rc<Thread>, real: u32, effective: u32) -> SysResult<()> {
    let ids = NewIds { real: given(real), effective: given(effective), saved: None };
    thread.become_user(identity::set_re_uid(&thread.credentials(), ids)?);
    Ok(())
}

/// Sets real and effective group.
pub(crate) fn setregid(thread: &Rc<Thread>, real: u32, effective: u32) -> SysResult<()> {
    let ids = NewIds { real: given(real), effective: given(effective), saved: None };
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
    let ids = NewIds { real: given(real), effective: given(effective), saved: given(saved) };
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
    let ids = NewIds { real: given(real), effective: given(effective), saved: given(saved) };
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
    real.write(&memory, &who.uid)?;
    effective.write(&memory, &who.euid)?;
    saved.write(&memory, &who.suid)
}

/// Real, effective and saved group.
pub(crate) fn getresgid(
    thread: &Rc<Thread>,
    real: UserPtr<u32>,
    effective: UserPtr<u32>,
    saved: UserPtr<u32>,
) -> SysResult<()> {
    let (who, memory) = (thread.credentials(), thread.memory());
    real.write(&memory, &who.gid)?;
    effective.write(&memory, &who.egid)?;
    saved.write(&memory, &who.sgid)
}

/// Sets the user for file access. Returns the old one, whether that worked or not.
pub(crate) fn setfsuid(thread: &Rc<Thread>, uid: u32) -> SysResult<u32> {
    let old = thread.credentials();
    if let Some(new) = given(uid).and_then(|uid| identity::set_fs_uid(&old, uid)) {
        thread.become_user(new);
    }
    Ok(old.fsuid)
}

/// Sets the group for file access. Returns the old one, whether that worked or not.
pub(crate) fn setfsgid(thread: &Rc<Thread>, gid: u32) -> SysResult<u32> {
    let old = thread.credentials();
    if let Some(new) = given(gid).and_then(|gid| identity::set_fs_gid(&old, gid)) {
        thread.become_user(new);
    }
    Ok(old.fsgid)
}

/// The supplementary groups; with size 0 only how many there are.
pub(crate) fn getgroups(thread: &Rc<Thread>, size: i32, list: UserPtr<u32>) -> SysResult<usize> {
    let size = usize::try_from(size).map_err(|_| Errno::EINVAL)?;
    let who = thread.credentials();
    if size > 0 {
        if size < who.groups.len() {
            return Err(Errno::EINVAL);
        }
        list.write_many(&thread.memory(), &who.groups)?;
    }
    Ok(who.groups.len())
}

/// Sets the supplementary groups.
pub(crate) fn setgroups(thread: &Rc<Thread>, size: i32, list: UserPtr<u32>) -> SysResult<()> {
    let who = thread.credentials();
    if !who.has(cap::SETGID) {
        return Err(Errno::EPERM);
    }
    if !(0..=NGROUPS_MAX).contains(&size) {
        return Err(Errno::EINVAL);
    }
    let n = usize::try_from(size).map_err(|_| Errno::EINVAL)?;
    let mut groups = list.read_many(&thread.memory(), n)?;
    groups.sort_unstable();
    let new = Credentials { groups: Rc::from(groups), ..(*who).clone() };
    thread.set_credentials(Rc::new(new));
    Ok(())
}
