//! `rt_sigaction(2)`.

use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_tasks::Thread;
use linux_abi::signals::{SigAction, SigActionFlags, SigSet, Signal};
use linux_abi::{Errno, SysResult};

use super::check_set_size;

/// Reads and changes what the process does with a signal.
pub(crate) fn rt_sigaction(
    thread: &Rc<Thread>,
    signal: u32,
    new: UserPtr<SigAction>,
    old: UserPtr<SigAction>,
    set_size: u64,
) -> SysResult<()> {
    check_set_size(set_size)?;
    let memory = thread.memory();
    let new = new.non_null().map(|new| new.read(&memory)).transpose()?;
    let signal = Signal::new(signal).ok_or(Errno::EINVAL)?;
    if new.is_some() && SigSet::UNBLOCKABLE.contains(signal) {
        return Err(Errno::EINVAL);
    }
    let previous = thread.process().signals.action(signal);
    if let Some(mut new) = new {
        // Unknown flags are cleared, so that a program can find out what is known.
        new.flags &= SigActionFlags::all().bits();
        new.mask = new.mask.without(SigSet::UNBLOCKABLE);
        thread.set_action(signal, new);
    }
    old.write_if_wanted(&memory, &previous)
}
