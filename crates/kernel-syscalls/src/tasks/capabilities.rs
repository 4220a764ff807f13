//! `capget(2)`, `capset(2)`.

use std::rc::Rc;

use kernel_core::credentials::{ALL_CAPABILITIES, CapabilitySet};
use kernel_core::memory::UserPtr;
use kernel_tasks::{Thread, identity};
use linux_abi::tasks::{CapData, CapHeader, cap_version};
use linux_abi::{Errno, Pid, SysResult};

/// How many [`CapData`] a version takes. For an unknown one the guest is told which we prefer.
fn words(thread: &Thread, header: UserPtr<CapHeader>) -> SysResult<(CapHeader, SysResult<usize>)> {
    let mut value = header.read(&thread.memory())?;
    let words = match value.version {
        cap_version::V1 => Ok(1),
        cap_version::V2 | cap_version::V3 => Ok(2),
        _ => {
            value.version = cap_version::V3;
            header.write(&thread.memory(), &value)?;
            Err(Errno::EINVAL)
        }
    };
    Ok((value, words))
}

fn low(set: CapabilitySet) -> u32 {
    u32::try_from(set & 0xffff_ffff).unwrap_or(0)
}

fn high(set: CapabilitySet) -> u32 {
    u32::try_from(set >> 32).unwrap_or(0)
}

/// Reads the capabilities of a thread.
pub(crate) fn capget(
    thread: &Rc<Thread>,
    header: UserPtr<CapHeader>,
    data: UserPtr<CapData>,
) -> SysResult<()> {
    let (header, words) = words(thread, header)?;
    let words = match words {
        Err(_) if data.is_null() => return Ok(()),
        words => words?,
    };
    if data.is_null() {
        return Ok(());
    }
    let pid = u32::try_from(header.pid).map_err(|_| Errno::EINVAL)?;
    let who = match pid {
        0 => thread.credentials(),
        pid => thread.kernel().ids.thread(Pid(pid)).ok_or(Errno::ESRCH)?.credentials(),
    };
    let sets = [
        CapData {
            effective: low(who.effective),
            permitted: low(who.permitted),
            inheritable: low(who.inheritable),
        },
        CapData {
            effective: high(who.effective),
            permitted: high(who.permitted),
            inheritable: high(who.inheritable),
        },
    ];
    data.write_many(&thread.memory(), sets.get(..words).unwrap_or_default())
}

/// Changes the capabilities of the calling thread.
pub(crate) fn capset(
    thread: &Rc<Thread>,
    header: UserPtr<CapHeader>,
    data: UserPtr<CapData>,
) -> SysResult<()> {
    let (header, words) = words(thread, header)?;
    let words = words?;
    let own = thread.tid().0.cast_signed();
    if header.pid != 0 && header.pid != own {
        return Err(Errno::EPERM);
    }
    let sets = data.read_many(&thread.memory(), words)?;
    let join = |part: fn(&CapData) -> u32| {
        let words = sets.iter().map(part).zip([0, 32]);
        words.fold(0, |set: CapabilitySet, (word, shift)| set | CapabilitySet::from(word) << shift)
            & ALL_CAPABILITIES
    };
    let new = identity::set_capabilities(
        &thread.credentials(),
        join(|set| set.effective),
        join(|set| set.permitted),
        join(|set| set.inheritable),
    )?;
    thread.set_credentials(Rc::new(new));
    Ok(())
}
