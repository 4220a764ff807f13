//! Options about the calling thread.

use std::rc::Rc;

use kernel_core::memory::{CString, UserMemory, UserPtr};
use kernel_tasks::Thread;
use linux_abi::signals::Signal;
use linux_abi::{Errno, SysResult};

use super::{Arguments, unused};

const NAME_SIZE: usize = 16;

pub(super) fn set_parent_death_signal(thread: &Rc<Thread>, signal: u64) -> SysResult<u64> {
    let signal = match signal {
        0 => None,
        number => {
            let signal = u32::try_from(number).ok().and_then(Signal::new);
            Some(signal.ok_or(Errno::EINVAL)?)
        }
    };
    thread.set_parent_death_signal(signal);
    Ok(0)
}

pub(super) fn get_parent_death_signal(thread: &Rc<Thread>, place: u64) -> SysResult<u64> {
    let number = thread.parent_death_signal().map_or(0, Signal::number);
    UserPtr::new(place).write(&thread.memory(), &number)?;
    Ok(0)
}

pub(super) fn set_name(thread: &Rc<Thread>, place: u64) -> SysResult<u64> {
    let memory = thread.memory();
    // Longer names are cut, so the string need not end within sixteen bytes.
    let name = match UserPtr::<CString>::new(place).read_string(&memory, NAME_SIZE - 1) {
        Err(Errno::ENAMETOOLONG) => UserPtr::<u8>::new(place).read_many(&memory, NAME_SIZE - 1)?,
        name => name?,
    };
    thread.set_name(&name);
    Ok(0)
}

pub(super) fn get_name(thread: &Rc<Thread>, place: u64) -> SysResult<u64> {
    let mut name = thread.name();
    name.resize(NAME_SIZE, 0);
    thread.memory().write(place, &name)?;
    Ok(0)
}

pub(super) fn set_no_new_privs(thread: &Rc<Thread>, [on, rest @ ..]: Arguments) -> SysResult<u64> {
    unused(&rest)?;
    if on != 1 {
        return Err(Errno::EINVAL);
    }
    thread.change_attributes(|attributes| attributes.no_new_privs = true);
    Ok(0)
}

pub(super) fn get_no_new_privs(thread: &Rc<Thread>, arguments: Arguments) -> SysResult<u64> {
    unused(&arguments)?;
    Ok(thread.attributes().no_new_privs.into())
}

pub(super) fn set_timer_slack(thread: &Rc<Thread>, nanos: u64) -> SysResult<u64> {
    thread.change_attributes(|attributes| {
        let is_default = nanos.cast_signed() <= 0;
        attributes.timer_slack = if is_default { attributes.default_timer_slack } else { nanos };
    });
    Ok(0)
}

/// Reading the time-stamp counter is always allowed.
const TSC_ENABLE: u32 = 1;

pub(super) fn get_tsc(thread: &Rc<Thread>, place: u64) -> SysResult<u64> {
    UserPtr::new(place).write(&thread.memory(), &TSC_ENABLE)?;
    Ok(0)
}

pub(super) fn set_tsc(mode: u64) -> SysResult<u64> {
    // Forbidding it is up to the host, whom we do not ask.
    if mode == u64::from(TSC_ENABLE) { Ok(0) } else { Err(Errno::EINVAL) }
}
