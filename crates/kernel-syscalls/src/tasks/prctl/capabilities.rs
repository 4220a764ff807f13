//! Options about capabilities.

use std::rc::Rc;

use kernel_core::credentials::{Credentials, cap};
use kernel_tasks::Thread;
use linux_abi::tasks::prctl::{ambient as operation, secbit};
use linux_abi::{Errno, SysResult};

use super::{Arguments, unused};

fn change(thread: &Rc<Thread>, edit: impl FnOnce(&mut Credentials)) {
    let mut new = (*thread.credentials()).clone();
    edit(&mut new);
    thread.set_credentials(Rc::new(new));
}

fn number(value: u64) -> SysResult<u32> {
    u32::try_from(value).ok().filter(|&number| number <= cap::LAST).ok_or(Errno::EINVAL)
}

pub(super) fn get_keep(thread: &Rc<Thread>) -> SysResult<u64> {
    Ok((thread.credentials().securebits & secbit::KEEP_CAPS != 0).into())
}

pub(super) fn set_keep(thread: &Rc<Thread>, on: u64) -> SysResult<u64> {
    if on > 1 {
        return Err(Errno::EINVAL);
    }
    if thread.credentials().securebits & secbit::KEEP_CAPS_LOCKED != 0 {
        return Err(Errno::EPERM);
    }
    change(thread, |new| {
        new.securebits &= !secbit::KEEP_CAPS;
        if on == 1 {
            new.securebits |= secbit::KEEP_CAPS;
        }
    });
    Ok(0)
}

pub(super) fn set_securebits(thread: &Rc<Thread>, bits: u64) -> SysResult<u64> {
    let known = u64::from(secbit::ALL_SETTINGS | secbit::ALL_LOCKS);
    let who = thread.credentials();
    let old = u64::from(who.securebits);
    let locks = old & u64::from(secbit::ALL_LOCKS);
    let changes_locked = (locks >> 1) & (old ^ bits) != 0;
    let unlocks = locks & !bits != 0;
    if bits & !known != 0 || changes_locked || unlocks || !who.has_own(cap::SETPCAP) {
        return Err(Errno::EPERM);
    }
    let bits = u32::try_from(bits).map_err(|_| Errno::EPERM)?;
    change(thread, |new| new.securebits = bits);
    Ok(0)
}

pub(super) fn read_bounding(thread: &Rc<Thread>, capability: u64) -> SysResult<u64> {
    let capability = number(capability)?;
    Ok(thread.credentials().bounding >> capability & 1)
}

pub(super) fn drop_bounding(thread: &Rc<Thread>, capability: u64) -> SysResult<u64> {
    if !thread.credentials().has_own(cap::SETPCAP) {
        return Err(Errno::EPERM);
    }
    let capability = number(capability)?;
    change(thread, |new| new.bounding &= !(1 << capability));
    Ok(0)
}

pub(super) fn ambient(
    thread: &Rc<Thread>,
    [what, capability, rest @ ..]: Arguments,
) -> SysResult<u64> {
    if what == operation::CLEAR_ALL {
        unused(&[capability])?;
        unused(&rest)?;
        change(thread, |new| new.ambient = 0);
        return Ok(0);
    }
    unused(&rest)?;
    let bit = 1 << number(capability)?;
    let who = thread.credentials();
    match what {
        operation::IS_SET => Ok((who.ambient & bit != 0).into()),
        operation::RAISE => {
            let blocked = who.securebits & secbit::NO_CAP_AMBIENT_RAISE != 0;
            if blocked || who.permitted & who.inheritable & bit == 0 {
                return Err(Errno::EPERM);
            }
            change(thread, |new| new.ambient |= bit);
            Ok(0)
        }
        operation::LOWER => {
            change(thread, |new| new.ambient &= !bit);
            Ok(0)
        }
        _ => Err(Errno::EINVAL),
    }
}
